// One tool: its description, its arguments, and the result of a call.

import { useState } from "preact/hooks";
import { isObject, type Json } from "../json";
import type { Item } from "../model";
import { plainLine, plainText } from "../plain_text";
import { asObject } from "../schema/resolve";
import { connected } from "../store";
import { submitOnCtrlEnter } from "../submit_keys";
import { Progress, useCall } from "../widgets/call_state";
import { Inside } from "../widgets/inside";
import { JsonTree } from "../widgets/json_tree";
import { Outcome } from "../widgets/result";
import { SnippetsPanel } from "../widgets/snippets_panel";
import { ArgumentsEditor, argumentsOf, asArguments } from "./arguments_editor";
import { ItemHead } from "./item_head";
import { SavedPanel } from "./saved_panel";

export function ToolView(props: { tool: Item }) {
  const { tool } = props;
  const name = String(tool.name);
  const key = `tools ${name}`;
  const schema = asObject(tool.inputSchema);
  const value = argumentsOf(key, schema);
  const [valid, setValid] = useState(true);
  const call = useCall(key);
  const run = () => void call.start("tools/call", { name, arguments: value.value });
  const reason = whyNot(valid, value.value, call.running);
  const ready = reason === undefined;
  const hints = Object.entries(asObject(tool.annotations)).filter(([, hint]) => hint === true);
  return (
    <article aria-labelledby="item-title">
      <ItemHead title={tool.title ?? asObject(tool.annotations).title ?? name} name={name} />
      {hints.length > 0 && (
        <p>
          {hints.map(([hint]) => (
            <span class="badge" key={hint}>
              {plainLine(hint.replace(/Hint$/, ""))}
            </span>
          ))}
        </p>
      )}
      {typeof tool.description === "string" && <p class="prose">{plainText(tool.description)}</p>}
      <form
        // The server decides whether a value is valid.
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) run();
        }}
        onKeyDown={submitOnCtrlEnter}
      >
        <ArgumentsEditor schema={schema} value={value} onValid={setValid} />
        <div class="toolbar">
          <button type="submit" class="primary" disabled={!ready}>
            Call
          </button>
          <span class="hint">{reason ?? "Enter in a field, or Ctrl+Enter. Shift+Enter adds a line."}</span>
        </div>
      </form>
      {call.running !== undefined && <Progress id={call.running} />}
      {call.outcome && <Outcome outcome={call.outcome} outputSchema={tool.outputSchema} />}
      {call.outcome && <Inside key={call.outcome.id} call={call.outcome.id} />}
      <SavedPanel
        tool={name}
        call={call}
        onShow={(saved) => {
          value.value = saved;
        }}
      />
      {isObject(value.value) && (
        <SnippetsPanel exchange={{ kind: "tools", name, arguments: asArguments(value.value), schema }} />
      )}
      <details class="panel">
        <summary>Definition</summary>
        <JsonTree value={tool} open />
      </details>
    </article>
  );
}

/** Returns why the tool cannot be called now, or undefined if it can. */
function whyNot(valid: boolean, value: Json, running: number | undefined): string | undefined {
  if (!connected.value) return "There is no connection.";
  if (running !== undefined) return "The call is running.";
  if (!valid) return "The JSON is invalid.";
  return isObject(value) ? undefined : "The arguments are not an object.";
}
