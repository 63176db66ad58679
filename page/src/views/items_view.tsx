// A list of tools, prompts, resources or templates with a search field, and the selected item.

import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Item, ListKind } from "../model";
import { plainLine } from "../plain_text";
import { keyOf, lists, loadList, selected } from "../store";
import { Boundary } from "../widgets/boundary";
import { WindowedList } from "../widgets/windowed_list";
import { titleOf } from "./item_head";
import { PromptView } from "./prompt_view";
import { ResourceView, TemplateView } from "./resource_view";
import { ToolView } from "./tool_view";

const ROW_HEIGHT = 52;

const searches = {
  tools: signal(""),
  prompts: signal(""),
  resources: signal(""),
  templates: signal(""),
};

interface Row {
  key: string;
  item: Item;
  title: string;
  description: string;
  searched: string;
}

/** Returns the rows whose text contains all words. A match in the name comes first. */
export function filterRows(rows: Row[], search: string): Row[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  const found = rows.filter((row) => words.every((word) => row.searched.includes(word)));
  const inName = (row: Row) => words.every((word) => row.key.toLowerCase().includes(word));
  return [...found.filter(inName), ...found.filter((row) => !inName(row))];
}

export function ItemsView(props: { kind: ListKind }) {
  const { kind } = props;
  const list = lists[kind].value;
  const search = searches[kind];
  const chosen = selected[kind];
  const rows = useMemo(() => list.items.map((item) => rowOf(kind, item)), [list.items, kind]);
  const found = useMemo(() => filterRows(rows, search.value), [rows, search.value]);
  const current = rows.find((row) => row.key === chosen.value);
  return (
    <div class={`split${current ? " has-item" : ""}`}>
      <section class="list" aria-label={`List of ${kind}`}>
        <div class="toolbar">
          <input
            type="search"
            id="search"
            aria-label={`Search ${kind}`}
            placeholder="Search ( / )"
            aria-controls={found.length > 0 ? `list-${kind}` : undefined}
            value={search.value}
            onInput={(event) => {
              search.value = event.currentTarget.value;
            }}
            onKeyDown={(event) => {
              if (event.key === "Enter" && found[0]) chosen.value = found[0].key;
              if (event.key === "ArrowDown") {
                event.preventDefault();
                if (found[0] && !found.some((row) => row.key === chosen.value)) chosen.value = found[0].key;
                document.getElementById(`list-${kind}`)?.focus();
              }
            }}
          />
          <button type="button" class="small" onClick={() => void loadList(kind)} aria-label={`Load ${kind} again`}>
            ⟳
          </button>
        </div>
        <p class="hint count" role="status">
          {list.loading ? "Loading …" : `${found.length} of ${rows.length} ${kind}`}
        </p>
        {list.error && (
          <p class="error" role="alert">
            {plainLine(list.error)}
          </p>
        )}
        {found.length > 0 && (
          <WindowedList
            id={`list-${kind}`}
            label={kind}
            rows={found}
            rowHeight={ROW_HEIGHT}
            keyOf={(row) => row.key}
            selected={chosen.value}
            onSelect={(row) => {
              chosen.value = row.key;
            }}
            render={(row) => (
              <>
                <span class="row-title">{row.title}</span>
                <span class="row-text">{row.description}</span>
              </>
            )}
          />
        )}
      </section>
      <section class="details" aria-label="Selected item">
        {current ? (
          <Boundary key={current.key} name="This item">
            <Selected kind={kind} item={current.item} />
          </Boundary>
        ) : (
          <p class="hint">Select an item of the list.</p>
        )}
      </section>
    </div>
  );
}

function rowOf(kind: ListKind, item: Item): Row {
  const key = keyOf(kind, item);
  const description = typeof item.description === "string" ? item.description.slice(0, 300) : "";
  const isAddress = kind === "resources" || kind === "templates";
  const title = plainLine(titleOf(item) || key);
  return {
    key,
    item,
    title,
    description: plainLine(isAddress ? key : description),
    searched: `${key} ${title} ${description}`.toLowerCase(),
  };
}

function Selected(props: { kind: ListKind; item: Item }) {
  switch (props.kind) {
    case "tools":
      return <ToolView tool={props.item} />;
    case "prompts":
      return <PromptView prompt={props.item} />;
    case "resources":
      return <ResourceView resource={props.item} />;
    case "templates":
      return <TemplateView template={props.item} />;
  }
}
