// The form of a value, its JSON, and what violates the schema.

import { useState } from "preact/hooks";
import type { Json } from "../json";
import { plainLine } from "../plain_text";
import { Boundary } from "../widgets/boundary";
import { JsonEditor } from "../widgets/json_editor";
import { Field } from "./form";
import { SchemaRoot, type Schema } from "./limits";
import { useVerdict } from "./verdict";

/** What the user edits. Both edit one value. */
export type EditMode = "form" | "json" | "both";

export function SchemaForm(props: {
  /** The name of the value: `arguments` or `response`. */
  name: string;
  schema: Schema;
  value: Json;
  onChange: (value: Json) => void;
  /** Gets whether the JSON is valid. */
  onValid: (valid: boolean) => void;
  mode: EditMode;
}) {
  const { name, schema, value, onChange } = props;
  const [failure, setFailure] = useState<string | undefined>(undefined);
  const { violations = [], reason } = useVerdict(name, schema, value) ?? {};
  const mode = failure === undefined ? props.mode : "json";
  const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return (
    <>
      {failure !== undefined && (
        <p class="warning" role="status">
          There is no form, because {plainLine(failure)}. Edit the JSON instead.
        </p>
      )}
      <div class={`editors ${mode}`}>
        {mode !== "json" && (
          <div class="form">
            <Boundary name="The form" onFailed={setFailure}>
              {/* Each time the form is shown, it may take as many steps again. */}
              <Field label={name} schema={schema} root={new SchemaRoot(schema)} value={value} onChange={onChange} />
            </Boundary>
          </div>
        )}
        {mode !== "form" && (
          <JsonEditor label={`${title} as JSON`} value={value} onChange={onChange} onValid={props.onValid} />
        )}
      </div>
      {reason !== undefined && <p class="hint">The {name} cannot be checked: {plainLine(reason)}</p>}
      {violations.length > 0 && (
        <ul class="warning" aria-label={`Problems of the ${name}`}>
          {violations.map((one, index) => (
            <li key={index}>{plainLine(one)}</li>
          ))}
        </ul>
      )}
    </>
  );
}
