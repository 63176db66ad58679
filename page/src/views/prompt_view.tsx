// One prompt: its arguments, and the messages that it gives.

import { signal, type Signal } from "@preact/signals";
import { isObject } from "../json";
import type { Item } from "../model";
import { plainText } from "../plain_text";
import { asArray } from "../schema/resolve";
import { connected } from "../store";
import { Progress, useCall } from "../widgets/call_state";
import { Inside } from "../widgets/inside";
import { JsonTree } from "../widgets/json_tree";
import { Outcome } from "../widgets/result";
import { SnippetsPanel } from "../widgets/snippets_panel";
import { CompletedField } from "./completed_field";
import { ItemHead } from "./item_head";

const values = new Map<string, Signal<Record<string, string>>>();

/** Returns the typed values of a prompt or template. */
export function textsOf(key: string): Signal<Record<string, string>> {
  let value = values.get(key);
  if (!value) {
    value = signal<Record<string, string>>({});
    values.set(key, value);
  }
  return value;
}

export function PromptView(props: { prompt: Item }) {
  const { prompt } = props;
  const name = String(prompt.name);
  const key = `prompts ${name}`;
  const texts = textsOf(key);
  const call = useCall(key);
  const given = asArray(prompt.arguments).filter(isObject);
  const ready = connected.value && call.running === undefined;
  // An empty text is no value, unless the argument is required.
  const sent = Object.fromEntries(
    given.flatMap((one) => {
      const text = texts.value[String(one.name)] ?? "";
      return text || one.required === true ? [[String(one.name), text]] : [];
    }),
  );
  return (
    <article aria-labelledby="item-title">
      <ItemHead title={prompt.title ?? name} name={name} />
      {typeof prompt.description === "string" && <p class="prose">{plainText(prompt.description)}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) void call.start("prompts/get", { name, arguments: sent });
        }}
      >
        {given.map((one) => {
          const argument = String(one.name);
          return (
            <CompletedField
              key={argument}
              label={argument}
              description={one.description}
              required={one.required === true}
              value={texts.value[argument] ?? ""}
              onChange={(text) => {
                texts.value = { ...texts.value, [argument]: text };
              }}
              reference={{ type: "ref/prompt", name }}
              known={texts.value}
            />
          );
        })}
        <button type="submit" class="primary" disabled={!ready}>
          Get prompt
        </button>
      </form>
      {call.running !== undefined && <Progress id={call.running} />}
      {call.outcome && <Outcome outcome={call.outcome} />}
      {call.outcome && <Inside key={call.outcome.id} call={call.outcome.id} />}
      <SnippetsPanel exchange={{ kind: "prompts", name, arguments: sent }} />
      <details class="panel">
        <summary>Definition</summary>
        <JsonTree value={prompt} open />
      </details>
    </article>
  );
}
