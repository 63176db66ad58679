// A list of which the first items are laid out. The user asks for more, because a server may send any number of them.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export function Parts<T>(props: {
  items: readonly T[];
  /** The number of items that are laid out at a time. */
  size: number;
  render: (item: T, index: number) => ComponentChildren;
  /** Returns what contains the button, if it is not placed directly after the items. */
  wrap?: (button: ComponentChildren) => ComponentChildren;
}) {
  const { items, size } = props;
  const [shown, setShown] = useState(size);
  const rest = items.length - shown;
  const button = rest > 0 && (
    <button type="button" class="small" onClick={() => setShown(shown + size)}>
      Show {Math.min(size, rest)} of {rest} more
    </button>
  );
  return (
    <>
      {items.slice(0, shown).map(props.render)}
      {button && (props.wrap?.(button) ?? button)}
    </>
  );
}
