// The input requests of the server during one call, and the responses of the user.

import type { InputExchange } from "../model";
import { plainLine, plainText } from "../plain_text";

export function Conversation(props: { inputs: readonly InputExchange[] | undefined }) {
  if (!props.inputs || props.inputs.length === 0) return null;
  return (
    <ol class="conversation" aria-label="Input requests of this call">
      {props.inputs.map((input, index) => (
        <li key={index}>
          <p class="prose">{input.message ? plainText(input.message) : input.kind}</p>
          <p>
            <span class="visually-hidden">Response: </span>
            <code>{plainLine(input.response)}</code>
          </p>
        </li>
      ))}
    </ol>
  );
}
