// The connection: what the server said about itself, the login, and the settings.

import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Json, JsonObject } from "../json";
import type { Settings } from "../model";
import { plainLine, plainText } from "../plain_text";
import { changeSettings, messageOf, reconnect, state } from "../store";
import { JsonTree } from "../widgets/json_tree";
import { Check } from "../widgets/setting_fields";
import { AccountSection } from "./account_section";
import { FaultsSection } from "./faults_section";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export function SettingsView() {
  const current = state.value;
  const [error, setError] = useState<string | undefined>(undefined);
  if (!current) return null;
  const { settings, server, connection, target } = current;
  const change = (value: JsonObject) => {
    changeSettings(value).then(
      () => setError(undefined),
      (reason) => setError(messageOf(reason)),
    );
  };
  return (
    <div class="settings">
      {error && (
        <p class="error" role="alert">
          {plainLine(error)}
        </p>
      )}
      <section aria-labelledby="settings-server">
        <h2 id="settings-server">Server</h2>
        <dl>
          <Detail name="Target">
            <code>{plainText(target.label)}</code>
          </Detail>
          <Detail name="Transport">{target.transport}</Detail>
          <Detail name="Name">{server?.info ? plainLine(`${server.info.title ?? server.info.name} ${server.info.version}`) : "unknown"}</Detail>
          <Detail name="Era">{connection.era ?? "unknown"}</Detail>
          <Detail name="Revision">{connection.version ?? "unknown"}</Detail>
          {server && <Detail name="Supported revisions">{plainLine(server.versions.join(", "))}</Detail>}
        </dl>
        {server?.instructions && (
          <details class="panel">
            <summary>Instructions</summary>
            <p class="prose">{plainText(server.instructions)}</p>
          </details>
        )}
        {server && <JsonTree value={server.capabilities as Json} label="capabilities" open />}
      </section>
      <AccountSection />
      {target.transport !== "record" && (
        <>
          <ConnectionSection settings={settings} change={change} />
          <FaultsSection target={target} faults={settings.faults} change={change} />
        </>
      )}
    </div>
  );
}

type Change = (value: JsonObject) => void;

function ConnectionSection(props: { settings: Settings; change: Change }) {
  const { settings, change } = props;
  return (
    <section aria-labelledby="settings-connection">
      <h2 id="settings-connection">Connection</h2>
      <p class="hint">A change of the era or of a capability connects again.</p>
      <label class="line">
        Era
        <select value={settings.era} onChange={(event) => change({ era: event.currentTarget.value })}>
          <option value="auto">detect</option>
          <option value="modern">modern</option>
          <option value="legacy">legacy</option>
        </select>
      </label>
      <label class="line">
        Log level
        <select
          value={settings.logLevel ?? ""}
          onChange={(event) => change({ logLevel: event.currentTarget.value || null })}
        >
          <option value="">none</option>
          {LEVELS.map((level) => (
            <option key={level} value={level}>
              {level}
            </option>
          ))}
        </select>
      </label>
      <Check label="Offer elicitation" value={settings.elicitation} onChange={(value) => change({ elicitation: value })} />
      <Check label="Offer sampling" value={settings.sampling} onChange={(value) => change({ sampling: value })} />
      <TextSetting
        label="Roots, one URI per line"
        value={settings.roots.join("\n")}
        onSave={(text) => change({ roots: text.split(/\s+/).filter(Boolean) })}
      />
      <button type="button" onClick={() => void reconnect()}>
        Connect again
      </button>
    </section>
  );
}

function Detail(props: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

function TextSetting(props: { label: string; value: string; onSave: (text: string) => void }) {
  const [text, setText] = useState(props.value);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        props.onSave(text);
      }}
    >
      <label class="block">
        {props.label}
        <textarea rows={2} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit" class="small">
        Save roots
      </button>
    </form>
  );
}
