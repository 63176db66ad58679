// "Copy as": the request as a command or program.

import { useState } from "preact/hooks";
import { plainText } from "../plain_text";
import { snippets, type Exchange } from "../snippets";
import { state } from "../store";
import { CopyButton } from "./copy_button";

export function SnippetsPanel(props: { exchange: Exchange }) {
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const current = state.value;
  if (!current) return null;
  const all = open ? snippets(props.exchange, current) : [];
  const snippet = all[chosen];
  return (
    <details class="panel" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Copy as …</summary>
      <div class="toolbar" role="group" aria-label="Language">
        {all.map((one, index) => (
          <button type="button" class="small" key={one.title} aria-pressed={index === chosen} onClick={() => setChosen(index)}>
            {one.title}
          </button>
        ))}
        {snippet && <CopyButton text={() => snippet.text} label="Copy" name={`Copy as ${snippet.title}`} />}
      </div>
      {snippet && (
        <pre class="text" tabIndex={0} aria-label={snippet.title}>
          {plainText(snippet.text)}
        </pre>
      )}
      <p class="hint">Headers and logins of the command are not part of it.</p>
    </details>
  );
}
