// The field of a list: its items, which the user adds, moves and removes.

import { useRef } from "preact/hooks";
import type { Json } from "../json";
import { plainLine } from "../plain_text";
import { Row, hintOf, type Resolved } from "./field_row";
import { focusField, useFocusAfterChange } from "./focus";
import { Field } from "./form";
import { asArray, initialValue } from "./resolve";

export function ArrayField(props: Resolved & { value: Json[] }) {
  const { schema, root, label, onChange, value: items } = props;
  const list = useRef<HTMLDivElement>(null);
  const keys = useKeys(items.length);
  const focusAfterChange = useFocusAfterChange();
  const first = asArray(schema.prefixItems);
  const ruleOf = (index: number): Json | undefined => first[index] ?? (Array.isArray(schema.items) ? schema.items[index] : schema.items);
  const fieldAt = (index: number) => list.current?.querySelectorAll(":scope > .field")[index];
  const add = () => {
    focusAfterChange(() => focusField(fieldAt(items.length)));
    onChange([...items, initialValue(ruleOf(items.length), root, 1)]);
  };
  const remove = (index: number) => {
    const neighbour = Math.min(index, items.length - 2);
    focusAfterChange(() => focusField(fieldAt(neighbour)) || focusField(list.current));
    keys.splice(index, 1);
    onChange(items.filter((_, position) => position !== index));
  };
  const move = (from: number, to: number, button: HTMLElement) => {
    // At the end of the list, the other button of the item gets the focus.
    focusAfterChange(() => (button.matches(":enabled") ? button.focus() : focusField(button.parentElement)));
    moveItem(keys, from, to);
    const next = [...items];
    moveItem(next, from, to);
    onChange(next);
  };
  const name = plainLine(label);
  const control = (
    <div class="items" role="group" aria-label={`Items of ${name}`} ref={list}>
      {items.map((item, index) => (
        <Field
          key={keys[index]}
          label={`${label} ${index + 1}`}
          schema={ruleOf(index)}
          root={root}
          value={item}
          onChange={(next) => onChange(items.map((one, position) => (position === index ? next : one)))}
          onRemove={() => remove(index)}
          actions={
            <>
              <button
                type="button"
                class="small"
                disabled={index === 0}
                onClick={(event) => move(index, index - 1, event.currentTarget)}
                aria-label={`Move ${name} ${index + 1} up`}
              >
                ↑
              </button>
              <button
                type="button"
                class="small"
                disabled={index === items.length - 1}
                onClick={(event) => move(index, index + 1, event.currentTarget)}
                aria-label={`Move ${name} ${index + 1} down`}
              >
                ↓
              </button>
            </>
          }
          depth={(props.depth ?? 0) + 1}
        />
      ))}
      <button type="button" class="small" onClick={add}>
        Add item to {name}
      </button>
    </div>
  );
  return <Row {...props} id={undefined} control={control} hint={hintOf(schema)} />;
}

/** Returns the keys of the items. A key moves with its item, so that the item keeps its element. */
function useKeys(length: number): number[] {
  const keys = useRef<number[]>([]);
  const last = useRef(0);
  keys.current.length = Math.min(keys.current.length, length);
  while (keys.current.length < length) keys.current.push(++last.current);
  return keys.current;
}

function moveItem<T>(items: T[], from: number, to: number): void {
  items.splice(to, 0, ...items.splice(from, 1));
}
