// Where the focus goes when a change of the form adds, moves or removes the element that has it.

import { useLayoutEffect, useRef } from "preact/hooks";

/** Returns a function that takes what moves the focus after the next change is shown. */
export function useFocusAfterChange(): (move: () => void) => void {
  const next = useRef<(() => void) | undefined>(undefined);
  useLayoutEffect(() => {
    const move = next.current;
    next.current = undefined;
    move?.();
  });
  return (move) => {
    next.current = move;
  };
}

/** Focuses the first control of a field, or its first button. Returns whether there is one. */
export function focusField(field: Element | null | undefined): boolean {
  const first = (selector: string) => field?.querySelector<HTMLElement>(selector);
  const control = first("input, select, textarea") ?? first("button:enabled, summary");
  control?.focus();
  return control != null;
}
