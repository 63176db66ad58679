// `@modelcontextprotocol/ext-tasks`, which adds tasks to TypeScript SDK 2.x, as the client: the extension of 2026-07-28,
// and the core tasks of 2025-11-25. It calls the tool `bake` of `toolwire demo`.

import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createApplicationInputHandler, createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { taskId } from '@modelcontextprotocol/ext-tasks/core';

import { exitOnClose, noTransportErrors } from './checks.mjs';
import { textOf } from './helpers.mjs';
import { close } from './http_checks.mjs';
import { main } from './run.mjs';

const NEWEST = '2026-07-28';
const CLIENT_INFO = { name: 'toolwire-interop-tasks', version: '1.0.0' };
const CAPABILITIES = { elicitation: {} };

/** Longer than a check, so that the task ends only because it is cancelled. */
const SLOW = { layers: 1000, delay_ms: 60_000 };

main(
  ({ mode, command, args, url, http }) => {
    const modern = mode === NEWEST;
    const versions = modern
      ? { versionNegotiation: { mode: { pin: NEWEST } } }
      : { supportedProtocolVersions: [mode] };
    const client = new Client(CLIENT_INFO, { capabilities: CAPABILITIES, ...versions });
    const transport = url
      ? new StreamableHTTPClientTransport(new URL(url), http)
      : new StdioClientTransport({ command, args, stderr: 'inherit' });
    return { client, transport, revision: mode, modern };
  },
  {
    demo: ({ url, modern }) => [
      ['negotiate', negotiate],
      ['task_completes', completes],
      // In 2025-11-25, a server asks during `tasks/result`. The package polls until the task has ended, and only then
      // sends that request.
      ...(modern ? [['task_asks', asks]] : []),
      ['task_is_cancelled', isCancelled],
      ['task_has_tool_error', hasToolError],
      ['unknown_task', unknownTask],
      ['no_transport_errors', noTransportErrors],
      url ? ['close', close] : ['exit_on_close', exitOnClose],
    ],
  },
);

async function negotiate(peer) {
  const { client, transport, revision, modern } = peer;
  await client.connect(transport);
  assert.equal(client.getNegotiatedProtocolVersion(), revision);
  peer.asked = [];
  const framing = { protocolVersion: revision, clientInfo: CLIENT_INFO, clientCapabilities: CAPABILITIES };
  peer.session = createTaskSessionFromClient(client, {
    endpointId: 'toolwire-demo',
    onInputRequest: createApplicationInputHandler({
      elicitation: ({ params }) => { peer.asked.push(params.message); return { action: 'accept', content: {} }; },
      sampling: () => { throw new Error('unexpected'); },
      roots: () => ({ roots: [] }),
    }),
    onError: error => peer.transportErrors.push(String(error)),
    ...(modern && { rawDispatch: rawDispatch(transport), v2RequestFraming: framing }),
  });
  assert.equal(peer.session.capabilities.execution, true);
  assert.equal(peer.session.capabilities.inputResponses, modern);
}

async function completes({ session }) {
  const { outcome } = await (await call(session, { layers: 2, delay_ms: 1 })).settle();
  assert.equal(outcome.status, 'completed');
  assert.equal(textOf(outcome.result), 'a cake of 2 layers');
}

async function asks(peer) {
  const { outcome } = await (await call(peer.session, { layers: 1, delay_ms: 1, ask: true })).settle();
  assert.equal(outcome.status, 'completed');
  assert.equal(textOf(outcome.result), 'a cake of 1 layers with icing');
  assert.deepEqual(peer.asked, ['Add icing?']);
}

async function isCancelled({ session }) {
  const execution = await call(session, SLOW);
  const task = session.task(execution.handle.taskId);
  await task.cancel();
  assert.equal((await task.snapshot()).status, 'cancelled');
  assert.equal((await execution.result()).status, 'cancelled');
}

/** An error of the tool is a result. 2025-11-25 reports such a task as failed, with the same result. */
async function hasToolError({ session, modern }) {
  const { outcome } = await (await call(session, { layers: 1, delay_ms: 1, degrees: 350 })).settle();
  if (!modern) {
    // In 2025-11-25 the task has failed, and this client does not request the result of such a task.
    assert.equal(outcome.status, 'failed');
    assert.equal(outcome.task.status, 'failed');
    return;
  }
  assert.equal(outcome.status, 'completed');
  assert.equal(outcome.result.isError, true);
  assert.equal(textOf(outcome.result), 'the cake burned');
}

async function unknownTask({ session }) {
  await assert.rejects(session.task(taskId('no-such-task')).snapshot(), error => codeOf(error) === -32602);
}

/** Calls the tool as a task. In 2026-07-28 the server decides, and the preference changes nothing. */
async function call(session, input) {
  const execution = await session.callTool('bake', input, { task: { preference: 'prefer' } });
  assert.equal(execution.kind, 'task');
  return execution;
}

function codeOf(error) {
  return error?.code ?? error?.error?.code ?? (error?.cause && codeOf(error.cause));
}

/** Sends requests beside those of the SDK, whose client rejects every result that is a task. */
function rawDispatch(transport) {
  const pending = new Map();
  let sent = 0;
  const next = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const finish = message.method === undefined ? pending.get(message.id) : undefined;
    if (finish === undefined) { next?.(message, extra); return; }
    pending.delete(message.id);
    finish(message);
  };
  return ({ method, params }, options) => new Promise((resolve, reject) => {
    sent += 1;
    const id = `task-request-${sent}`;
    pending.set(id, ({ result, error }) => resolve(error ? { kind: 'error', error } : { kind: 'result', result }));
    const headers = options?.context?.headers;
    transport.send({ jsonrpc: '2.0', id, method, params }, headers && { headers }).catch(error => {
      pending.delete(id);
      reject(error);
    });
  });
}
