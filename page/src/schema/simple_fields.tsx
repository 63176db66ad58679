// The fields of values without parts except text: numbers, booleans, choices, and values that a form cannot show.

import { useId } from "preact/hooks";
import { equal, numberText, parseNumber } from "../json";
import { plainLine } from "../plain_text";
import { Row, describedBy, hintOf, type Resolved } from "./field_row";
import { choicesOf, initialValue, typesOf } from "./resolve";

export function NumberField(props: Resolved) {
  const id = useId();
  const text = numberText(props.value) ?? (typeof props.value === "string" ? props.value : undefined);
  if (text === undefined) return <OtherField {...props} />;
  const isInteger = typesOf(props.schema)[0] === "integer";
  const invalid = typeof props.value === "string";
  const change = (event: Event) => {
    const typed = (event.currentTarget as HTMLInputElement).value;
    // Text that is no number yet stays text, so that no typed character is lost. The check reports it.
    props.onChange(parseNumber(typed) ?? typed);
  };
  const control = (
    <input
      id={id}
      type="text"
      inputMode={isInteger ? "numeric" : "decimal"}
      autocomplete="off"
      value={text}
      aria-invalid={invalid}
      onInput={change}
      {...describedBy(id, props.schema)}
    />
  );
  const hint = [isInteger ? "integer" : "number", hintOf(props.schema)].filter(Boolean).join(", ");
  return <Row {...props} id={id} control={control} hint={hint} />;
}

export function BooleanField(props: Resolved) {
  const id = useId();
  if (typeof props.value !== "boolean") return <OtherField {...props} />;
  const control = (
    <input
      id={id}
      type="checkbox"
      checked={props.value}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
      {...describedBy(id, props.schema)}
    />
  );
  return <Row {...props} id={id} control={control} />;
}

export function ChoiceField(props: Resolved) {
  const id = useId();
  const choices = choicesOf(props.schema, props.root) ?? [];
  const index = choices.findIndex((one) => equal(one.value, props.value));
  const control = (
    <select
      id={id}
      value={String(index)}
      onChange={(event) => {
        const choice = choices[Number(event.currentTarget.value)];
        if (choice) props.onChange(choice.value);
      }}
      {...describedBy(id, props.schema)}
    >
      {index < 0 && <option value="-1">{plainLine(JSON.stringify(props.value))} (not one of the values)</option>}
      {choices.map((one, position) => (
        <option key={position} value={String(position)}>
          {plainLine(one.label)}
        </option>
      ))}
    </select>
  );
  return <Row {...props} id={id} control={control} />;
}

/** A value that the form cannot show. It stays as it is. */
export function OtherField(props: Resolved) {
  const type = typesOf(props.schema)[0];
  const control = (
    <div>
      <code class="other">{plainLine(JSON.stringify(props.value)).slice(0, 200)}</code>
      {type && (
        <button type="button" class="small" onClick={() => props.onChange(initialValue(props.schema, props.root))}>
          Replace by {type}
        </button>
      )}
    </div>
  );
  return <Row {...props} id={undefined} control={control} hint="The form cannot show this value. Edit it as JSON." />;
}
