// The saved calls of one tool, and a form that saves the last call.

import { useState } from "preact/hooks";
import { compact, type Json } from "../json";
import type { CallOutcome, SavedCall } from "../model";
import { plainLine } from "../plain_text";
import { deleteSavedCall, saveCall, savedCalls } from "../saved_calls";
import { announcement, connected, messageOf } from "../store";
import type { CallControl } from "../widgets/call_state";

export function SavedPanel(props: {
  tool: string;
  call: CallControl;
  /** Shows the arguments of a saved call in the editor. */
  onShow: (value: Json) => void;
}) {
  const { tool, call } = props;
  const [error, setError] = useState<string | undefined>(undefined);
  const attempt = (work: Promise<unknown>, done: string) => {
    work.then(
      () => {
        setError(undefined);
        announcement.value = done;
      },
      (reason) => setError(messageOf(reason)),
    );
  };
  const found = savedCalls.value.calls.filter((one) => one.tool === tool);
  const { outcome } = call;
  const canSave = outcome !== undefined && outcome.id > 0 && outcome.method === "tools/call";
  if (found.length === 0 && !canSave) return null;
  return (
    <section class="saved" aria-label="Saved calls">
      <h3>Saved calls</h3>
      {found.length > 0 && (
        <ul>
          {found.map((one) => (
            <li key={one.name}>
              <Saved saved={one} call={call} onShow={props.onShow} onDelete={() => attempt(deleteSavedCall(one.name), "deleted")} />
            </li>
          ))}
        </ul>
      )}
      {canSave && <SaveForm outcome={outcome} onSave={(name) => attempt(saveCall(name, outcome.id), "saved")} />}
      {error && (
        <p class="error" role="alert">
          {plainLine(error)}
        </p>
      )}
      <p class="hint">
        They are in <code>{plainLine(savedCalls.value.file)}</code>, with secrets as you typed them.
      </p>
    </section>
  );
}

function Saved(props: { saved: SavedCall; call: CallControl; onShow: (value: Json) => void; onDelete: () => void }) {
  const { saved, call } = props;
  const ready = connected.value && call.running === undefined;
  const count = saved.responses?.length ?? 0;
  const run = (responses: boolean) => {
    props.onShow(saved.arguments);
    void call.startSaved(saved.name, responses);
  };
  return (
    <div class="toolbar" role="group" aria-label={`Saved call ${plainLine(saved.name)}`}>
      <strong>{plainLine(saved.name)}</strong>
      <code class="hint">{plainLine(compact(saved.arguments)).slice(0, 120)}</code>
      <button type="button" class="small" onClick={() => props.onShow(saved.arguments)}>
        Show
      </button>
      <button type="button" class="small" disabled={!ready} onClick={() => run(false)}>
        Call again
      </button>
      {count > 0 && (
        <button type="button" class="small" disabled={!ready} onClick={() => run(true)}>
          Call with its {count === 1 ? "response" : `${count} responses`}
        </button>
      )}
      <button type="button" class="small" onClick={props.onDelete}>
        Delete
      </button>
    </div>
  );
}

function SaveForm(props: { outcome: CallOutcome; onSave: (name: string) => void }) {
  const [name, setName] = useState("");
  const inputs = props.outcome.inputs?.length ?? 0;
  return (
    <form
      class="toolbar"
      onSubmit={(event) => {
        event.preventDefault();
        props.onSave(name);
        setName("");
      }}
    >
      <input
        type="text"
        aria-label="Name of the saved call"
        placeholder="name"
        maxLength={64}
        pattern="[A-Za-z0-9_\-]+"
        required
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" class="small">
        Save the last call
      </button>
      {inputs > 0 && <span class="hint">with its responses</span>}
    </form>
  );
}
