// The log: messages in both directions, HTTP headers, and standard error of the server.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api";
import { format, parse } from "../json";
import { FILTER_HELP } from "../log_filter";
import { LogSearch } from "../log_search";
import type { LogEntry } from "../model";
import { plainLine } from "../plain_text";
import { clearLog, log, logPaused, messageOf } from "../store";
import { CopyButton } from "../widgets/copy_button";
import { Report, reportOf } from "../widgets/inside";
import { LongText, sizeText } from "../widgets/result";
import { Timeline } from "../widgets/timeline";
import { WindowedList } from "../widgets/windowed_list";

const ROW_HEIGHT = 28;

const filter = signal("");
const chosen = signal<number | undefined>(undefined);
/** The entries that are shown while the log is paused. */
const frozen = signal<readonly LogEntry[] | undefined>(undefined);

export function LogView() {
  const entries = frozen.value ?? log.value;
  const { found, problem } = useFiltered(entries, filter.value.trim());
  const pause = () => {
    logPaused.value = !logPaused.value;
    frozen.value = logPaused.value ? log.value : undefined;
  };
  return (
    <section class="log" aria-label="Log">
      <div class="toolbar">
        <input
          type="search"
          id="search"
          aria-label="Filter the log"
          aria-describedby="filter-help"
          placeholder="Filter ( / )"
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
        <button type="button" class="small" aria-pressed={logPaused.value} onClick={pause}>
          Pause
        </button>
        <button
          type="button"
          class="small"
          onClick={() => {
            frozen.value = undefined;
            logPaused.value = false;
            chosen.value = undefined;
            void clearLog();
          }}
        >
          Clear
        </button>
      </div>
      <p class="hint" id="filter-help">
        {FILTER_HELP}
      </p>
      <p class="hint count" role="status">
        {found.length} of {entries.length} entries
      </p>
      {problem !== undefined && (
        <p class="warning" role="status">
          Only the beginnings of long entries were searched: {plainLine(problem)}
        </p>
      )}
      <Timeline entries={entries} onSelect={(seq) => (chosen.value = seq)} />
      <div class={`split${chosen.value === undefined ? "" : " has-item"}`}>
        <div class="list">
          {found.length > 0 && (
            <WindowedList
              id="list-log"
              label="Log entries"
              rows={found}
              rowHeight={ROW_HEIGHT}
              follow={!logPaused.value}
              keyOf={(entry) => String(entry.seq)}
              selected={chosen.value === undefined ? undefined : String(chosen.value)}
              onSelect={(entry) => {
                chosen.value = entry.seq;
              }}
              render={(entry) => <Line entry={entry} />}
            />
          )}
        </div>
        <div class="details">
          {chosen.value === undefined ? <p class="hint">Select an entry.</p> : <Entry key={chosen.value} seq={chosen.value} />}
        </div>
      </div>
    </section>
  );
}

interface Filtered {
  found: readonly LogEntry[];
  problem?: string | undefined;
}

/** Returns the entries that match. With many or long entries, more follow in the next frames. */
function useFiltered(entries: readonly LogEntry[], text: string): Filtered {
  const [, setSteps] = useState(0);
  const search = useMemo(() => new LogSearch(text, () => setSteps((steps) => steps + 1)), [text]);
  const progress = text === "" ? "complete" : search.step(entries);
  useEffect(() => {
    if (progress !== "more") return undefined;
    const timer = setTimeout(() => setSteps((steps) => steps + 1));
    return () => clearTimeout(timer);
  });
  return text === "" ? { found: entries } : { found: search.result, problem: search.problem };
}

const ARROWS = { out: "→", in: "←" };

function Line(props: { entry: LogEntry }) {
  const { entry } = props;
  return (
    <span class={`log-line ${entry.kind}${entry.failed ? " failed" : ""}`}>
      <span class="time">{(entry.t / 1_000_000).toFixed(3)}</span>
      <span class="badge">{entry.kind}</span>
      <span aria-label={entry.dir === "out" ? "sent" : entry.dir === "in" ? "received" : undefined} role={entry.dir ? "img" : undefined}>
        {entry.dir ? ARROWS[entry.dir] : ""}
      </span>
      <Subject entry={entry} />
      <span class="log-text">{plainLine(entry.text.slice(0, 300))}</span>
    </span>
  );
}

/** What an entry is about: the name and the method of a request, and the error of a response. */
function Subject(props: { entry: LogEntry }) {
  const { kind, method, name, error, failed, request } = props.entry;
  const about = method === undefined ? request : { method, name };
  const problem = error ? `${error.code} ${error.message}` : failed && kind === "message" ? "tool error" : undefined;
  if (about === undefined && problem === undefined) return null;
  return (
    <span class="log-subject">
      {problem !== undefined && <span class="error">{plainLine(problem)} </span>}
      {about?.name !== undefined && <strong>{plainLine(about.name)} </strong>}
      {about && (about.name === undefined ? <strong>{plainLine(about.method)}</strong> : plainLine(about.method))}
    </span>
  );
}

function Entry(props: { seq: number }) {
  const [entry, setEntry] = useState<{ body: string; bytes: number; truncated?: boolean } | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  useEffect(() => {
    get(`log/${props.seq}`).then(
      (value) => setEntry(value as unknown as { body: string; bytes: number; truncated?: boolean }),
      (reason) => setError(messageOf(reason)),
    );
  }, [props.seq]);
  // A log that grows renders the entry again, which may have 4 MiB.
  const text = useMemo(() => entry && indented(entry.body), [entry]);
  const report = useMemo(() => {
    const isReport = log.peek().some((one) => one.seq === props.seq && one.kind === "inside");
    return isReport && entry ? reportOf(parse(entry.body)) : undefined;
  }, [entry]);
  if (error) return <p class="error">{plainLine(error)}</p>;
  if (!entry || text === undefined) return <p class="hint">Loading …</p>;
  return (
    <article aria-label={`Entry ${props.seq}`}>
      <div class="toolbar">
        <button type="button" class="small back" onClick={() => (chosen.value = undefined)}>
          ← Log
        </button>
        <span class="hint">
          {sizeText(entry.bytes)}
          {entry.truncated ? ", only the beginning is stored" : ""}
        </span>
        <CopyButton text={() => entry.body} label="Copy" name="Copy entry" />
      </div>
      {report && <Report report={report} />}
      <LongText text={text} />
    </article>
  );
}

function indented(body: string): string {
  try {
    return format(parse(body));
  } catch {
    return body;
  }
}
