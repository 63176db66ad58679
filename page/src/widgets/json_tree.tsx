// JSON as a tree. Members are laid out when their parent is opened, and long lists in parts.

import { useState } from "preact/hooks";
import { isObject, numberText, type Json } from "../json";
import { plainLine } from "../plain_text";

/** The number of members that are laid out at a time. */
const PART = 100;
/** The number of characters of a string that is shown at first. */
const LONG = 500;

export function JsonTree(props: { value: Json; label?: string; open?: boolean }) {
  const { value, label } = props;
  const [open, setOpen] = useState(props.open ?? false);
  const [shown, setShown] = useState(PART);
  const name = label === undefined ? null : <span class="member">{plainLine(label)}: </span>;
  if (!Array.isArray(value) && !isObject(value)) {
    return (
      <div class="leaf">
        {name}
        <Leaf value={value} />
      </div>
    );
  }
  const members: [string, Json][] = Array.isArray(value)
    ? value.map((item, index) => [String(index), item])
    : Object.entries(value);
  const size = `${members.length} ${Array.isArray(value) ? "item" : "member"}${members.length === 1 ? "" : "s"}`;
  return (
    <details class="tree" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {name}
        {Array.isArray(value) ? "[…]" : "{…}"} <span class="hint">{size}</span>
      </summary>
      {open && members.slice(0, shown).map(([member, item]) => <JsonTree key={member} value={item} label={member} />)}
      {open && members.length > shown && (
        <button type="button" class="small" onClick={() => setShown(shown + PART)}>
          Show {Math.min(PART, members.length - shown)} of {members.length - shown} more
        </button>
      )}
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
