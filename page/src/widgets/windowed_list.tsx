// A list of equal rows, of which only the visible ones are laid out.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

/** Rows that are laid out beyond the visible part. */
const MARGIN = 8;

export interface WindowedListProps<T> {
  rows: readonly T[];
  rowHeight: number;
  label: string;
  keyOf: (row: T) => string;
  render: (row: T) => ComponentChildren;
  selected: string | undefined;
  onSelect: (row: T) => void;
  /** Shows the last row while the list is scrolled to its end. */
  follow?: boolean;
  /** The id of the element, which other elements may refer to. */
  id: string;
}

export function WindowedList<T>(props: WindowedListProps<T>) {
  const { rows, rowHeight, keyOf } = props;
  const element = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const list = element.current;
    if (!list) return undefined;
    const observer = new ResizeObserver(() => setHeight(list.clientHeight));
    observer.observe(list);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const list = element.current;
    if (list && props.follow && atEnd.current) list.scrollTop = list.scrollHeight;
  }, [rows, props.follow]);
  const first = Math.max(0, Math.floor(top / rowHeight) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + MARGIN);
  // The list may have 100,000 rows.
  const index = useMemo(
    () => (props.selected === undefined ? -1 : rows.findIndex((row) => keyOf(row) === props.selected)),
    [rows, props.selected],
  );
  const show = (next: number) => {
    const row = rows[next];
    const list = element.current;
    if (row === undefined || !list) return;
    props.onSelect(row);
    const start = next * rowHeight;
    if (start < list.scrollTop) list.scrollTop = start;
    if (start + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = start + rowHeight - list.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const targets: Record<string, number> = {
      ArrowDown: index + 1,
      ArrowUp: index < 0 ? 0 : index - 1,
      PageDown: index + page,
      PageUp: index - page,
      Home: 0,
      End: rows.length - 1,
    };
    const target = targets[event.key];
    if (target === undefined || rows.length === 0) return;
    event.preventDefault();
    show(Math.min(rows.length - 1, Math.max(0, target)));
  };
  const rowId = (position: number) => `${props.id}-${position}`;
  return (
    <div
      id={props.id}
      ref={element}
      class="windowed"
      role="listbox"
      tabIndex={0}
      aria-label={props.label}
      aria-activedescendant={index >= first && index < last ? rowId(index) : undefined}
      onKeyDown={onKeyDown}
      onScroll={(event) => {
        const list = event.currentTarget;
        atEnd.current = list.scrollTop + list.clientHeight >= list.scrollHeight - rowHeight;
        setTop(list.scrollTop);
      }}
    >
      <div role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
        {rows.slice(first, last).map((row, offset) => {
          const position = first + offset;
          return (
            <div
              key={keyOf(row)}
              id={rowId(position)}
              class="row"
              role="option"
              aria-selected={position === index}
              aria-posinset={position + 1}
              aria-setsize={rows.length}
              style={{ top: `${position * rowHeight}px`, height: `${rowHeight}px` }}
              onClick={() => props.onSelect(row)}
            >
              {props.render(row)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
