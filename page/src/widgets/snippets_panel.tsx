// "Copy as": the request as a command or program, which the command writes.

import { useEffect, useState } from "preact/hooks";
import { post } from "../api";
import { compact, type JsonObject } from "../json";
import { plainText } from "../plain_text";
import { messageOf, state } from "../store";
import { CopyButton } from "./copy_button";

export interface Exchange {
  kind: "tools" | "prompts" | "resources";
  /** The name of the tool or prompt, or the URI. */
  name: string;
  arguments: JsonObject;
  /** The input schema of a tool. It names the arguments that are also headers. */
  schema?: JsonObject;
}

interface Snippet {
  title: string;
  text: string;
}

export function SnippetsPanel(props: { exchange: Exchange }) {
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const [shown, setShown] = useState<{ key: string; snippets: Snippet[]; problem?: string }>({ key: "", snippets: [] });
  const { connection, settings } = state.value ?? {};
  // The texts depend on the request and on the connection.
  const key = open ? compact([{ ...props.exchange }, connection?.number ?? null, settings?.era ?? null]) : "";
  useEffect(() => {
    if (!open) return undefined;
    let current = true;
    post("snippets", { ...props.exchange }).then(
      (snippets) => current && setShown({ key, snippets: snippets as unknown as Snippet[] }),
      (error: unknown) => current && setShown({ key, snippets: [], problem: messageOf(error) }),
    );
    return () => {
      current = false;
    };
  }, [key]);
  const snippet = shown.snippets[chosen];
  return (
    <details class="panel" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Copy as …</summary>
      <div class="toolbar" role="group" aria-label="Language">
        {shown.snippets.map((one, index) => (
          <button type="button" class="small" key={one.title} aria-pressed={index === chosen} onClick={() => setChosen(index)}>
            {one.title}
          </button>
        ))}
        {snippet && shown.key === key && <CopyButton text={() => snippet.text} label="Copy" name={`Copy as ${snippet.title}`} />}
      </div>
      {shown.problem && <p role="alert">{plainText(shown.problem)}</p>}
      {snippet && (
        <pre class="text" tabIndex={0} aria-label={snippet.title}>
          {plainText(snippet.text)}
        </pre>
      )}
      <p class="hint">Headers and logins of the command are not part of it.</p>
    </details>
  );
}
