// The parts that all fields of a form have: the label, the description, the buttons, and the hint about valid values.

import type { ComponentChildren } from "preact";
import { numberText, type Json } from "../json";
import { plainLine, plainText } from "../plain_text";
import type { Schema, SchemaRoot } from "./limits";

export interface FieldProps {
  label: string;
  schema: Json | undefined;
  root: SchemaRoot;
  value: Json;
  onChange: (value: Json) => void;
  required?: boolean;
  /** Removes the member, if it may be absent. */
  onRemove?: (() => void) | undefined;
  /** Buttons beside the label, such as those of an array. */
  actions?: ComponentChildren;
  /** Completions of a text, if the server offers them. */
  suggestions?: string[] | undefined;
  onTyped?: ((text: string) => void) | undefined;
  depth?: number;
}

export type Resolved = FieldProps & { schema: Schema };

/** The label, the description, and the buttons of a field. */
export function Row(props: Resolved & { id: string | undefined; control: ComponentChildren; hint?: string | undefined }) {
  const description = props.schema.description;
  const label = (
    <>
      {plainLine(props.label)}
      {props.required && <span class="required"> (required)</span>}
    </>
  );
  return (
    <div class="field">
      <div class="field-head">
        {props.id ? <label for={props.id}>{label}</label> : <span class="label">{label}</span>}
        {props.actions}
        {props.onRemove && (
          <button type="button" class="small" onClick={props.onRemove} aria-label={`Remove ${plainLine(props.label)}`}>
            Remove
          </button>
        )}
      </div>
      {typeof description === "string" && (
        <p class="description" id={props.id && `${props.id}-description`}>
          {plainText(description)}
        </p>
      )}
      {props.control}
      {props.hint && <p class="hint">{props.hint}</p>}
    </div>
  );
}

export const describedBy = (id: string, schema: Schema) =>
  typeof schema.description === "string" ? { "aria-describedby": `${id}-description` } : {};

export function hintOf(schema: Schema): string | undefined {
  const parts: string[] = [];
  if (typeof schema.format === "string") parts.push(plainLine(schema.format));
  const range = (low: string, high: string, what: string) => {
    const [minimum, maximum] = [numberText(schema[low]), numberText(schema[high])];
    if (minimum !== undefined && maximum !== undefined) parts.push(`${what}${minimum} to ${maximum}`);
    else if (minimum !== undefined) parts.push(`${what}at least ${minimum}`);
    else if (maximum !== undefined) parts.push(`${what}at most ${maximum}`);
  };
  range("minimum", "maximum", "");
  range("exclusiveMinimum", "exclusiveMaximum", "between (exclusive) ");
  range("minLength", "maxLength", "length ");
  range("minItems", "maxItems", "items ");
  if (typeof schema.pattern === "string") parts.push(`pattern ${plainLine(schema.pattern)}`);
  return parts.length > 0 ? parts.join(", ") : undefined;
}
