// The filter of the log: words, and `kind:`, `dir:`, `method:`, `id:` with a value. `-` before a part excludes.

import type { LogEntry } from "./model";

type Test = (entry: LogEntry) => boolean;

export const FILTER_HELP = "Words, kind:message|http|stderr|note, dir:in|out, method:tools, id:3. A minus excludes.";

/** Returns the test of a filter. All parts must match. */
export function logFilter(text: string): Test {
  const tests = text.split(/\s+/).filter(Boolean).map(testOf);
  return (entry) => tests.every((test) => test(entry));
}

/** Returns the method of a message, or of the request that it responds to. */
const methodOf = (entry: LogEntry): string => (entry.method ?? entry.request ?? "").toLowerCase();

function testOf(part: string): Test {
  if (part.length > 1 && part.startsWith("-")) {
    const inner = testOf(part.slice(1));
    return (entry) => !inner(entry);
  }
  const colon = part.indexOf(":");
  const value = part.slice(colon + 1).toLowerCase();
  switch (colon > 0 ? part.slice(0, colon).toLowerCase() : "") {
    case "kind":
      return (entry) => entry.kind === value;
    case "dir":
      return (entry) => entry.dir === value;
    case "method":
      return (entry) => methodOf(entry).includes(value);
    case "id":
      return (entry) => (entry.id ?? "").toLowerCase() === value;
    default: {
      const word = part.toLowerCase();
      return (entry) => entry.text.toLowerCase().includes(word) || methodOf(entry).includes(word);
    }
  }
}
