// One lane with a bar per request, from its sending to its response.

import { useMemo } from "preact/hooks";
import type { LogEntry } from "../model";
import { plainLine } from "../plain_text";

/** The number of requests in the lane. */
const SHOWN = 120;
const WIDTH = 1000;
const HEIGHT = 40;
const ROWS = 4;

interface Span {
  key: string;
  seq: number;
  method: string;
  start: number;
  end: number | undefined;
  failed: boolean;
}

/** Joins requests and responses by direction and id. */
export function spansOf(entries: readonly LogEntry[]): Span[] {
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  for (const entry of entries) {
    if (entry.kind !== "message" || entry.id === undefined) continue;
    if (entry.method !== undefined) {
      const key = `${entry.dir} ${entry.id}`;
      const span = { key: `${key} ${entry.seq}`, seq: entry.seq, method: entry.method, start: entry.t, end: undefined, failed: false };
      open.set(key, span);
      spans.push(span);
    } else {
      const key = `${entry.dir === "in" ? "out" : "in"} ${entry.id}`;
      const span = open.get(key);
      if (!span) continue;
      span.end = entry.t;
      span.failed = /"error"\s*:/.test(entry.text.slice(0, 200));
      open.delete(key);
    }
  }
  return spans;
}

export function Timeline(props: { entries: readonly LogEntry[]; onSelect: (seq: number) => void }) {
  const spans = useMemo(() => spansOf(props.entries.slice(-4000)).slice(-SHOWN), [props.entries]);
  const first = spans[0];
  if (!first) return null;
  const last = Math.max(...spans.map((span) => span.end ?? span.start));
  const scale = WIDTH / Math.max(1, last - first.start);
  const height = HEIGHT / ROWS;
  return (
    <svg
      class="timeline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Timeline of the last ${spans.length} requests over ${((last - first.start) / 1000).toFixed(0)} ms`}
    >
      {spans.map((span, index) => {
        const end = span.end ?? last;
        return (
          <rect
            key={span.key}
            class={span.failed ? "failed" : span.end === undefined ? "open" : "done"}
            x={(span.start - first.start) * scale}
            y={(index % ROWS) * height + 1}
            width={Math.max(2, (end - span.start) * scale)}
            height={height - 2}
            onClick={() => props.onSelect(span.seq)}
          >
            <title>{`${plainLine(span.method)} ${((end - span.start) / 1000).toFixed(1)} ms`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
