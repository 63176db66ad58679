// The arguments of a tool: a form and the JSON of one value.

import { signal, type Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { type Json, type JsonObject } from "../json";
import { plainLine } from "../plain_text";
import { Field } from "../schema/form";
import { initialValue, type Schema } from "../schema/resolve";
import { validate } from "../schema/validate";
import { JsonEditor } from "../widgets/json_editor";

/** The values by item, so that they are still there when the user returns to the item. */
const values = new Map<string, Signal<Json>>();

/** Returns the value of an item. It starts with the required members and the defaults. */
export function argumentsOf(key: string, schema: Schema): Signal<Json> {
  let value = values.get(key);
  if (!value) {
    value = signal(initialValue(schema, schema));
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
  const [mode, setMode] = useState<"form" | "json" | "both">(matchMedia("(min-width: 1100px)").matches ? "both" : "form");
  const violations = validate(value.value, schema, schema);
  const change = (next: Json) => {
    value.value = next;
  };
  return (
    <div>
      <div class="toolbar" role="group" aria-label="Editor">
        {(["form", "json", "both"] as const).map((one) => (
          <button type="button" class="small" key={one} aria-pressed={mode === one} onClick={() => setMode(one)}>
            {{ form: "Form", json: "JSON", both: "Both" }[one]}
          </button>
        ))}
        <button type="button" class="small" onClick={() => change(initialValue(schema, schema))}>
          Reset
        </button>
      </div>
      <div class={`editors ${mode}`}>
        {mode !== "json" && (
          <div class="form">
            <Field label="arguments" schema={schema} root={schema} value={value.value} onChange={change} />
          </div>
        )}
        {mode !== "form" && (
          <JsonEditor label="Arguments as JSON" value={value.value} onChange={change} onValid={props.onValid} />
        )}
      </div>
      {violations.length > 0 && (
        <ul class="warning" aria-label="Problems of the arguments">
          {violations.map((one, index) => (
            <li key={index}>
              <code>{plainLine(one.path)}</code> {plainLine(one.message)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export const asArguments = (value: Json): JsonObject => value as JsonObject;
