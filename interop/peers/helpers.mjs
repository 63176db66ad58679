// Helpers of the checks: reading results, waiting for conditions, and recognising progress notifications.

import assert from 'node:assert/strict';

export function isProgress(message, token) {
  return message.method === 'notifications/progress' && [undefined, message.params.progressToken].includes(token);
}

/** Starts the error that both SDKs report for progress of a call that is not running. The notification follows. */
export const LATE_PROGRESS = 'Error: Received a progress notification for an unknown token: ';

/** Returns the tokens of progress that arrived after the SDK had removed the callback. */
export function lateTokens({ transportErrors }) {
  return transportErrors
    .filter(error => error.startsWith(LATE_PROGRESS))
    .map(error => JSON.parse(error.slice(LATE_PROGRESS.length)).params.progressToken);
}

export async function activeCountdowns(client) {
  // With several nodes, a balancer sends each request to the next node, and each node counts its own.
  const nodes = Number(process.env.TOOLWIRE_NODES ?? 1);
  let active = 0;
  for (let node = 0; node < nodes; node += 1) {
    const text = textOf(await client.callTool({ name: 'active', arguments: {} }));
    const number = text.match(/\d+/);
    assert.ok(number, `active returned ${JSON.stringify(text)}`);
    active += Number(number[0]);
  }
  return active;
}

export function textOf(result) {
  return result.content.filter(block => block.type === 'text').map(block => block.text).join('');
}

/** Returns a promise and the function that resolves it. */
export function signal() {
  let fire;
  const fired = new Promise(resolve => { fire = () => resolve(); });
  return { fired, fire };
}

/** Polls until the condition is true. The timeout of the check ends the loop. */
export async function until(condition) {
  while (!(await condition())) await new Promise(resolve => setTimeout(resolve, 25));
}
