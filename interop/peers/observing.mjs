// What the checks share: to read an answer, to wait for something, to tell what is progress.

import assert from 'node:assert/strict';

export function isProgress(message, token) {
  return message.method === 'notifications/progress' && [undefined, message.params.progressToken].includes(token);
}

/** How both SDKs report progress for a call that is not running, with the notification behind it. */
export const TOO_LATE = 'Error: Received a progress notification for an unknown token: ';

/** The tokens of the progress that the SDK had no callback for any more. */
export function tokensTooLate({ transportErrors }) {
  return transportErrors
    .filter(error => error.startsWith(TOO_LATE))
    .map(error => JSON.parse(error.slice(TOO_LATE.length)).params.progressToken);
}

export async function activeCountdowns(client) {
  const text = textOf(await client.callTool({ name: 'active', arguments: {} }));
  const number = text.match(/\d+/);
  assert.ok(number, `active answers ${JSON.stringify(text)}`);
  return Number(number[0]);
}

export function textOf(result) {
  return result.content.filter(block => block.type === 'text').map(block => block.text).join('');
}

/** A promise that is resolved from outside. */
export function signal() {
  let fire;
  const fired = new Promise(resolve => { fire = () => resolve(); });
  return { fired, fire };
}

/** Asks again until the answer is yes; the timeout of the check ends it otherwise. */
export async function until(condition) {
  while (!(await condition())) await new Promise(resolve => setTimeout(resolve, 25));
}
