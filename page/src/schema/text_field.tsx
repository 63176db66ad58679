// The field of a text. It grows with the text, and stays the same element while the user types.

import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { submitOnEnter } from "../submit_keys";
import { Row, describedBy, hintOf, type Resolved } from "./field_row";

/** The formats of texts of one line, and the types of their fields. */
const LINE_FORMATS: Record<string, "email" | "url" | "date" | "text"> = {
  email: "email",
  uri: "url",
  date: "date",
  time: "text",
  "date-time": "text",
};

/** The number of rows that a field for prose has at least. */
const PROSE_ROWS = 4;
/** The number of rows of a long text. */
const ROWS_MAX = 12;

/**
 * A text without a format is a text area, so that it keeps line breaks. A line has the type of its format, or completions of
 * the server. It becomes a text area with the first line break, and stays one.
 */
export function TextField(props: Resolved & { value: string }) {
  const id = useId();
  const { schema, value } = props;
  const isProse = schema.contentMediaType !== undefined;
  const format = typeof schema.format === "string" ? LINE_FORMATS[schema.format] : undefined;
  const hasBreaks = useRef(false);
  hasBreaks.current ||= /[\r\n]/.test(value);
  const isLine = !isProse && !hasBreaks.current && (format !== undefined || props.onTyped !== undefined);
  const area = useRef<HTMLTextAreaElement>(null);
  /** The place to type at after a pasted text has made an area of the line. */
  const caret = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (isLine || caret.current === undefined) return;
    area.current?.focus();
    area.current?.setSelectionRange(caret.current, caret.current);
    caret.current = undefined;
  }, [isLine]);
  const change = (text: string) => {
    props.onTyped?.(text);
    props.onChange(text);
  };
  const paste = (event: ClipboardEvent & { currentTarget: HTMLInputElement }) => {
    const pasted = event.clipboardData?.getData("text/plain").replace(/\r\n?/g, "\n") ?? "";
    // A line drops line breaks, which is right for an address or a date.
    if (format !== undefined || !pasted.includes("\n")) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget;
    const start = selectionStart ?? value.length;
    caret.current = start + pasted.length;
    change(value.slice(0, start) + pasted + value.slice(selectionEnd ?? start));
  };
  const common = { id, value, spellcheck: false, ...describedBy(id, schema) };
  const list = props.suggestions && props.suggestions.length > 0 ? `${id}-list` : undefined;
  const control = isLine ? (
    <>
      <input
        type={format ?? "text"}
        autocomplete="off"
        {...common}
        {...(list ? { list } : {})}
        onInput={(event) => change(event.currentTarget.value)}
        onPaste={paste}
      />
      {list && (
        <datalist id={list}>
          {props.suggestions?.map((one) => <option key={one} value={one} />)}
        </datalist>
      )}
    </>
  ) : (
    <textarea
      ref={area}
      {...common}
      class={isProse ? "prose-field" : "text-field"}
      rows={Math.min(ROWS_MAX, Math.max(isProse ? PROSE_ROWS : 1, rowsOf(value)))}
      onInput={(event) => change(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (!isProse) submitOnEnter(event);
      }}
    />
  );
  return <Row {...props} id={id} control={control} hint={hintOf(schema)} />;
}

/** Returns about how many rows a text needs, for browsers in which a text area does not grow by itself. */
function rowsOf(text: string): number {
  const lines = text.slice(0, 80 * ROWS_MAX).split("\n");
  return lines.reduce((rows, line) => rows + 1 + Math.floor(line.length / 80), 0);
}
