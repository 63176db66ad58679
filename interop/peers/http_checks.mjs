// The checks of both TypeScript SDKs over HTTP only: streams, sessions and the origin check.
//
// A check that breaks a connection opens its own connection with `peer.open`.

import assert from 'node:assert/strict';

import { cuttingProxy } from './cutting_proxy.mjs';
import { activeCountdowns, isProgress, signal, textOf, until } from './helpers.mjs';

const SESSIONS = 6;
const CALLS_PER_SESSION = 10;

/** The number of calls in turn that succeed when a fault is over. */
const CALLS_AFTER_FAULT = 6;

/** The longest time until a change arrives: longer than any fault. The stream of the subscription may have been lost. */
const CHANGE_TIMEOUT_MS = 30_000;

export async function progressIsStreamed({ client, callOptions }) {
  // The countdown still runs when its first progress arrives, so the progress was not delayed until the result.
  const started = signal();
  const steps = [];
  const call = client.callTool(
    { name: 'countdown', arguments: { from: 20, delay_ms: 100 } },
    ...callOptions({ onprogress: step => { steps.push(step.progress); started.fire(); } }),
  );
  await started.fired;
  assert.equal(await activeCountdowns(client), 1);
  assert.ok(steps.length < 20, 'all progress arrived at once');
  assert.equal(textOf(await call), 'counted down from 20');
}

/** The calls go on until the test closes standard input, because all nodes of the server have been restarted. */
export async function callsDuringRestart({ client, callOptions, transport }) {
  const session = transport.sessionId;
  let isOver = false;
  process.stdin.once('end', () => { isOver = true; }).resume();
  for (let number = 0; !isOver; number += 1) {
    const text = `call ${number}`;
    assert.equal(textOf(await client.callTool({ name: 'echo', arguments: { text } })), text);
    const steps = [];
    const counted = await client.callTool(
      { name: 'countdown', arguments: { from: 3, delay_ms: 20 } },
      ...callOptions({ onprogress: step => steps.push(step.progress) }),
    );
    assert.equal(textOf(counted), 'counted down from 3');
    assert.deepEqual(steps, [1, 2, 3]);
  }
  assert.equal(transport.sessionId, session);
}

/**
 * Nodes or the store of the server fail until the test closes standard input. The operations may fail as often as the test
 * permits, but each must end in time, and afterwards they succeed again, in the same session unless the test permits its
 * loss.
 */
export async function callsDuringFault(peer) {
  const { transport, revision } = peer;
  const session = transport.sessionId;
  const limit = process.env.TOOLWIRE_PERMITTED_FAILURES;
  const mayLoseSession = process.env.TOOLWIRE_SESSION_MAY_BE_LOST === '1';
  let isOver = false;
  process.stdin.once('end', () => { isOver = true; }).resume();
  const operations = [echoes, reportsProgress, respondsToInputRequest, cancelsCall, seesChange];
  const failures = [];
  let successes = 0;
  for (let number = 0; successes < CALLS_AFTER_FAULT; number += 1) {
    const afterFault = isOver;
    const operation = operations[number % operations.length];
    try {
      await operation(peer, number);
      successes = afterFault ? successes + 1 : 0;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      if (afterFault && mayLoseSession && /session/i.test(String(error))) {
        // There is nothing to end on close.
        peer.hasSessions = false;
        return;
      }
      // The state of a call in several rounds can be used once, which needs the store in every revision.
      const needsStore = operation === respondsToInputRequest && process.env.TOOLWIRE_STORE_FAILS === '1';
      if (!needsStore) failures.push(`${operation.name}: ${error}`);
      successes = 0;
    }
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  assert.ok(limit === 'any' || failures.length <= Number(limit), `${revision}: ${failures.length} failures: ${failures.join(', ')}`);
  assert.equal(transport.sessionId, session);
}

async function echoes({ client }, number) {
  const text = `call ${number}`;
  const result = await client.callTool({ name: 'echo', arguments: { text } });
  assert.equal(textOf(result), text);
}

async function reportsProgress({ client, callOptions }) {
  const steps = [];
  const counted = await client.callTool(
    { name: 'countdown', arguments: { from: 3, delay_ms: 20 } },
    ...callOptions({ onprogress: step => steps.push(step.progress) }),
  );
  assert.equal(textOf(counted), 'counted down from 3');
  assert.deepEqual(steps, [1, 2, 3]);
}

async function respondsToInputRequest(peer) {
  peer.onElicitation = () => ({ action: 'accept', content: { confirmed: true } });
  const result = await peer.client.callTool({ name: 'approve', arguments: { question: 'Really?' } });
  assert.equal(textOf(result), 'approved');
}

async function cancelsCall({ client, callOptions }) {
  const abort = new AbortController();
  const started = signal();
  const call = client.callTool(
    { name: 'countdown', arguments: { from: 500, delay_ms: 20 } },
    ...callOptions({ signal: abort.signal, onprogress: started.fire }),
  );
  const outcome = call.then(() => 'completed', error => error);
  const first = await Promise.race([started.fired, outcome]);
  if (first !== undefined) throw first;
  abort.abort('changed my mind');
  assert.notEqual(await outcome, 'completed');
}

async function seesChange(peer) {
  // Legacy clients of this SDK open the stream of their session only a few times, and then get no changes any more.
  if (!peer.modern) return;
  const updated = signal();
  peer.onResourceUpdated = updated.fire;
  const end = await peer.subscribe('demo://counter');
  await peer.client.callTool({ name: 'bump', arguments: {} });
  const timeout = new Promise(resolve => setTimeout(resolve, CHANGE_TIMEOUT_MS, 'timeout'));
  // The node of the subscription may be killed before it delivers the change.
  if (await Promise.race([updated.fired, timeout]) === 'timeout') throw new Error('no change arrived');
  await end();
}

export async function parallelSessions(peer) {
  // All sessions use the same request ids at the same time.
  const peers = await Promise.all(Array.from({ length: SESSIONS }, () => connected(peer.open())));
  await Promise.all(peers.map((each, index) => useSession(each, `session ${index}`)));
  const sessions = peers.map(({ transport }) => transport.sessionId);
  const different = new Set([...sessions, peer.transport.sessionId]);
  assert.equal(different.size, peer.hasSessions ? SESSIONS + 1 : 1, [...different].join());
  await Promise.all(peers.map(each => each.client.close()));
}

async function useSession(peer, name) {
  const { client, callOptions, revision } = peer;
  const texts = Array.from({ length: CALLS_PER_SESSION }, (_, index) => `${name}, call ${index}`);
  const from = 3 + Number(name.at(-1));
  const asked = [];
  peer.onElicitation = ({ message }) => {
    asked.push(message);
    return { action: 'accept', content: { confirmed: true } };
  };
  const [counted, confirmed, ...echoed] = await Promise.all([
    client.callTool({ name: 'countdown', arguments: { from, delay_ms: 5 } }, ...callOptions({ onprogress: () => {} })),
    revision >= '2025-06-18' ? client.callTool({ name: 'confirm', arguments: { question: name } }) : undefined,
    ...texts.map(text => client.callTool({ name: 'echo', arguments: { text } })),
  ]);
  assert.deepEqual(echoed.map(textOf), texts);
  assert.equal(textOf(counted), `counted down from ${from}`);
  const steps = peer.wire.filter(message => isProgress(message)).map(({ params }) => params.progress);
  assert.deepEqual(steps, Array.from({ length: from }, (_, index) => index + 1));
  if (confirmed === undefined) return;
  assert.equal(textOf(confirmed), 'confirmed');
  assert.equal(asked.length, 1);
  assert.match(asked[0], new RegExp(name));
}

export async function originRejected(peer) {
  const attacker = peer.open({ http: { requestInit: { headers: { Origin: 'http://attacker.example' } } } });
  await assert.rejects(async () => {
    await attacker.connect();
    await attacker.client.callTool({ name: 'echo', arguments: { text: 'let me in' } });
  });
  assert.deepEqual([...new Set(attacker.requests.map(({ status }) => status))], [403]);
  await attacker.client.close();
}

export async function releasedStream(peer) {
  // Only clients of 2025-11-25 can resume a released stream. For other clients, nothing is released.
  const caller = await connected(peer.open());
  const result = await caller.client.callTool({ name: 'long_poll', arguments: { delay_ms: 1000 } });
  const canResume = peer.revision === '2025-11-25';
  assert.equal(textOf(result), canResume ? 'stream released' : 'stream not released');
  const polls = caller.requests.filter(({ lastEventId }) => lastEventId);
  assert.equal(polls.length > 0, canResume, JSON.stringify(caller.requests));
  await caller.client.close();
}

export async function cancelledStreamEnds(peer) {
  // The stream of a cancelled call ends without a response. Both SDKs then resume it with the last event id, until the
  // server responds with 204 (no content).
  const { client, callOptions, requests } = await connected(peer.open());
  const abort = new AbortController();
  const started = signal();
  const call = client.callTool(
    { name: 'countdown', arguments: { from: 100_000, delay_ms: 20 } },
    ...callOptions({ signal: abort.signal, onprogress: started.fire }),
  );
  const outcome = call.then(() => 'completed', () => 'cancelled');
  await started.fired;
  abort.abort('changed my mind');
  assert.equal(await outcome, 'cancelled');
  const polls = () => requests.filter(({ lastEventId, status }) => lastEventId && status);
  await until(() => polls().length > 0);
  assert.deepEqual(polls().map(({ status }) => status), [204]);
  await client.close();
}

export async function resumeAfterCut(peer) {
  const proxy = await cuttingProxy(peer.url, 'notifications/progress');
  const caller = await connected(peer.open({ url: proxy.url }));
  // The call still runs when the SDK reconnects after a second: some events are replayed, the others are new.
  const result = await caller.client.callTool(
    { name: 'countdown', arguments: { from: 8, delay_ms: 250 } },
    ...caller.callOptions({ onprogress: () => {} }),
  );
  assert.equal(textOf(result), 'counted down from 8');
  assert.equal(proxy.cuts, 1);
  // Events that were lost with the connection are replayed, and no event arrives twice.
  const steps = caller.wire.filter(message => isProgress(message)).map(({ params }) => params.progress);
  assert.deepEqual(steps, [1, 2, 3, 4, 5, 6, 7, 8]);
  const resumed = caller.requests.filter(({ lastEventId }) => lastEventId);
  assert.deepEqual(resumed.map(({ method, status }) => ({ method, status })), [{ method: 'GET', status: 200 }]);
  await caller.client.close();
  proxy.close();
}

export async function listeningResumes(peer) {
  const uri = 'demo://counter';
  const proxy = await cuttingProxy(peer.url, 'notifications/resources/updated');
  const listener = await connected(peer.open({ url: proxy.url }));
  let updates = 0;
  listener.onResourceUpdated = () => { updates += 1; };
  await listener.subscribe(uri);
  // Changes are sent from the moment on when the stream is open. The SDK opens it in the background.
  await until(() => listener.requests.some(({ method, status }) => method === 'GET' && status === 200));
  // Another client changes the resource. The second notification breaks the connection and is replayed.
  for (const expected of [1, 2]) {
    await peer.client.callTool({ name: 'bump', arguments: {} });
    await until(() => updates === expected);
  }
  assert.equal(proxy.cuts, 1);
  const resumed = listener.requests.filter(({ lastEventId }) => lastEventId);
  assert.deepEqual(resumed.map(({ method, status }) => ({ method, status })), [{ method: 'GET', status: 200 }]);
  await listener.client.close();
  proxy.close();
}

export async function sessionEnd(peer) {
  const first = await connected(peer.open());
  const { sessionId } = first.transport;
  await first.transport.terminateSession();
  assert.equal(first.requests.find(({ method }) => method === 'DELETE')?.status, 204);
  await first.client.close();
  // A client with a session id does not initialize the session again.
  const other = await connected(peer.open({ http: { sessionId, protocolVersion: peer.revision } }));
  await assert.rejects(other.client.callTool({ name: 'echo', arguments: { text: 'still there?' } }), /session/i);
  assert.deepEqual(other.requests.map(({ method, status }) => ({ method, status })), [{ method: 'POST', status: 404 }]);
  await other.client.close();
  // The other sessions are still open.
  assert.equal(textOf(await peer.client.callTool({ name: 'echo', arguments: { text: 'here' } })), 'here');
}

export async function close({ client, transport, requests, hasSessions }) {
  if (hasSessions) {
    // The SDKs do not end the session on close. The application has to.
    await transport.terminateSession();
    assert.equal(requests.findLast(({ method }) => method === 'DELETE')?.status, 204);
  }
  await client.close();
}

async function connected(peer) {
  await peer.connect();
  return peer;
}
