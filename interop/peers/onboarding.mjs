// The example `onboarding`: responds to three consecutive elicitations, with both TypeScript SDKs.

import assert from 'node:assert/strict';

import { textOf } from './helpers.mjs';

export async function negotiate(peer) {
  await peer.connect();
  assert.equal(peer.client.getServerVersion()?.name, 'onboarding');
  assert.equal(peer.negotiatedRevision(), peer.revision);
}

export async function welcome(peer) {
  const laptop = { action: 'accept', content: { inches: 16 } };
  const text = await callWelcome(peer, { name: 'Ada', team: 'Platform', desk: 1, laptop });
  assert.equal(text, 'Ada sits at desk 1 at Platform, with a laptop of 16 inches.');
}

export async function decline(peer) {
  const laptop = { action: 'decline' };
  const text = await callWelcome(peer, { name: 'Grace', team: 'Design', desk: 2, laptop });
  assert.equal(text, 'Grace sits at desk 2 at Design, with no laptop.');
}

async function callWelcome(peer, { name, team, desk, laptop }) {
  const responses = new Map([
    ['Who is new?', { action: 'accept', content: { name } }],
    [`Which team does ${name} join?`, { action: 'accept', content: { team } }],
    [`${name} has desk ${desk} at ${team}. Which laptop goes there?`, laptop],
  ]);
  const asked = [];
  peer.onElicitation = ({ message }) => {
    asked.push(message);
    return responses.get(message) ?? { action: 'cancel' };
  };
  const before = peer.wire.length;
  const result = await peer.client.callTool({ name: 'welcome', arguments: {} });
  assert.deepEqual(asked, [...responses.keys()]);
  // Modern revisions elicit with `input_required` results, legacy revisions with requests of the server.
  const received = peer.wire.slice(before);
  assert.equal(received.filter(message => message.result?.resultType === 'input_required').length, peer.modern ? 3 : 0);
  assert.equal(received.filter(message => message.method === 'elicitation/create').length, peer.modern ? 0 : 3);
  return textOf(result);
}
