// Filters the log in steps, so that no step delays a frame, and reads each entry once while the log grows.

import { BodySearch } from "./body_search";
import { logFilter } from "./log_filter";
import type { LogEntry } from "./model";

/** How long one step may take, in milliseconds. */
const STEP_MS = 8;
/** The number of entries between two looks at the clock. */
const PART = 500;

/** What a step leaves: nothing, more entries, or entries that wait for the command. */
export type Progress = "complete" | "more" | "waiting";

/** The entries of a log that match a filter. */
export class LogSearch {
  private found: LogEntry[] = [];
  /** The number of the last entry that was tested. */
  private tested = 0;
  private readonly bodies = new Map<string, BodySearch>();
  private readonly matches: (entry: LogEntry) => boolean | undefined;

  /** `onProgress` is called when a search that waits can go on. */
  constructor(filter: string, onProgress: () => void) {
    this.matches = logFilter(filter, (word, entry) => {
      const known = this.bodies.get(word);
      const search = known ?? new BodySearch(word, onProgress);
      if (!known) this.bodies.set(word, search);
      return search.contains(entry);
    });
  }

  /** Tests more entries of the log. */
  step(entries: readonly LogEntry[]): Progress {
    const end = performance.now() + STEP_MS;
    const oldest = entries[0]?.seq ?? Number.POSITIVE_INFINITY;
    // The log removes its oldest entries.
    const kept = positionAfter(this.found, oldest - 1);
    let position = positionAfter(entries, this.tested);
    const added: LogEntry[] = [];
    let progress: Progress = "complete";
    for (let count = 1; position < entries.length; position++, count++) {
      const entry = entries[position] as LogEntry;
      const matches = this.matches(entry);
      if (matches === undefined) {
        progress = "waiting";
        break;
      }
      if (matches) added.push(entry);
      this.tested = entry.seq;
      if (count % PART === 0 && performance.now() > end) {
        progress = "more";
        break;
      }
    }
    if (kept > 0 || added.length > 0) this.found = this.found.slice(kept).concat(added);
    return progress;
  }

  get result(): readonly LogEntry[] {
    return this.found;
  }

  /** Why entries may be missing. */
  get problem(): string | undefined {
    return [...this.bodies.values()].find((one) => one.problem)?.problem;
  }
}

/** Returns the position of the first entry with a greater number. Entries are in the order of their numbers. */
export function positionAfter(entries: readonly LogEntry[], seq: number): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle] as LogEntry).seq <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
