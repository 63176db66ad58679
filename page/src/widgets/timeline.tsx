// One lane with a bar per request, from its sending to its response.

import { useMemo } from "preact/hooks";
import { exchangesOf, type LoggedExchange } from "../exchanges";
import type { LogEntry } from "../model";
import { plainLine } from "../plain_text";

/** The number of requests in the lane. */
const SHOWN = 120;
const WIDTH = 1000;
const HEIGHT = 40;
const ROWS = 4;

export function Timeline(props: { entries: readonly LogEntry[]; onSelect: (seq: number) => void }) {
  const exchanges = useMemo(() => exchangesOf(props.entries.slice(-4000)).slice(-SHOWN), [props.entries]);
  const first = exchanges[0];
  if (!first) return null;
  const last = Math.max(...exchanges.map((one) => one.end ?? one.start));
  const scale = WIDTH / Math.max(1, last - first.start);
  const height = HEIGHT / ROWS;
  return (
    <svg
      class="timeline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Timeline of the last ${exchanges.length} requests over ${((last - first.start) / 1000).toFixed(0)} ms`}
    >
      {exchanges.map((one, index) => (
        <rect
          key={one.seq}
          class={one.failed ? "failed" : one.end === undefined ? "open" : "done"}
          x={(one.start - first.start) * scale}
          y={(index % ROWS) * height + 1}
          width={Math.max(2, ((one.end ?? last) - one.start) * scale)}
          height={height - 2}
          onClick={() => props.onSelect(one.seq)}
        >
          <title>{titleOf(one)}</title>
        </rect>
      ))}
    </svg>
  );
}

function titleOf(one: LoggedExchange): string {
  const took = one.end === undefined ? "open" : `${((one.end - one.start) / 1000).toFixed(1)} ms`;
  return `${plainLine(`${one.method} ${one.name ?? ""}`)} ${took}${one.failed ? ", failed" : ""}`;
}
