// Which entries of the log belong to one exchange, and how each exchange ended.

import type { LogEntry } from "./model";

/**
 * Returns what the entries of one exchange have in common: the connection, the direction of the request, and its id. Ids are
 * unique only within these. HTTP headers belong to the request that the client sent. Other entries have no exchange.
 */
export function exchangeOf(entry: LogEntry): string | undefined {
  if (entry.id === undefined || entry.kind === "inside") return undefined;
  const isResponse = entry.kind === "message" && entry.method === undefined;
  const isSent = entry.kind !== "message" || (entry.dir === "out") !== isResponse;
  return `${entry.conn ?? ""} ${isSent ? "out" : "in"} ${entry.id}`;
}

/** A request, from its sending to its end. */
export interface LoggedExchange {
  /** The number of the entry with the request. */
  seq: number;
  method: string;
  name?: string | undefined;
  start: number;
  /** Absent while the request is open. */
  end?: number;
  failed: boolean;
}

/** Joins requests with their responses, and with the HTTP responses that reject them. */
export function exchangesOf(entries: readonly LogEntry[]): LoggedExchange[] {
  const exchanges: LoggedExchange[] = [];
  const open = new Map<string, LoggedExchange>();
  for (const entry of entries) {
    const key = exchangeOf(entry);
    if (key === undefined) continue;
    if (entry.kind === "message" && entry.method !== undefined) {
      const exchange = { seq: entry.seq, method: entry.method, name: entry.name, start: entry.t, failed: false };
      open.set(key, exchange);
      exchanges.push(exchange);
      continue;
    }
    const exchange = open.get(key);
    // A failed HTTP request may be sent again, so that a message still follows.
    const isEnd = entry.kind === "message" || entry.failed;
    if (!exchange || !isEnd) continue;
    exchange.end = entry.t;
    exchange.failed = entry.failed ?? false;
    if (entry.kind === "message") open.delete(key);
  }
  return exchanges;
}
