// One resource or one template: read it, and subscribe to its changes.

import { useState } from "preact/hooks";
import { post } from "../api";
import type { Item } from "../model";
import { plainLine, plainText } from "../plain_text";
import { connected, messageOf, state, subscribe, updated } from "../store";
import { Progress, useCall } from "../widgets/call_state";
import { Inside } from "../widgets/inside";
import { JsonTree } from "../widgets/json_tree";
import { Address, Outcome } from "../widgets/result";
import { SnippetsPanel } from "../widgets/snippets_panel";
import { CompletedField } from "./completed_field";
import { ItemHead, titleOf } from "./item_head";
import { textsOf } from "./prompt_view";

export function ResourceView(props: { resource: Item }) {
  const { resource } = props;
  const uri = String(resource.uri);
  return (
    <article aria-labelledby="item-title">
      <ItemHead title={titleOf(resource) || uri} name={uri} />
      {typeof resource.description === "string" && <p class="prose">{plainText(resource.description)}</p>}
      <p>
        <Address uri={uri} />
      </p>
      <ReadResource uri={uri} />
      <details class="panel">
        <summary>Definition</summary>
        <JsonTree value={resource} open />
      </details>
    </article>
  );
}

export function TemplateView(props: { template: Item }) {
  const { template } = props;
  const pattern = String(template.uriTemplate);
  const texts = textsOf(`templates ${pattern}`);
  const [expanded, setExpanded] = useState<string | undefined>(undefined);
  const [error, setError] = useState<string | undefined>(undefined);
  const variables = variablesOf(pattern);
  const expand = async () => {
    try {
      const values = Object.fromEntries(Object.entries(texts.value).filter(([, text]) => text !== ""));
      const { uri } = (await post("expand", { template: pattern, variables: values })) as { uri: string };
      setExpanded(uri);
      setError(undefined);
    } catch (reason) {
      setExpanded(undefined);
      setError(messageOf(reason));
    }
  };
  return (
    <article aria-labelledby="item-title">
      <ItemHead title={titleOf(template) || pattern} name={pattern} />
      {typeof template.description === "string" && <p class="prose">{plainText(template.description)}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void expand();
        }}
      >
        {variables.map((name) => (
          <CompletedField
            key={name}
            label={name}
            required={false}
            value={texts.value[name] ?? ""}
            onChange={(text) => {
              texts.value = { ...texts.value, [name]: text };
              setExpanded(undefined);
            }}
            reference={{ type: "ref/resource", uri: pattern }}
            known={texts.value}
          />
        ))}
        <button type="submit" class="primary">
          Make URI
        </button>
      </form>
      {error && (
        <p class="error" role="alert">
          {plainText(error)}
        </p>
      )}
      {expanded !== undefined && (
        <section aria-label="Resource">
          <p>
            <Address uri={expanded} />
          </p>
          <ReadResource uri={expanded} key={expanded} />
        </section>
      )}
      <details class="panel">
        <summary>Definition</summary>
        <JsonTree value={template} open />
      </details>
    </article>
  );
}

/** Returns the names of the variables of a URI template (RFC 6570). */
export function variablesOf(template: string): string[] {
  const names = new Set<string>();
  for (const [, expression] of template.matchAll(/\{([^{}]*)\}/g)) {
    for (const variable of (expression ?? "").replace(/^[+#./;?&]/, "").split(",")) {
      const name = variable.replace(/(\*|:\d+)$/, "");
      if (name) names.add(name);
    }
  }
  return [...names];
}

function ReadResource(props: { uri: string }) {
  const { uri } = props;
  const call = useCall(`resources ${uri}`);
  const [error, setError] = useState<string | undefined>(undefined);
  const subscribed = state.value?.subscriptions.includes(uri) ?? false;
  const changed = updated.value.get(uri);
  const toggle = async () => {
    try {
      await subscribe(uri, !subscribed);
      setError(undefined);
    } catch (reason) {
      setError(messageOf(reason));
    }
  };
  return (
    <>
      <div class="toolbar">
        <button
          type="button"
          class="primary"
          disabled={!connected.value || call.running !== undefined}
          onClick={() => void call.start("resources/read", { uri })}
        >
          Read
        </button>
        <button type="button" disabled={!connected.value} aria-pressed={subscribed} onClick={() => void toggle()}>
          {subscribed ? "Unsubscribe" : "Subscribe"}
        </button>
        {changed !== undefined && <span class="badge">changed at {new Date(changed).toLocaleTimeString()}</span>}
      </div>
      {error && (
        <p class="error" role="alert">
          {plainLine(error)}
        </p>
      )}
      {call.running !== undefined && <Progress id={call.running} />}
      {call.outcome && <Outcome outcome={call.outcome} />}
      {call.outcome && <Inside key={call.outcome.id} call={call.outcome.id} />}
      <SnippetsPanel exchange={{ kind: "resources", name: uri, arguments: {} }} />
    </>
  );
}
