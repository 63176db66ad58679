// The filter of the log: words, and `kind:`, `dir:`, `conn:`, `method:`, `id:` with a value. `-` before a part excludes.

import type { LogEntry } from "./model";

/** Returns whether an entry matches, or undefined if that is not known yet. */
type Test = (entry: LogEntry) => boolean | undefined;

/** Returns whether the whole text of an entry contains a word, or undefined if that is not known yet. */
export type BodyTest = (word: string, entry: LogEntry) => boolean | undefined;

export const FILTER_HELP = "Words, kind:message|http|stderr|note|inside, dir:in|out, conn:1, method:tools, id:3. A minus excludes.";

/** Returns the test of a filter. All parts must match. `contains` is used for entries of which the page has a part. */
export function logFilter(text: string, contains: BodyTest): Test {
  const parts = text.split(/\s+/).filter(Boolean).map((part) => partOf(part, contains));
  // Words come last, because their test may need the command.
  const tests = [...parts.filter((part) => !part.isWord), ...parts.filter((part) => part.isWord)];
  return (entry) => {
    let isKnown = true;
    for (const { test } of tests) {
      const matches = test(entry);
      if (matches === false) return false;
      isKnown &&= matches !== undefined;
    }
    return isKnown || undefined;
  };
}

/** Returns the method of a message, or of the request that it responds to. */
const methodOf = (entry: LogEntry): string => (entry.method ?? entry.request?.method ?? "").toLowerCase();

function partOf(part: string, contains: BodyTest): { test: Test; isWord: boolean } {
  if (part.length > 1 && part.startsWith("-")) {
    const { test, isWord } = partOf(part.slice(1), contains);
    const excludes = (entry: LogEntry) => {
      const matches = test(entry);
      return matches === undefined ? undefined : !matches;
    };
    return { test: excludes, isWord };
  }
  const colon = part.indexOf(":");
  const value = part.slice(colon + 1).toLowerCase();
  const property = (test: Test) => ({ test, isWord: false });
  switch (colon > 0 ? part.slice(0, colon).toLowerCase() : "") {
    case "kind":
      return property((entry) => entry.kind === value);
    case "dir":
      return property((entry) => entry.dir === value);
    case "conn":
      return property((entry) => String(entry.conn ?? "") === value);
    case "method":
      return property((entry) => methodOf(entry).includes(value));
    case "id":
      return property((entry) => (entry.id ?? "").toLowerCase() === value);
    default: {
      const word = part.toLowerCase();
      const test = (entry: LogEntry) => {
        if (entry.text.toLowerCase().includes(word) || methodOf(entry).includes(word)) return true;
        // `text` is the beginning. It has at most as many UTF-16 units as bytes.
        return entry.bytes > entry.text.length ? contains(word, entry) : false;
      };
      return { test, isWord: true };
    }
  }
}
