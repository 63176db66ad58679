// The arguments of a tool: a form and the JSON of one value.

import { signal, type Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { type Json, type JsonObject } from "../json";
import { SchemaRoot, type Schema } from "../schema/limits";
import { initialValue } from "../schema/resolve";
import { SchemaForm, type EditMode } from "../schema/schema_form";

/** The values by item, so that they are still there when the user returns to the item. */
const values = new Map<string, Signal<Json>>();

/** Returns the value of an item. It starts with the required members and the defaults. */
export function argumentsOf(key: string, schema: Schema): Signal<Json> {
  let value = values.get(key);
  if (!value) {
    value = signal(initialValue(schema, new SchemaRoot(schema)));
    values.set(key, value);
  }
  return value;
}

export function ArgumentsEditor(props: {
  schema: Schema;
  value: Signal<Json>;
  onValid: (valid: boolean) => void;
}) {
  const { schema, value } = props;
  const [mode, setMode] = useState<EditMode>(matchMedia("(min-width: 1100px)").matches ? "both" : "form");
  /** Changes when the user starts again, so that the form is tried again. */
  const [attempt, setAttempt] = useState(0);
  const change = (next: Json) => {
    value.value = next;
  };
  const reset = () => {
    change(initialValue(schema, new SchemaRoot(schema)));
    setAttempt(attempt + 1);
  };
  return (
    <div>
      <div class="toolbar" role="group" aria-label="Editor">
        {(["form", "json", "both"] as const).map((one) => (
          <button type="button" class="small" key={one} aria-pressed={mode === one} onClick={() => setMode(one)}>
            {{ form: "Form", json: "JSON", both: "Both" }[one]}
          </button>
        ))}
        <button type="button" class="small" onClick={reset}>
          Reset
        </button>
      </div>
      <SchemaForm
        key={attempt}
        name="arguments"
        schema={schema}
        value={value.value}
        onChange={change}
        onValid={props.onValid}
        mode={mode}
      />
    </div>
  );
}

export const asArguments = (value: Json): JsonObject => value as JsonObject;
