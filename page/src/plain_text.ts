// Makes characters visible that could hide or reorder text. Text of a server may contain them.

/** The invisible characters: the table of `crates/toolwire-proto/src/invisible_characters.rs`. A test compares them. */
const INVISIBLE: [number, number][] = [
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

/** Control characters except line breaks and tabs, surrogates without a partner, and characters that are never used. */
const OTHERS = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\ud800-\\udfff\\ufffe\\uffff";

const ESCAPED = INVISIBLE.map(([first, last]) => `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`);

const HIDDEN = new RegExp(`[${OTHERS}${ESCAPED.join("")}]`, "gu");

/** Returns the text with hidden characters written as code points. Line breaks and tabs stay. */
export function plainText(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Returns the text in one line. */
export function plainLine(text: string): string {
  return plainText(text.replace(/\s+/g, " "));
}
