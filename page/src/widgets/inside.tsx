// What a server that is written with toolwire reported about the inside of an exchange. Names are text of the server.

import { useEffect, useState } from "preact/hooks";
import { get } from "../api";
import { isObject, numberText, type Json } from "../json";
import type { ExchangeReport } from "../model";
import { plainLine } from "../plain_text";
import { calls } from "../store";

/** The reports of one call. A report may arrive after the end of its call. */
export function Inside(props: { call: number }) {
  const count = calls.value.get(props.call)?.reports ?? 0;
  const [reports, setReports] = useState<ExchangeReport[]>([]);
  useEffect(() => {
    if (count === 0) return undefined;
    let current = true;
    get(`calls/${props.call}/inside`).then(
      (value) => current && setReports(value as unknown as ExchangeReport[]),
      // The command has removed the call.
      () => current && setReports([]),
    );
    return () => {
      current = false;
    };
  }, [props.call, count]);
  if (reports.length === 0) return null;
  return (
    <section class="outcome inside" aria-label="Inside of the server">
      <h3>Inside of the server</h3>
      {reports.map((report, index) => (
        <Report key={index} report={report} />
      ))}
    </section>
  );
}

/** Returns the report that an entry of the log contains. */
export function reportOf(value: Json): ExchangeReport | undefined {
  return isObject(value) && Array.isArray(value.spans) ? (value as unknown as ExchangeReport) : undefined;
}

const WHAT = { arguments: "arguments", result: "structured result", unknown: "value" };

export function Report(props: { report: ExchangeReport }) {
  const { method, name, outcome, tookUs, spans, rejected, hidden, moreHidden, load } = props.report;
  const whole = Math.max(number(tookUs), 1);
  return (
    <div class="report">
      <p>
        <code>{plainLine(`${method} ${name ?? ""}`)}</code> <span class="hint">{`${words(outcome)}, ${time(tookUs)}`}</span>
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Own time</th>
            <th scope="col">Share</th>
          </tr>
        </thead>
        <tbody>
          {spans.map((span, index) => {
            const part = span.kind === "handler" ? "handler" : (span.name ?? "");
            return (
              <tr key={index}>
                <th scope="row">{plainLine(part)}</th>
                <td>{time(span.ownUs)}</td>
                <td>
                  <meter max={whole} value={number(span.ownUs)} aria-label={`Share of ${plainLine(part)}`} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rejected && (
        <p class="error">
          Rejected {WHAT[rejected.what]}: <code>{plainLine(rejected.paths.join(", "))}</code>
        </p>
      )}
      {hidden && hidden.length > 0 && (
        <ul aria-label="Hidden from this caller">
          {hidden.map((entry, index) => (
            <li key={index}>
              The {plainLine(entry.kind)} <code>{plainLine(entry.name)}</code> is hidden: {plainLine(entry.because)}
            </li>
          ))}
        </ul>
      )}
      {moreHidden !== undefined && <p class="hint">{numberText(moreHidden)} more are hidden.</p>}
      <p class="hint">
        Running requests: {numberText(load.running)}, open streams: {numberText(load.streams)}, queued messages:{" "}
        {numberText(load.queued)}
      </p>
    </div>
  );
}

/** Returns `tool error` for `toolError`. */
const words = (name: string): string => plainLine(name).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Returns a number of the server, which may have more digits than JavaScript can represent. */
function number(value: unknown): number {
  return Number(numberText(value) ?? 0);
}

function time(microseconds: unknown): string {
  return `${(number(microseconds) / 1000).toFixed(3)} ms`;
}
