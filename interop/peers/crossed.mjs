// The checks of a client with a server of another SDK, behind `toolwire proxy` or `toolwire gateway`. All these servers have
// the features in the same form. `TOOLWIRE_SERVER_NAME` is the name of the server that the client must see.

import assert from 'node:assert/strict';

import { isProgress, textOf } from './helpers.mjs';

export async function negotiate(peer) {
  await peer.connect();
  assert.equal(peer.client.getServerVersion()?.name, process.env.TOOLWIRE_SERVER_NAME);
  assert.equal(peer.negotiatedRevision(), peer.revision);
}

export async function listTools({ client }) {
  const { tools } = await client.listTools();
  const names = tools.map(tool => tool.name);
  for (const name of ['echo', 'count', 'fail']) assert.ok(names.includes(name), `${name} is not in ${names}`);
}

export async function callEcho({ client }) {
  const text = 'grüß dich, 世界\n"two" lines \u2028 and a tab\t';
  assert.equal(textOf(await client.callTool({ name: 'echo', arguments: { text } })), text);
}

export async function toolFailure({ client }) {
  const result = await client.callTool({ name: 'fail', arguments: { message: 'out of paper' } });
  assert.equal(result.isError, true);
  assert.match(textOf(result), /out of paper/);
}

export async function progress({ client, callOptions, wire }) {
  const result = await client.callTool(
    { name: 'count', arguments: { to: 3, delay_ms: 20 } },
    ...callOptions({ onprogress: () => {} }),
  );
  assert.equal(textOf(result), 'counted to 3');
  // Both SDKs may read progress together with the response, and then report it as late.
  const steps = wire.filter(message => isProgress(message)).map(({ params }) => params.progress);
  assert.deepEqual(steps, [1, 2, 3]);
}

export async function readResource({ client }) {
  const { contents } = await client.readResource({ uri: 'demo://motto' });
  assert.equal(contents[0].text, 'less is more');
}

export async function prompt({ client }) {
  const { messages } = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
  assert.equal(messages[0].content.text, 'Say hello to Ada.');
}

export async function elicit(peer) {
  let asked = 0;
  peer.onElicitation = ({ message }) => {
    asked += 1;
    assert.match(message, /Really deploy\?/);
    return { action: 'accept', content: { confirmed: true, note: 'now' } };
  };
  const result = await peer.client.callTool({ name: 'confirm', arguments: { question: 'Really deploy?' } });
  assert.equal(textOf(result), 'accept: true, note: now');
  assert.equal(asked, 1);
}

export async function close({ client }) {
  await client.close();
}
