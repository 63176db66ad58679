// The search in the whole texts of log entries, of which the page has the beginnings. The command searches part by part.

import { ApiError, post } from "./api";
import type { LogEntry } from "./model";

/** The entries that contain one word, as far as the command has searched. */
export class BodySearch {
  private readonly found = new Set<number>();
  /** The number of the last entry that was searched. */
  private last = 0;
  private isRunning = false;
  /** Why the search failed. Then the texts of further entries are not searched. */
  problem: string | undefined;

  constructor(
    private readonly word: string,
    private readonly onProgress: () => void,
  ) {}

  /** Returns whether an entry contains the word. Before that is known, searches the next part and returns undefined. */
  contains(entry: LogEntry): boolean | undefined {
    if (entry.seq <= this.last || this.problem !== undefined) return this.found.has(entry.seq);
    if (!this.isRunning) void this.searchPart(entry.seq - 1);
    return undefined;
  }

  private async searchPart(after: number): Promise<void> {
    this.isRunning = true;
    try {
      const part = (await post("log/search", { text: this.word, after })) as unknown as { found: number[]; last: number };
      for (const seq of part.found) this.found.add(seq);
      this.last = Math.max(this.last, part.last);
    } catch (error) {
      this.problem = error instanceof ApiError ? error.message : String(error);
    }
    this.isRunning = false;
    this.onProgress();
  }
}
