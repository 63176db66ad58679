// The frame of the page: header, navigation, the current view, and the input requests.

import { useEffect, useState } from "preact/hooks";
import { plainLine, plainText } from "./plain_text";
import { VIEWS, announcement, connected, inputs, lists, log, problem, reconnect, selected, state, view, type View } from "./store";
import { BuildPanel } from "./views/build_panel";
import { InputsPanel } from "./views/inputs_panel";
import { ItemsView } from "./views/items_view";
import { LogView } from "./views/log_view";
import { RecordView } from "./views/record_view";
import { SettingsView } from "./views/settings_view";
import { Boundary } from "./widgets/boundary";
import { Palette } from "./widgets/palette";

/** Returns the number that the navigation shows beside the name of a view. */
function countOf(name: View): number | undefined {
  if (name === "record" || name === "settings") return undefined;
  return name === "log" ? log.value.length : lists[name].value.items.length;
}

/** Returns the title of a view. */
const titleOf = (name: View) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

export function App() {
  const [palette, setPalette] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setPalette(true);
        return;
      }
      const target = event.target as HTMLElement;
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (event.key === "/" && !isTyping) {
        event.preventDefault();
        document.getElementById("search")?.focus();
      }
      // In a list, Enter moves to the first field of the item, or calls it.
      if (event.key === "Enter" && target.getAttribute("role") === "listbox") {
        const details = document.querySelector<HTMLElement>(".details");
        details?.querySelector<HTMLElement>(".form input, .form textarea, form input, button.primary")?.focus();
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <>
      <Header onPalette={() => setPalette(true)} />
      <nav aria-label="Views">
        {VIEWS.map((name) => (
          <button
            type="button"
            key={name}
            aria-current={view.value === name ? "page" : undefined}
            onClick={() => {
              view.value = name;
            }}
          >
            {titleOf(name)}
            {countOf(name) !== undefined && <span class="count-badge"> {countOf(name)}</span>}
          </button>
        ))}
      </nav>
      <main>
        <Problem />
        <Boundary name="The build">
          <BuildPanel />
        </Boundary>
        <Boundary name="The input requests">
          <InputsPanel />
        </Boundary>
        <Boundary key={view.value} name="This view">
          <Current />
        </Boundary>
      </main>
      <p class="visually-hidden" role="status" aria-live="polite">
        {announcement.value}
      </p>
      {palette && <Palette onClose={() => setPalette(false)} />}
    </>
  );
}

function Current() {
  switch (view.value) {
    case "log":
      return <LogView />;
    case "record":
      return <RecordView />;
    case "settings":
      return <SettingsView />;
    default:
      return <ItemsView kind={view.value} key={view.value} />;
  }
}

function Header(props: { onPalette: () => void }) {
  const current = state.value;
  const info = current?.server?.info;
  const status = current?.connection.status ?? "connecting";
  useEffect(() => {
    const chosen = view.value in selected ? selected[view.value as keyof typeof selected].value : undefined;
    const name = plainLine(info?.title ?? info?.name ?? "toolwire inspect").slice(0, 80);
    document.title = [inputs.value.length > 0 ? `(${inputs.value.length})` : "", chosen && plainLine(chosen).slice(0, 80), name]
      .filter(Boolean)
      .join(" ");
  });
  return (
    <header class="top">
      <h1>{plainLine(info?.title ?? info?.name ?? "toolwire inspect")}</h1>
      <span class={`badge status ${status}`} role="status">
        {status}
      </span>
      {connected.value && (
        <span class="hint">
          {current?.connection.era} · {current?.connection.version} · {current?.target.transport}
        </span>
      )}
      {current?.record.running && <span class="badge recording">recording</span>}
      <span class="grow" />
      <button type="button" class="small" onClick={props.onPalette}>
        Find <kbd>Ctrl K</kbd>
      </button>
    </header>
  );
}

/** What stops the page or the connection, and what to do about it. */
function Problem() {
  const stopped = problem.value;
  const connection = state.value?.connection;
  if (stopped) {
    return (
      <div class="problem" role="alert">
        <p>{plainText(stopped.message)}</p>
        {stopped.advice && <p>{plainText(stopped.advice)}</p>}
      </div>
    );
  }
  if (connection?.status !== "failed") return null;
  return (
    <div class="problem" role="alert">
      <p>{plainText(connection.error ?? "no connection")}</p>
      {connection.advice && <p>{plainText(connection.advice)}</p>}
      <button type="button" onClick={() => void reconnect()}>
        Connect again
      </button>
    </div>
  );
}
