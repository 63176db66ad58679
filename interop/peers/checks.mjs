// The checks of both TypeScript SDKs on every transport: one function per check, which throws if the check fails.
//
// The `peer` object of `ts1_client.mjs` and `ts2_client.mjs` hides the differences between the two SDKs.

import assert from 'node:assert/strict';

import { LATE_PROGRESS, activeCountdowns, isProgress, lateTokens, signal, textOf, until } from './helpers.mjs';

// Both SDKs wait this long for the server to exit before they send SIGTERM.
const SDK_SHUTDOWN_GRACE_MS = 2_000;

const CLOCK = 'demo://clock';

const TOOLS = [
  'active', 'echo', 'add', 'countdown', 'confirm', 'approve', 'summarise', 'fail', 'crash', 'blob', 'log', 'print',
  'route', 'bump', 'change_list', 'long_poll', 'bake',
];

export async function negotiate(peer) {
  await peer.connect();
  assert.equal(peer.client.getServerVersion()?.name?.length > 0, true, 'the server has no name');
  assert.equal(peer.negotiatedRevision(), peer.revision);
  const capabilities = peer.client.getServerCapabilities();
  for (const name of ['tools', 'resources', 'prompts']) assert.ok(capabilities[name], `no ${name} capability`);
  assert.equal(capabilities.resources.subscribe, true, 'resources.subscribe is not declared');
  if (peer.url) assert.equal(typeof peer.transport.sessionId, peer.hasSessions ? 'string' : 'undefined');
}

export async function listTools({ client }) {
  const { tools } = await client.listTools();
  const names = tools.map(tool => tool.name);
  assert.equal(names[0], 'active');
  assert.deepEqual(TOOLS.filter(name => !names.includes(name)), [], 'tools are missing');
  for (const tool of tools) assert.equal(tool.inputSchema.type, 'object', tool.name);
}

export async function callEcho({ client }) {
  const text = 'grüß dich, 世界\n"two" lines \u2028 and a tab\t';
  assert.equal(textOf(await client.callTool({ name: 'echo', arguments: { text } })), text);
}

export async function callAdd({ client }) {
  const result = await client.callTool({ name: 'add', arguments: { a: 2, b: 40 } });
  assert.match(textOf(result), /42/);
}

export async function structuredResult({ client }) {
  const { tools } = await client.listTools();
  assert.ok(tools.find(tool => tool.name === 'add').outputSchema?.properties?.sum, 'add has no output schema');
  // The SDK itself validates the structured content against the listed schema.
  const result = await client.callTool({ name: 'add', arguments: { a: -2, b: 5 } });
  assert.deepEqual(result.structuredContent, { sum: 3 });
}

export async function parallelCalls({ client }) {
  const texts = Array.from({ length: 32 }, (_, index) => `call ${index}`);
  const results = await Promise.all(texts.map(text => client.callTool({ name: 'echo', arguments: { text } })));
  assert.deepEqual(results.map(textOf), texts);
}

export async function toolFailure({ client }) {
  const result = await client.callTool({ name: 'fail', arguments: { message: 'out of paper' } });
  assert.equal(result.isError, true);
  assert.match(textOf(result), /out of paper/);
}

export async function handlerPanic({ client }) {
  await assert.rejects(client.callTool({ name: 'crash', arguments: {} }), { code: -32603 });
  assert.equal(textOf(await client.callTool({ name: 'echo', arguments: { text: 'still here' } })), 'still here');
}

export async function unknownTool({ client }) {
  await assert.rejects(client.callTool({ name: 'no-such-tool', arguments: {} }), { code: -32602 });
}

export async function invalidArguments({ client }) {
  // The model reads this error and tries again, so it is a result in every revision.
  const result = await client.callTool({ name: 'add', arguments: { a: 'two', b: 40 } });
  assert.equal(result.isError, true);
  assert.match(textOf(result), /\ba\b/);
}

export async function strayPrint(peer) {
  // SDK 2.x skips lines that are not JSON, so one of the printed lines is a message that it would deliver.
  const forged = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'forged' } };
  const before = peer.transportErrors.length;
  const delivered = [];
  peer.onLog = ({ data }) => delivered.push(data);
  await peer.client.callTool({ name: 'print', arguments: { text: `not json\n${JSON.stringify(forged)}\n` } });
  assert.equal(textOf(await peer.client.callTool({ name: 'echo', arguments: { text: 'after' } })), 'after');
  assert.deepEqual(peer.transportErrors.slice(before), []);
  assert.equal(delivered.includes('forged'), false, 'printed text reached the protocol');
}

export async function largeResult({ client }) {
  const bytes = 300_000;
  const result = await client.callTool({ name: 'blob', arguments: { bytes } });
  assert.notEqual(result.isError, true);
  assert.ok(JSON.stringify(result.content).length >= bytes, 'the result is too short');
}

export async function annotatedArguments({ client }) {
  const result = await client.callTool({ name: 'route', arguments: { region: 'eu-west', count: 3 } });
  assert.notEqual(result.isError, true);
  assert.match(JSON.stringify(result), /eu-west/);
}

export async function listResources({ client }) {
  const { resources } = await client.listResources();
  assert.ok(resources.some(resource => resource.uri === CLOCK), 'demo://clock is not listed');
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.some(template => template.uriTemplate === 'demo://notes/{name}'), 'no notes template');
}

export async function readResource(peer) {
  const { contents } = await peer.client.readResource({ uri: CLOCK });
  assert.equal(contents[0].uri, CLOCK);
  assert.ok(contents[0].text.length > 0);
}

export async function readTemplate({ client }) {
  const { contents } = await client.readResource({ uri: 'demo://notes/first' });
  assert.equal(contents[0].uri, 'demo://notes/first');
  assert.equal(typeof contents[0].text, 'string');
}

export async function missingResource(peer) {
  const uri = 'demo://nowhere';
  // SDK 2.x reports both codes as -32602, so the code is read from the received message.
  await assert.rejects(peer.client.readResource({ uri }), error => error.data?.uri === uri);
  assert.equal(peer.wire.findLast(message => message.error)?.error.code, peer.modern ? -32602 : -32002);
}

export async function prompt({ client }) {
  const { prompts } = await client.listPrompts();
  const greet = prompts.find(candidate => candidate.name === 'greet');
  assert.deepEqual(greet?.arguments?.map(argument => argument.name), ['name']);
  const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
  assert.match(messages[0].content.text, /Ada/);
}

export async function unknownPrompt({ client }) {
  await assert.rejects(client.getPrompt({ name: 'no-such-prompt', arguments: {} }), { code: -32602 });
  await assert.rejects(client.getPrompt({ name: 'greet', arguments: {} }), { code: -32602 });
}

export async function complete({ client }) {
  const valuesFor = async value => {
    const ref = { type: 'ref/prompt', name: 'greet' };
    return (await client.complete({ ref, argument: { name: 'name', value } })).completion.values;
  };
  const all = await valuesFor('');
  assert.ok(all.length > 0, 'there are no completions');
  const prefix = all[0].slice(0, 1);
  const narrowed = await valuesFor(prefix);
  assert.ok(narrowed.includes(all[0]), 'a matching value is missing');
  assert.deepEqual(narrowed.filter(value => !value.toLowerCase().startsWith(prefix.toLowerCase())), []);
}

export async function progress(peer) {
  const { client, callOptions } = peer;
  const seen = [];
  const result = await client.callTool(
    { name: 'countdown', arguments: { from: 4, delay_ms: 5 } },
    ...callOptions({ onprogress: step => seen.push(step.progress) }),
  );
  assert.equal(textOf(result), 'counted down from 4');
  const { progressToken } = peer.wire.findLast(message => isProgress(message)).params;
  const last = peer.wire.findIndex(message => message.id === progressToken && 'result' in message);
  const sent = peer.wire.slice(0, last).filter(message => isProgress(message, progressToken));
  assert.deepEqual(sent.map(({ params }) => params.progress), [1, 2, 3, 4]);
  // Each step reached the callback, or arrived so shortly before the result that the SDK had removed the callback.
  await until(() => seen.length + lateTokens(peer).filter(token => token === progressToken).length === 4);
  assert.deepEqual(seen, [1, 2, 3, 4].slice(0, seen.length));
}

export async function cancel(peer) {
  const { client, callOptions } = peer;
  assert.equal(await activeCountdowns(client), 0);
  const abort = new AbortController();
  const started = signal();
  const call = client.callTool(
    { name: 'countdown', arguments: { from: 100_000, delay_ms: 20 } },
    ...callOptions({ signal: abort.signal, onprogress: started.fire }),
  );
  const outcome = call.then(() => 'completed', () => 'cancelled');
  await started.fired;
  const { progressToken } = peer.wire.findLast(message => isProgress(message)).params;
  assert.equal(await activeCountdowns(client), 1);
  peer.cancelledTokens.add(progressToken);
  abort.abort('changed my mind');
  assert.equal(await outcome, 'cancelled');
  await until(async () => (await activeCountdowns(client)) === 0);
  // After the countdown has stopped, there are no more messages about it, and it got no response.
  const before = peer.wire.length;
  assert.equal(await activeCountdowns(client), 0);
  assert.deepEqual(peer.wire.slice(before).filter(message => isProgress(message)), []);
  assert.deepEqual(peer.wire.filter(message => message.id === progressToken && !message.method), []);
}

export async function sampling(peer) {
  peer.onSampling = ({ messages }) => {
    assert.match(JSON.stringify(messages), /a very long story/);
    return { role: 'assistant', model: 'interop', content: { type: 'text', text: 'short: the end' } };
  };
  const result = await peer.client.callTool({ name: 'summarise', arguments: { text: 'a very long story' } });
  assert.notEqual(result.isError, true, textOf(result));
  assert.match(textOf(result), /short: the end/);
}

export async function logging(peer) {
  const logged = [];
  peer.onLog = ({ level, data }) => logged.push({ level, data });
  const log = (message, extra) => peer.client.callTool({
    name: 'log', arguments: { level: 'warning', message }, ...extra,
  });
  if (peer.modern) {
    // Spec 2026-07-28, server/utilities/logging: without a level in the request nothing is logged.
    await log('too quiet');
    await log('loud enough', { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } });
  } else {
    await peer.client.setLoggingLevel('error');
    await log('too quiet');
    await peer.client.setLoggingLevel('info');
    await log('loud enough');
  }
  // Log messages arrive before the result of their call, on the same stream.
  assert.equal(logged.length, 1, JSON.stringify(logged));
  assert.equal(logged[0].level, 'warning');
  assert.match(JSON.stringify(logged[0].data), /loud enough/);
}

export async function subscribe(peer) {
  const updated = signal();
  peer.onResourceUpdated = ({ uri }) => { if (uri === CLOCK) updated.fire(); };
  const end = await peer.subscribe(CLOCK);
  await updated.fired;
  await end();
}

export async function unsubscribe(peer) {
  const end = await peer.subscribe(CLOCK);
  await end();
  // A response to a later request proves that the server has processed the end of the subscription. No notification may
  // arrive after it.
  await peer.readFresh(CLOCK);
  const late = [];
  peer.onResourceUpdated = ({ uri }) => late.push(uri);
  for (let changes = 0; changes < 2; changes += 1) {
    const before = (await peer.readFresh(CLOCK)).contents[0].text;
    await until(async () => (await peer.readFresh(CLOCK)).contents[0].text !== before);
  }
  assert.deepEqual(late, []);
}

export async function listChanged(peer) {
  const lists = ['tools', 'prompts', 'resources'];
  const received = [];
  peer.onListChanged = list => received.push(list);
  const end = await peer.watchLists();
  for (const list of lists) {
    // Added, then removed again.
    for (let change = 0; change < 2; change += 1) {
      const before = received.length;
      await peer.client.callTool({ name: 'change_list', arguments: { list } });
      await until(() => received.length > before);
    }
  }
  await end();
  assert.deepEqual(received, lists.flatMap(list => [list, list]));
}

export async function elicitAccept(peer) {
  assert.equal(await ask(peer, 'confirm', { action: 'accept', content: { confirmed: true } }), 'confirmed');
}

export async function elicitDecline(peer) {
  assert.equal(await ask(peer, 'confirm', { action: 'accept', content: { confirmed: false } }), 'not confirmed');
  assert.equal(await ask(peer, 'confirm', { action: 'decline' }), 'not confirmed');
}

export async function elicitCancel(peer) {
  assert.equal(await ask(peer, 'confirm', { action: 'cancel' }), 'cancelled');
}

export async function approveAccept(peer) {
  assert.equal(await ask(peer, 'approve', { action: 'accept', content: { confirmed: true } }), 'approved');
}

export async function approveDecline(peer) {
  assert.equal(await ask(peer, 'approve', { action: 'accept', content: { confirmed: false } }), 'not approved');
  assert.equal(await ask(peer, 'approve', { action: 'decline' }), 'not approved');
}

export async function approveCancel(peer) {
  assert.equal(await ask(peer, 'approve', { action: 'cancel' }), 'cancelled');
}

async function ask(peer, name, response) {
  let asked = 0;
  peer.onElicitation = ({ message, requestedSchema }) => {
    asked += 1;
    assert.match(message, /Really deploy\?/);
    assert.equal(requestedSchema.properties.confirmed.type, 'boolean');
    return response;
  };
  const before = peer.wire.length;
  const result = await peer.client.callTool({ name, arguments: { question: 'Really deploy?' } });
  assert.equal(asked, 1, `asked ${asked} times`);
  // Modern revisions elicit with an `input_required` result, legacy revisions with a request of the server.
  const received = peer.wire.slice(before);
  assert.equal(received.filter(message => message.result?.resultType === 'input_required').length, peer.modern ? 1 : 0);
  assert.equal(received.filter(message => message.method === 'elicitation/create').length, peer.modern ? 0 : 1);
  return textOf(result);
}

export async function elicitUnsupported(peer) {
  // This client declares elicitation, but the revision has no elicitation.
  const before = peer.wire.length;
  for (const name of ['confirm', 'approve']) {
    await assert.rejects(peer.client.callTool({ name, arguments: { question: 'Really deploy?' } }), { code: -32600 });
  }
  assert.deepEqual(peer.wire.slice(before).filter(message => message.method), [], 'the server sent an elicitation');
}

export async function ping({ client }) {
  await client.ping();
}

export async function noTransportErrors(peer) {
  // The server must not send progress after the response of its call. Both SDKs run the handler of a notification
  // shortly after they read it. So the SDK may report progress that it reads together with the response as late, and
  // also progress that was sent before the server received a cancellation.
  const completed = new Set();
  for (const message of peer.wire) {
    if ('id' in message && !message.method) completed.add(message.id);
    assert.ok(!isProgress(message) || !completed.has(message.params.progressToken), JSON.stringify(message));
  }
  const sent = new Set(peer.wire.filter(message => isProgress(message)).map(({ params }) => params.progressToken));
  const unexplained = lateTokens(peer).filter(
    token => !sent.has(token) || !(completed.has(token) || peer.cancelledTokens.has(token)),
  );
  assert.deepEqual(unexplained, []);
  assert.deepEqual(peer.transportErrors.filter(error => !error.startsWith(LATE_PROGRESS)), []);
}

export async function exitOnClose(peer) {
  const start = performance.now();
  await peer.client.close();
  const elapsed = performance.now() - start;
  assert.ok(elapsed < SDK_SHUTDOWN_GRACE_MS, `the server had to be killed after ${Math.round(elapsed)} ms`);
}
