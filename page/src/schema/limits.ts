// Limits on the work that a schema causes. A schema of a server can refer to itself without end, or have variants of
// variants whose number doubles with each level.

import type { JsonObject } from "../json";

export type Schema = JsonObject;

/** The maximum depth of references, of `allOf`, and of values inside of values. */
export const MAX_DEPTH = 64;

/**
 * The maximum number of steps of one form. A step is a schema, or an item or member that is compared to find the variant of
 * a value.
 */
export const MAX_STEPS = 200_000;

/** A schema is beyond a limit. The message completes the sentence "There is no form, because …". */
export class SchemaLimitError extends Error {}

/** Throws an error if the depth is beyond the limit. */
export function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new SchemaLimitError(`the schema or the value is nested more than ${MAX_DEPTH} levels deep`);
}

/** The schema that references start from, and the number of steps since it was created. */
export class SchemaRoot {
  #steps = 0;

  constructor(readonly schema: Schema) {}

  /** Counts steps. Throws an error beyond the limit. */
  count(steps = 1): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw new SchemaLimitError(`the schema or the value needs more than ${MAX_STEPS} steps`);
  }

  /** Returns the same root without steps, for work that starts later. */
  again(): SchemaRoot {
    return new SchemaRoot(this.schema);
  }
}
