// The keys that send a form from a text area, in which Enter alone would add a line.

type KeyIn<T> = KeyboardEvent & { readonly currentTarget: T };

/** Sends the form of a text area, as Enter does in a field with one line. Shift and Enter add a line. */
export function submitOnEnter(event: KeyIn<HTMLTextAreaElement>): void {
  const isPlain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
  // Enter may also choose a word of an input method.
  if (event.key !== "Enter" || !isPlain || event.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

/** Sends a form from any of its fields. */
export function submitOnCtrlEnter(event: KeyIn<HTMLFormElement>): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.requestSubmit();
}
