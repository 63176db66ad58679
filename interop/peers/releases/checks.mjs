// The checks of a client with `toolwire demo`, for every release with a script in JavaScript.
//
// Each check prints a line `{"check":"...","ok":true|false,"detail":"..."}`. The Rust tests list the expected names.

import assert from 'node:assert/strict';

const CHECK_TIMEOUT_MS = 20_000;

/**
 * Runs all checks. A peer has these functions: `connect` returns the revision and the name of the server, `listTools`,
 * `callTool`, `listResources`, `readResource` and `getPrompt` return results, `isUnknownTool` and `isMissingResource`
 * recognise errors, and `close` closes the connection.
 */
export async function runChecks(peer, revision) {
  const checks = [
    ['negotiate', async () => {
      assert.deepEqual(await peer.connect(), { revision, server: 'toolwire-demo' });
    }],
    ['list_tools', async () => {
      const names = (await peer.listTools()).tools.map(tool => tool.name);
      for (const name of ['echo', 'add', 'fail']) assert.ok(names.includes(name), `${name} is not in ${names}`);
    }],
    ['call_tool', async () => {
      const text = 'grüß dich, 世界';
      assert.equal(textOf(await peer.callTool('echo', { text })), text);
    }],
    ['tool_error', async () => {
      const result = await peer.callTool('fail', { message: 'out of paper' });
      assert.equal(result.isError, true);
      assert.match(textOf(result), /out of paper/);
    }],
    ['unknown_tool', async () => {
      await assert.rejects(peer.callTool('no-such-tool', {}), peer.isUnknownTool);
    }],
    ['list_resources', async () => {
      const uris = (await peer.listResources()).resources.map(resource => resource.uri);
      assert.ok(uris.includes('demo://clock'), `demo://clock is not in ${uris}`);
    }],
    ['read_resource', async () => {
      const { contents } = await peer.readResource('demo://notes/first');
      assert.equal(contents[0].text, 'This is the first note.');
    }],
    ['missing_resource', async () => {
      await assert.rejects(peer.readResource('demo://nowhere'), peer.isMissingResource);
    }],
    ['get_prompt', async () => {
      const { messages } = await peer.getPrompt('greet', { name: 'Ada' });
      assert.match(messages[0].content.text, /Ada/);
    }],
    ['close', () => peer.close()],
  ];
  let failures = 0;
  for (const [name, run] of checks) {
    const problem = await problemOf(run);
    process.stdout.write(`${JSON.stringify({ check: name, ok: problem === '', detail: problem })}\n`);
    failures += problem === '' ? 0 : 1;
    if (problem !== '' && name === 'negotiate') break;
  }
  process.exit(failures === 0 ? 0 : 1);
}

function textOf(result) {
  return result.content.filter(block => block.type === 'text').map(block => block.text).join('');
}

async function problemOf(run) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no result after ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([run(), timeout]);
    return '';
  } catch (error) {
    return String(error?.message ?? error);
  } finally {
    clearTimeout(timer);
  }
}
