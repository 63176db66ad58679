// The JSON of a value. The form beside it edits the same value.

import { useEffect, useId, useState } from "preact/hooks";
import { compact, format, parse, type Json } from "../json";

function parsed(text: string): { value: Json } | { error: string } {
  try {
    return { value: parse(text) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

export function JsonEditor(props: {
  label: string;
  value: Json;
  onChange: (value: Json) => void;
  onValid: (valid: boolean) => void;
}) {
  const id = useId();
  const [text, setText] = useState(() => format(props.value));
  const current = parsed(text);
  useEffect(() => {
    // The text of the user stays while it has the same members and the same text of each number.
    if (!("value" in current) || compact(current.value) !== compact(props.value)) {
      setText(format(props.value));
      props.onValid(true);
    }
  }, [props.value]);
  // An invalid text ends with the editor, and the last valid value stays.
  useEffect(() => () => props.onValid(true), []);
  const change = (typed: string) => {
    setText(typed);
    const next = parsed(typed);
    props.onValid("value" in next);
    if ("value" in next) props.onChange(next.value);
  };
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <textarea
        id={id}
        class="code"
        rows={Math.min(24, Math.max(4, text.split("\n").length + 1))}
        spellcheck={false}
        value={text}
        aria-invalid={"error" in current}
        aria-describedby={`${id}-error`}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <p class="error" id={`${id}-error`} role="status">
        {"error" in current ? current.error : ""}
      </p>
    </div>
  );
}
