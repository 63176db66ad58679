// Filters the log in steps, so that no step delays a frame, and reads each entry once while the log grows.

import type { LogEntry } from "./model";

/** How long one step may take, in milliseconds. */
const STEP_MS = 8;
/** The number of entries between two looks at the clock. */
const PART = 500;

/** The entries of a log that match a filter. */
export class LogSearch {
  private found: LogEntry[] = [];
  /** The number of the last entry that was tested. */
  private tested = 0;

  constructor(private readonly matches: (entry: LogEntry) => boolean) {}

  /** Tests more entries of the log. Returns true if all are tested. */
  step(entries: readonly LogEntry[]): boolean {
    const end = performance.now() + STEP_MS;
    const oldest = entries[0]?.seq ?? Number.POSITIVE_INFINITY;
    // The log removes its oldest entries.
    const kept = positionAfter(this.found, oldest - 1);
    let position = positionAfter(entries, this.tested);
    const added: LogEntry[] = [];
    while (position < entries.length) {
      for (const entry of entries.slice(position, position + PART)) {
        if (this.matches(entry)) added.push(entry);
        this.tested = entry.seq;
      }
      position += PART;
      if (performance.now() > end) break;
    }
    if (kept > 0 || added.length > 0) this.found = this.found.slice(kept).concat(added);
    return position >= entries.length;
  }

  get result(): readonly LogEntry[] {
    return this.found;
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
