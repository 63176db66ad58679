// A text field with completions of the server.

import { useEffect, useRef, useState } from "preact/hooks";
import { isObject, type Json, type JsonObject } from "../json";
import { Field } from "../schema/form";
import { SchemaRoot } from "../schema/limits";
import { asArray } from "../schema/resolve";
import { requestNow, state } from "../store";

/** How long the user must not type before completions are requested. */
const QUIET_MS = 150;

export function CompletedField(props: {
  label: string;
  description?: Json | undefined;
  required: boolean;
  value: string;
  onChange: (value: string) => void;
  onRemove?: (() => void) | undefined;
  /** What the argument belongs to. */
  reference: JsonObject;
  /** The values of the other arguments. */
  known: Record<string, string>;
}) {
  const { label, value, reference, known } = props;
  const [suggestions, setSuggestions] = useState<string[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const attempt = useRef(0);
  const offers = isObject(state.value?.server?.capabilities.completions as Json);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (text: string) => {
    clearTimeout(timer.current);
    const own = ++attempt.current;
    timer.current = setTimeout(async () => {
      const { [label]: _own, ...others } = known;
      const params: JsonObject = { ref: reference, argument: { name: label, value: text } };
      if (Object.keys(others).length > 0) params.context = { arguments: others };
      // Without completions the field is a plain text field.
      const outcome = await requestNow("completion/complete", params).catch(() => undefined);
      const result = outcome?.result;
      const completion = isObject(result) && isObject(result.completion) ? result.completion : {};
      if (own === attempt.current) setSuggestions(asArray(completion.values).map(String).slice(0, 100));
    }, QUIET_MS);
  };
  const schema: JsonObject = { type: "string" };
  if (typeof props.description === "string") schema.description = props.description;
  return (
    <Field
      label={label}
      schema={schema}
      root={new SchemaRoot(schema)}
      required={props.required}
      value={value}
      onChange={(next) => props.onChange(String(next))}
      onRemove={props.onRemove}
      onTyped={offers ? typed : undefined}
      suggestions={suggestions}
    />
  );
}
