// The input requests of the server that wait for the user.

import { useState } from "preact/hooks";
import { post } from "../api";
import { isObject, type Json, type JsonObject } from "../json";
import type { InputRequest } from "../model";
import { plainLine, plainText } from "../plain_text";
import { Field } from "../schema/form";
import { SchemaRoot } from "../schema/limits";
import { asArray, asObject, initialValue } from "../schema/resolve";
import { SchemaForm } from "../schema/schema_form";
import { calls, inputs, messageOf } from "../store";
import { submitOnCtrlEnter } from "../submit_keys";
import { Boundary } from "../widgets/boundary";
import { Conversation } from "../widgets/conversation";
import { JsonTree } from "../widgets/json_tree";
import { JsonEditor } from "../widgets/json_editor";
import { Parts } from "../widgets/parts";

export function InputsPanel() {
  const waiting = inputs.value;
  if (waiting.length === 0) return null;
  return (
    <aside class="inputs" aria-label="Input requests of the server">
      <h2>
        {waiting.length === 1 ? "The server requests input" : `The server requests input ${waiting.length} times`}
      </h2>
      {[...byCall(waiting)].map(([call, ofCall]) => (
        <section key={call ?? "none"} aria-label={call === undefined ? "Input requests without a call" : `Input requests of call ${call}`}>
          <CallHead id={call} />
          {ofCall.map((one) => (
            <Boundary key={one.id} name={`Input request ${one.id}`}>
              <Input input={one} />
            </Boundary>
          ))}
        </section>
      ))}
    </aside>
  );
}

function byCall(waiting: readonly InputRequest[]): Map<number | undefined, InputRequest[]> {
  const groups = new Map<number | undefined, InputRequest[]>();
  for (const one of waiting) groups.set(one.call, [...(groups.get(one.call) ?? []), one]);
  return groups;
}

/** The call that causes input requests, and the earlier ones of the same call. */
function CallHead(props: { id: number | undefined }) {
  const call = props.id === undefined ? undefined : calls.value.get(props.id);
  if (!call) return null;
  return (
    <>
      <p class="hint">
        For {plainLine(call.method)} {call.name !== undefined && <strong>{plainLine(call.name)}</strong>}
      </p>
      <Conversation inputs={call.inputs} />
    </>
  );
}

function Input(props: { input: InputRequest }) {
  const { input } = props;
  const [error, setError] = useState<string | undefined>(undefined);
  const respond = (body: JsonObject) => {
    post(`inputs/${input.id}`, body).catch((reason) => setError(messageOf(reason)));
  };
  return (
    <div class="input" role="group" aria-label={`Input request ${input.id}`}>
      {input.kind === "form" && <FormInput input={input} respond={respond} />}
      {input.kind === "url" && <UrlInput input={input} respond={respond} />}
      {input.kind === "sampling" && <SamplingInput input={input} respond={respond} />}
      {error && (
        <p class="error" role="alert">
          {plainText(error)}
        </p>
      )}
    </div>
  );
}

type Props = { input: InputRequest; respond: (body: JsonObject) => void };

function Others(props: { respond: (body: JsonObject) => void }) {
  return (
    <>
      <button type="button" onClick={() => props.respond({ action: "decline" })}>
        Decline
      </button>
      <button type="button" onClick={() => props.respond({ action: "cancel" })}>
        Cancel
      </button>
    </>
  );
}

/** The content of responses that were sent, by message and schema, so that a repeated request is prefilled. */
const earlier = new Map<string, Json>();
/** The maximum number of such responses. */
const MAX_EARLIER = 50;

function FormInput({ input, respond }: Props) {
  const schema = asObject(input.params.requestedSchema);
  const key = JSON.stringify([input.params.message, schema]);
  const [value, setValue] = useState<Json>(() => earlier.get(key) ?? initialValue(schema, new SchemaRoot(schema)));
  const [valid, setValid] = useState(true);
  const accept = () => {
    if (earlier.size >= MAX_EARLIER) earlier.clear();
    earlier.set(key, value);
    respond({ action: "accept", content: value });
  };
  return (
    <form
      onKeyDown={submitOnCtrlEnter}
      onSubmit={(event) => {
        event.preventDefault();
        if (valid) accept();
      }}
    >
      <p class="prose">{plainText(String(input.params.message ?? ""))}</p>
      {earlier.has(key) && <p class="hint">Filled in with the last response.</p>}
      <SchemaForm name="response" schema={schema} value={value} onChange={setValue} onValid={setValid} mode="form" />
      <div class="toolbar">
        <button type="submit" class="primary" disabled={!valid}>
          Accept
        </button>
        <Others respond={respond} />
      </div>
    </form>
  );
}

function UrlInput({ input, respond }: Props) {
  const url = String(input.params.url ?? "");
  const isWeb = /^https?:\/\//i.test(url);
  return (
    <>
      <p class="prose">{plainText(String(input.params.message ?? ""))}</p>
      <p>
        {isWeb ? (
          <a href={url} target="_blank" rel="noopener noreferrer">
            {plainText(url)}
          </a>
        ) : (
          <code>{plainText(url)}</code>
        )}
      </p>
      <p class="hint">Check the address before you open it. Accept after you have finished there.</p>
      <div class="toolbar">
        <button type="button" class="primary" onClick={() => respond({ action: "accept" })}>
          Accept
        </button>
        <Others respond={respond} />
      </div>
    </>
  );
}

/** The number of messages that are laid out at a time. */
const MESSAGES = 20;

function SamplingInput({ input, respond }: Props) {
  const [value, setValue] = useState<Json>({
    role: "assistant",
    model: "user",
    content: { type: "text", text: "" },
    stopReason: "endTurn",
  });
  const [valid, setValid] = useState(true);
  const content = isObject(value) && isObject(value.content) ? value.content : undefined;
  return (
    <form
      onKeyDown={submitOnCtrlEnter}
      onSubmit={(event) => {
        event.preventDefault();
        if (valid) respond({ result: value });
      }}
    >
      <p>The server asks the model of the client (sampling).</p>
      <Parts
        items={asArray(input.params.messages)}
        size={MESSAGES}
        render={(message, index) => <JsonTree key={index} value={message} label={`message ${index + 1}`} open />}
      />
      <JsonTree value={input.params} label="all parameters" />
      {content?.type === "text" && typeof content.text === "string" && (
        <Field
          label="Text of the response"
          schema={{ type: "string", contentMediaType: "text/plain" }}
          root={new SchemaRoot({})}
          value={content.text}
          onChange={(text) => setValue({ ...(value as JsonObject), content: { ...content, text } })}
        />
      )}
      <details class="panel">
        <summary>Response as JSON</summary>
        <JsonEditor label="Response" value={value} onChange={setValue} onValid={setValid} />
      </details>
      <div class="toolbar">
        <button type="submit" class="primary" disabled={!valid}>
          Respond
        </button>
        <button type="button" onClick={() => respond({ error: { code: -1, message: "the user rejected the request" } })}>
          Reject
        </button>
      </div>
    </form>
  );
}
