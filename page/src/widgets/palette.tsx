// The palette (Ctrl+K): finds views and items by name.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ListKind } from "../model";
import { plainLine } from "../plain_text";
import { VIEWS, keyOf, lists, selected, view } from "../store";

interface Command {
  label: string;
  kind: string;
  run: () => void;
}

/** The number of commands that are shown. */
const SHOWN = 20;

function commands(search: string): Command[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found: Command[] = [];
  const add = (command: Command) => {
    const text = `${command.kind} ${command.label}`.toLowerCase();
    if (words.every((word) => text.includes(word))) found.push(command);
  };
  for (const name of VIEWS) {
    add({ kind: "view", label: name, run: () => (view.value = name) });
  }
  for (const kind of ["tools", "prompts", "resources", "templates"] as ListKind[]) {
    for (const item of lists[kind].value.items) {
      if (found.length >= SHOWN) return found;
      const key = keyOf(kind, item);
      const run = () => {
        view.value = kind;
        selected[kind].value = key;
      };
      add({ kind: kind.slice(0, -1), label: key, run });
    }
  }
  return found;
}

export function Palette(props: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [search, setSearch] = useState("");
  const [position, setPosition] = useState(0);
  const found = commands(search).slice(0, SHOWN);
  useEffect(() => dialog.current?.showModal(), []);
  // In a low window, the list is longer than the palette.
  useEffect(() => document.getElementById(`palette-${position}`)?.scrollIntoView({ block: "nearest" }), [position]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    command.run();
    props.onClose();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Palette" onClose={props.onClose}>
      <input
        type="text"
        role="combobox"
        list={undefined}
        aria-label="Find a view or an item"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[position] ? `palette-${position}` : undefined}
        value={search}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setPosition(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setPosition(Math.min(found.length - 1, position + 1));
          else if (event.key === "ArrowUp") setPosition(Math.max(0, position - 1));
          else if (event.key === "Enter") run(found[position]);
          else return;
          event.preventDefault();
        }}
      />
      <div id="palette-list" role="listbox" aria-label="Views and items">
        {found.map((command, index) => (
          <div
            key={`${command.kind} ${command.label}`}
            id={`palette-${index}`}
            role="option"
            class="palette-row"
            aria-selected={index === position}
            onClick={() => run(command)}
          >
            <span class="badge">{command.kind}</span> {plainLine(command.label)}
          </div>
        ))}
      </div>
    </dialog>
  );
}
