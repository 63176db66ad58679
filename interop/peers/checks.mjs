// What both TypeScript SDKs check on every transport: one function per check, which throws when the server is wrong.
//
// What differs between the two SDKs is behind the `peer` object that `ts1_client.mjs` and `ts2_client.mjs` build.

import assert from 'node:assert/strict';

import { TOO_LATE, activeCountdowns, isProgress, signal, textOf, tokensTooLate, until } from './observing.mjs';

// Both SDKs wait this long for the server to leave on its own before they send SIGTERM.
const SDK_SHUTDOWN_GRACE_MS = 2_000;

const CLOCK = 'demo://clock';

const TOOLS = [
  'active', 'echo', 'add', 'countdown', 'confirm', 'approve', 'summarise', 'fail', 'crash', 'blob', 'log', 'print',
  'route', 'bump', 'change_list', 'long_poll',
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
  // The model is to read this and try again, so it is a result on every revision.
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
  // SDK 2.x shows both codes as -32602 once it has recognised the error, so the code is read from the wire.
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
  assert.ok(all.length > 0, 'nothing is suggested');
  const prefix = all[0].slice(0, 1);
  const narrowed = await valuesFor(prefix);
  assert.ok(narrowed.includes(all[0]), 'a matching value is gone');
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
  // Each step reached the callback, or came so close to the result that the SDK had dropped the callback.
  await until(() => seen.length + tokensTooLate(peer).filter(token => token === progressToken).length === 4);
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
  const outcome = call.then(() => 'answered', () => 'cancelled');
  await started.fired;
  const { progressToken } = peer.wire.findLast(message => isProgress(message)).params;
  assert.equal(await activeCountdowns(client), 1);
  peer.cancelledTokens.add(progressToken);
  abort.abort('changed my mind');
  assert.equal(await outcome, 'cancelled');
  await until(async () => (await activeCountdowns(client)) === 0);
  // Once the countdown is gone nothing more is said about it, and it never was answered.
  const before = peer.wire.length;
  assert.equal(await activeCountdowns(client), 0);
  assert.deepEqual(peer.wire.slice(before).filter(message => isProgress(message)), []);
  assert.deepEqual(peer.wire.filter(message => message.id === progressToken && !message.method), []);
}

export async function sampling(peer) {
  peer.answerSampling = ({ messages }) => {
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
  // Messages come before the result of their call, on one pipe.
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
  // An answered request after the end proves that the server has read it; what comes later is too much.
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
  const heard = [];
  peer.onListChanged = list => heard.push(list);
  const end = await peer.watchLists();
  for (const list of lists) {
    // Added, then removed again.
    for (let change = 0; change < 2; change += 1) {
      const before = heard.length;
      await peer.client.callTool({ name: 'change_list', arguments: { list } });
      await until(() => heard.length > before);
    }
  }
  await end();
  assert.deepEqual(heard, lists.flatMap(list => [list, list]));
}

export async function elicitAccept(peer) {
  assert.equal(await ask(peer, 'confirm', { action: 'accept', content: { confirmed: true } }), 'confirmed');
}

export async function elicitRefuse(peer) {
  assert.equal(await ask(peer, 'confirm', { action: 'accept', content: { confirmed: false } }), 'not confirmed');
  assert.equal(await ask(peer, 'confirm', { action: 'decline' }), 'not confirmed');
}

export async function elicitCancel(peer) {
  assert.equal(await ask(peer, 'confirm', { action: 'cancel' }), 'cancelled');
}

export async function approveAccept(peer) {
  assert.equal(await ask(peer, 'approve', { action: 'accept', content: { confirmed: true } }), 'approved');
}

export async function approveRefuse(peer) {
  assert.equal(await ask(peer, 'approve', { action: 'accept', content: { confirmed: false } }), 'not approved');
  assert.equal(await ask(peer, 'approve', { action: 'decline' }), 'not approved');
}

export async function approveCancel(peer) {
  assert.equal(await ask(peer, 'approve', { action: 'cancel' }), 'cancelled');
}

async function ask(peer, name, answer) {
  let asked = 0;
  peer.answerElicitation = ({ message, requestedSchema }) => {
    asked += 1;
    assert.match(message, /Really deploy\?/);
    assert.equal(requestedSchema.properties.confirmed.type, 'boolean');
    return answer;
  };
  const before = peer.wire.length;
  const result = await peer.client.callTool({ name, arguments: { question: 'Really deploy?' } });
  assert.equal(asked, 1, `asked ${asked} times`);
  // Asked the way the revision has: in a result that waits for input, or with a request of the server's own.
  const received = peer.wire.slice(before);
  assert.equal(received.filter(message => message.result?.resultType === 'input_required').length, peer.modern ? 1 : 0);
  assert.equal(received.filter(message => message.method === 'elicitation/create').length, peer.modern ? 0 : 1);
  return textOf(result);
}

export async function elicitImpossible(peer) {
  // This client declares elicitation, but the revision does not know it.
  const before = peer.wire.length;
  for (const name of ['confirm', 'approve']) {
    await assert.rejects(peer.client.callTool({ name, arguments: { question: 'Really deploy?' } }), { code: -32600 });
  }
  assert.deepEqual(peer.wire.slice(before).filter(message => message.method), [], 'the server asked all the same');
}

export async function ping({ client }) {
  await client.ping();
}

export async function noTransportErrors(peer) {
  // Progress is out of place on the wire only behind the answer of its call. Both SDKs run the handler of a
  // notification a moment after they read it, so progress that is read together with the answer finds the call gone;
  // so does progress that crosses a cancellation.
  const answered = new Set();
  for (const message of peer.wire) {
    if ('id' in message && !message.method) answered.add(message.id);
    assert.ok(!isProgress(message) || !answered.has(message.params.progressToken), JSON.stringify(message));
  }
  const sent = new Set(peer.wire.filter(message => isProgress(message)).map(({ params }) => params.progressToken));
  const unexplained = tokensTooLate(peer).filter(
    token => !sent.has(token) || !(answered.has(token) || peer.cancelledTokens.has(token)),
  );
  assert.deepEqual(unexplained, []);
  assert.deepEqual(peer.transportErrors.filter(error => !error.startsWith(TOO_LATE)), []);
}

export async function exitOnClose(peer) {
  const start = performance.now();
  await peer.client.close();
  const elapsed = performance.now() - start;
  assert.ok(elapsed < SDK_SHUTDOWN_GRACE_MS, `the server had to be killed after ${Math.round(elapsed)} ms`);
}
