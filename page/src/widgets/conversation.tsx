// The input requests of the server during one call, and the responses of the user.

import { compact, isObject, parse, type Json } from "../json";
import type { InputExchange } from "../model";
import { plainLine, plainText } from "../plain_text";

export function Conversation(props: { inputs: readonly InputExchange[] | undefined }) {
  if (!props.inputs || props.inputs.length === 0) return null;
  return (
    <ol class="conversation" aria-label="Input requests of this call">
      {props.inputs.map((input, index) => (
        <li key={index}>
          <p class="prose">{input.message ? plainText(input.message) : input.kind}</p>
          <p class="response">
            <span class="visually-hidden">Response: </span>
            <span>{plainLine(responseText(input.response))}</span>
          </p>
        </li>
      ))}
    </ol>
  );
}

const ACTIONS: Record<string, string> = { accept: "accepted", decline: "declined", cancel: "cancelled" };

/** Returns a response as a line for people. `response` is the beginning of its JSON, and stays as it is if that is not whole. */
export function responseText(response: string): string {
  let value: Json;
  try {
    value = parse(response);
  } catch {
    return response;
  }
  if (!isObject(value)) return response;
  const { action, content, type, text, message } = value;
  if (typeof action === "string") {
    const members = isObject(content) ? Object.entries(content) : [];
    const values = members.map(([name, member]) => `${name} = ${typeof member === "string" ? member : compact(member)}`);
    return [ACTIONS[action] ?? action, values.join(", ")].filter(Boolean).join(": ");
  }
  if (type === "text" && typeof text === "string") return text;
  return typeof message === "string" ? `rejected: ${message}` : response;
}
