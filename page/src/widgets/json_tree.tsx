// JSON as a tree. Members are laid out when their parent is opened, and long lists in parts.

import { useState } from "preact/hooks";
import { isObject, numberText, type Json } from "../json";
import { plainLine } from "../plain_text";
import { Parts } from "./parts";

/** The number of members that are laid out at a time. */
const PART = 100;
/** The number of characters of a string that is shown at first. */
const LONG = 500;

export function JsonTree(props: { value: Json; label?: string; open?: boolean }) {
  const { value, label } = props;
  const [open, setOpen] = useState(props.open ?? false);
  const name = label === undefined ? null : <span class="member">{plainLine(label)}: </span>;
  if (!Array.isArray(value) && !isObject(value)) {
    return (
      <div class="leaf">
        {name}
        <Leaf value={value} />
      </div>
    );
  }
  const isList = Array.isArray(value);
  const names = isList ? value : Object.keys(value);
  const size = `${names.length} ${isList ? "item" : "member"}${names.length === 1 ? "" : "s"}`;
  const member = (item: Json, name: string) => <JsonTree key={name} value={item} label={name} />;
  return (
    <details class="tree" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {name}
        {isList ? "[…]" : "{…}"} <span class="hint">{size}</span>
      </summary>
      {open && isList && <Parts items={value} size={PART} render={(item, index) => member(item, String(index))} />}
      {open && !isList && <Parts items={Object.keys(value)} size={PART} render={(name) => member(value[name] as Json, name)} />}
    </details>
  );
}

function Leaf(props: { value: Json }) {
  const { value } = props;
  const [whole, setWhole] = useState(false);
  if (typeof value === "string") {
    const text = whole ? value : value.slice(0, LONG);
    return (
      <>
        <span class="string">"{plainLine(text)}"</span>
        {value.length > LONG && !whole && (
          <button type="button" class="small" onClick={() => setWhole(true)}>
            Show all {value.length} characters
          </button>
        )}
      </>
    );
  }
  return <span class={numberText(value) === undefined ? "word" : "number"}>{numberText(value) ?? String(value)}</span>;
}
