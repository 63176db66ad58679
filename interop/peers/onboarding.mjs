// The example `onboarding`: three questions that build on each other, answered as both TypeScript SDKs have it.

import assert from 'node:assert/strict';

import { textOf } from './observing.mjs';

export async function negotiate(peer) {
  await peer.connect();
  assert.equal(peer.client.getServerVersion()?.name, 'onboarding');
  assert.equal(peer.negotiatedRevision(), peer.revision);
}

export async function welcome(peer) {
  const laptop = { action: 'accept', content: { inches: 16 } };
  const text = await answering(peer, { name: 'Ada', team: 'Platform', desk: 1, laptop });
  assert.equal(text, 'Ada sits at desk 1 at Platform, with a laptop of 16 inches.');
}

export async function decline(peer) {
  const laptop = { action: 'decline' };
  const text = await answering(peer, { name: 'Grace', team: 'Design', desk: 2, laptop });
  assert.equal(text, 'Grace sits at desk 2 at Design, with no laptop.');
}

async function answering(peer, { name, team, desk, laptop }) {
  const answers = new Map([
    ['Who is new?', { action: 'accept', content: { name } }],
    [`Which team does ${name} join?`, { action: 'accept', content: { team } }],
    [`${name} has desk ${desk} at ${team}. Which laptop goes there?`, laptop],
  ]);
  const asked = [];
  peer.answerElicitation = ({ message }) => {
    asked.push(message);
    return answers.get(message) ?? { action: 'cancel' };
  };
  const before = peer.wire.length;
  const result = await peer.client.callTool({ name: 'welcome', arguments: {} });
  assert.deepEqual(asked, [...answers.keys()]);
  // Asked the way the revision has: in results that wait for input, or with requests of the server's own.
  const received = peer.wire.slice(before);
  assert.equal(received.filter(message => message.result?.resultType === 'input_required').length, peer.modern ? 3 : 0);
  assert.equal(received.filter(message => message.method === 'elicitation/create').length, peer.modern ? 0 : 3);
  return textOf(result);
}
