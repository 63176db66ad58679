// The heading of an item, with the way back to the list on narrow screens.

import type { Json, JsonObject } from "../json";
import type { ListKind } from "../model";
import { plainLine } from "../plain_text";
import { selected, view } from "../store";

export function ItemHead(props: { title: Json; name: string }) {
  const { title, name } = props;
  const back = () => {
    const kind = view.value as ListKind;
    selected[kind].value = undefined;
  };
  return (
    <header class="item-head">
      <button type="button" class="small back" onClick={back}>
        ← List
      </button>
      <h2 id="item-title">{plainLine(String(title))}</h2>
      {String(title) !== name && <code>{plainLine(name)}</code>}
    </header>
  );
}

/** Returns the title of an item for lists. */
export function titleOf(item: JsonObject): string {
  return typeof item.title === "string" ? item.title : typeof item.name === "string" ? item.name : "";
}
