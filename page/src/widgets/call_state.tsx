// Starts a call, and shows its progress and its outcome.

import { useEffect, useRef, useState } from "preact/hooks";
import type { JsonObject } from "../json";
import type { CallOutcome } from "../model";
import { plainLine } from "../plain_text";
import { announcement, calls, cancelCall, messageOf, startCall, startSaved, type StartedCall } from "../store";
import { Conversation } from "./conversation";

export interface CallControl {
  running: number | undefined;
  outcome: CallOutcome | undefined;
  start: (method: string, params: JsonObject) => Promise<void>;
  startSaved: (name: string, responses: boolean) => Promise<void>;
}

/** The outcomes by item, so that they are still there when the user returns to the item. */
const outcomes = new Map<string, CallOutcome>();
/** The maximum number of outcomes in the page. */
const MAX_OUTCOMES = 50;
const running = new Map<string, number>();

/** Returns the call of one item. */
export function useCall(key: string): CallControl {
  const [, setTurn] = useState(0);
  const mounted = useRef(true);
  useEffect(() => {
    mounted.current = true;
    return () => {
      mounted.current = false;
    };
  }, []);
  const render = () => mounted.current && setTurn((turn) => turn + 1);
  const run = async (method: string, starting: Promise<StartedCall>) => {
    outcomes.delete(key);
    let outcome: CallOutcome;
    try {
      const call = await starting;
      running.set(key, call.id);
      render();
      outcome = await call.outcome;
    } catch (error) {
      outcome = { id: 0, method, state: "done", failed: true, error: { message: messageOf(error) } };
    }
    running.delete(key);
    outcomes.set(key, outcome);
    for (const oldest of outcomes.keys()) {
      if (outcomes.size <= MAX_OUTCOMES) break;
      outcomes.delete(oldest);
    }
    announcement.value = outcome.state === "cancelled" ? "cancelled" : outcome.failed ? "the call failed" : "the call succeeded";
    render();
  };
  return {
    running: running.get(key),
    outcome: outcomes.get(key),
    start: (method, params) => run(method, startCall(method, params)),
    startSaved: (name, responses) => run("tools/call", startSaved(name, responses)),
  };
}

export function Progress(props: { id: number }) {
  const call = calls.value.get(props.id);
  const progress = call?.progress;
  return (
    <>
      <Conversation inputs={call?.inputs} />
      <div class="toolbar running" role="group" aria-label="Running call">
        <span class="badge">running</span>
        {progress && (
          <>
            <progress
              aria-label="Progress"
              value={progress.progress}
              {...(progress.total === undefined ? {} : { max: progress.total })}
            />
            <span class="hint">
              {progress.progress}
              {progress.total !== undefined && ` of ${progress.total}`}
              {progress.message && ` ${plainLine(progress.message)}`}
            </span>
          </>
        )}
        <button type="button" class="small" onClick={() => void cancelCall(props.id)}>
          Cancel
        </button>
      </div>
    </>
  );
}
