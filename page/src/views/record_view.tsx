// A record of the connection: start, stop and download it, and compare the server with a record.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { download, post } from "../api";
import type { JsonObject } from "../json";
import type { ComparedExchange, Report } from "../model";
import { plainLine, plainText } from "../plain_text";
import { announcement, connected, messageOf, setRecording, state } from "../store";
import { JsonTree } from "../widgets/json_tree";
import { Parts } from "../widgets/parts";

/** The largest record that is compared, in bytes. The command rejects larger requests. */
const MAX_BYTES = 12_000_000;

/** What a comparison needs again, if it has to be repeated with permission. */
interface Comparison {
  name: string;
  record?: string;
}

const report = signal<{ name: string; report: Report } | undefined>(undefined);

export function RecordView() {
  const current = state.value;
  if (!current) return null;
  if (current.target.transport === "record") {
    return (
      <div class="settings">
        <section aria-labelledby="record-shown">
          <h2 id="record-shown">Record</h2>
          <p>
            This page shows the record <code>{plainText(current.target.label)}</code>. The log contains its events, and requests get the
            recorded responses.
          </p>
        </section>
      </div>
    );
  }
  return (
    <div class="settings">
      <RecordSection running={current.record.running} stored={current.record.stored} />
      <CompareSection stored={current.record.stored && !current.record.running} />
    </div>
  );
}

function RecordSection(props: { running: boolean; stored: boolean }) {
  const [error, setError] = useState<string | undefined>(undefined);
  const attempt = (work: Promise<void>) => {
    work.then(
      () => setError(undefined),
      (reason) => setError(messageOf(reason)),
    );
  };
  const name = `${plainLine(state.value?.server?.info?.name ?? "server").replace(/[^\w.-]+/g, "-")}.mcplog`;
  return (
    <section aria-labelledby="record-title">
      <h2 id="record-title">Record</h2>
      <p class="hint">
        A record contains every message, the headers of HTTP, and standard error. Secrets are replaced, but read the file before you share
        it. Open it without the server: <code>toolwire inspect {name}</code>
      </p>
      <div class="toolbar">
        <button type="button" class="primary" onClick={() => attempt(setRecording(!props.running))}>
          {props.running ? "Stop recording" : "Start recording"}
        </button>
        <button type="button" disabled={!props.stored} onClick={() => attempt(download("record", name))}>
          Download
        </button>
        <span role="status">{props.running ? "Recording." : ""}</span>
      </div>
      {error && (
        <p class="error" role="alert">
          {plainText(error)}
        </p>
      )}
    </section>
  );
}

function CompareSection(props: { stored: boolean }) {
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<string | undefined>(undefined);
  const [asked, setAsked] = useState<{ comparison: Comparison; tools: string[] } | undefined>(undefined);
  const compare = async (comparison: Comparison, mayChange: boolean) => {
    setRunning(true);
    setError(undefined);
    setAsked(undefined);
    report.value = undefined;
    try {
      const body: JsonObject = { mayChange, ...(comparison.record === undefined ? {} : { record: comparison.record }) };
      const outcome = (await post("compare", body)) as unknown as Report | { mayChange: string[] };
      if ("mayChange" in outcome) {
        setAsked({ comparison, tools: outcome.mayChange });
      } else {
        report.value = { name: comparison.name, report: outcome };
        announcement.value = summaryOf(outcome);
      }
    } catch (reason) {
      setError(messageOf(reason));
    }
    setRunning(false);
  };
  const compareFile = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > MAX_BYTES) {
      setError(`${file.name} has more than ${MAX_BYTES} bytes; compare it with: toolwire replay FILE --against SERVER`);
      return;
    }
    await compare({ name: file.name, record: await file.text() }, false);
  };
  const ready = connected.value && !running;
  return (
    <section aria-labelledby="compare-title">
      <h2 id="compare-title">Compare with a record</h2>
      <p class="hint">
        The recorded requests are sent to this server again, on a connection of its own. Ids and times are not compared, and requests with
        redacted parts are not sent.
      </p>
      <div class="toolbar">
        <button type="button" disabled={!ready || !props.stored} onClick={() => void compare({ name: "the last record" }, false)}>
          Compare with the last record
        </button>
        <label>
          Compare with a file{" "}
          <input
            type="file"
            accept=".mcplog"
            disabled={!ready}
            onChange={(event) => {
              const field = event.currentTarget;
              void compareFile(field.files?.[0]).finally(() => (field.value = ""));
            }}
          />
        </label>
        {running && <span role="status">Comparing …</span>}
      </div>
      {asked && (
        <div class="problem" role="alert">
          <p>These tools may change something: {asked.tools.map((tool) => plainLine(tool)).join(", ")}.</p>
          <button type="button" onClick={() => void compare(asked.comparison, true)}>
            Call them again
          </button>
        </div>
      )}
      {error && (
        <p class="error" role="alert">
          {plainText(error)}
        </p>
      )}
      {report.value && <ReportSection name={report.value.name} report={report.value.report} />}
    </section>
  );
}

const summaryOf = (one: Report) => `${one.same} same, ${one.different} different, ${one.skipped} skipped`;

/** The number of requests that are laid out at a time. */
const EXCHANGES = 200;

function ReportSection(props: { name: string; report: Report }) {
  return (
    <section aria-labelledby="report-title">
      <h3 id="report-title">Comparison with {plainLine(props.name)}</h3>
      <p>{summaryOf(props.report)}</p>
      <ul class="exchanges">
        <Parts
          items={props.report.exchanges}
          size={EXCHANGES}
          render={(exchange, index) => <Exchange key={index} exchange={exchange} />}
          wrap={(button) => <li>{button}</li>}
        />
      </ul>
    </section>
  );
}

/** The number of differences of one request that are shown. */
const SHOWN = 20;

function Exchange(props: { exchange: ComparedExchange }) {
  const { outcome, request, reason, differences = [] } = props.exchange;
  return (
    <li>
      <span class={`badge ${outcome}`}>{outcome}</span> {plainLine(request)}
      {reason && <p class="hint">{plainLine(reason)}</p>}
      {differences.slice(0, SHOWN).map((one, index) => (
        <div class="difference" key={index}>
          <code>{plainLine(one.path)}</code>
          <JsonTree value={one.recorded ?? null} label="recorded" open />
          <JsonTree value={one.received ?? null} label="received" open />
        </div>
      ))}
      {differences.length > SHOWN && <p class="hint">and {differences.length - SHOWN} more differences</p>}
    </li>
  );
}
