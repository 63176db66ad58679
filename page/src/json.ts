// JSON that keeps the text of numbers which JavaScript cannot represent.

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

interface RawNumber {
  rawJSON: string;
}

interface ExactJson {
  rawJSON?(text: string): object;
  isRawJSON?(value: unknown): boolean;
}

const exact = JSON as typeof JSON & ExactJson;

/** Returns true for a number whose text is preserved, such as `1.0` or one with more than 15 digits. */
export function isRawNumber(value: unknown): value is RawNumber {
  return exact.isRawJSON?.(value) ?? false;
}

/**
 * Matches every number whose text JavaScript would change: one with 16 digits, an exponent, a zero at the end of a fraction, a
 * minus before zero, or a small fraction. It also matches other text.
 */
export const CHANGED_NUMBER = /[\d.]{17}|\d{16}|\d[eE]|\.\d*0(?!\d)|-0(?![.\d])|0\.0{6}/;

/** Parses JSON. Throws a SyntaxError if the text is invalid. */
export function parse(text: string): Json {
  // A reviver is called for each value, which takes seconds for some megabytes.
  if (!CHANGED_NUMBER.test(text)) return JSON.parse(text) as Json;
  const reviver = (_name: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof value === "number" && source !== undefined && exact.rawJSON && String(value) !== source) {
      return exact.rawJSON(source);
    }
    return value;
  };
  return JSON.parse(text, reviver as (name: string, value: unknown) => unknown) as Json;
}

export function format(value: Json | undefined): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

export function compact(value: Json | undefined): string {
  return value === undefined ? "" : JSON.stringify(value);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** Returns the text of a number, or undefined if the value is no number. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return isRawNumber(value) ? value.rawJSON : undefined;
}

/** Returns the value of the text of a number, or undefined if the text is no JSON number. */
export function parseNumber(text: string): Json | undefined {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim())) return undefined;
  return parse(text.trim());
}

/** Compares two values without regard to the order of members. */
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  const [left, right] = [numberText(a), numberText(b)];
  if (left !== undefined && right !== undefined) return decimal(left) === decimal(right);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => equal(item, b[index]));
  }
  if (isObject(a) && isObject(b)) {
    const names = Object.keys(a);
    return names.length === Object.keys(b).length && names.every((name) => name in b && equal(a[name], b[name]));
  }
  return false;
}

/** Returns true for the text of a number without a fraction, such as `1.0` and `1e3`. */
export function isInteger(text: string): boolean {
  return !decimal(text).includes("e-");
}

/** Returns the text of a number without zeros that do not change its value: `1`, `1.0` and `10e-1` are `1e0`. */
function decimal(text: string): string {
  const [, sign = "", whole = "", fraction = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const zeros = digits.length - significant.length;
  return `${sign}${significant}e${BigInt(power) + BigInt(zeros - fraction.length)}`;
}
