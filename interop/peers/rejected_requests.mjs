// A plain HTTP client (fetch of Node) of a protected server. It is rejected with 401, reads the metadata and sends a
// token.
//
// usage: node rejected_requests.mjs <url> <token> <sequences>
//
// Prints `sequences <count>, connections <count>` at the end.

import diagnosticsChannel from 'node:diagnostics_channel';

const SIZES = [100, 1000, 9000, 300, 20_000, 3000, 100_000, 500];

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'who_calls',
};

const [url, token, count] = process.argv.slice(2);
const sequences = Number(count);
const metadata = new URL(`/.well-known/oauth-protected-resource${new URL(url).pathname}`, url);

let connections = 0;
diagnosticsChannel.subscribe('undici:client:connected', () => (connections += 1));

/** Returns a size from 100 bytes to 1 MB. The largest size is used for one of 50 sequences. */
function sizeOf(sequence) {
  return sequence % 50 === 49 ? 1_000_000 : SIZES[sequence % SIZES.length];
}

function bodyOf(size) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'who_calls', arguments: { padding: 'x'.repeat(size) }, _meta: meta };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
}

async function expect(status, target, init) {
  const response = await fetch(target, init);
  const text = await response.text();
  if (response.status !== status) {
    throw new Error(`status ${response.status} instead of ${status}: ${text}`);
  }
}

for (let sequence = 0; sequence < sequences; sequence += 1) {
  const body = bodyOf(sizeOf(sequence));
  await expect(401, url, { method: 'POST', headers: HEADERS, body });
  await expect(200, metadata);
  const headers = { ...HEADERS, authorization: `Bearer ${token}` };
  await expect(200, url, { method: 'POST', headers, body });
}
console.log(`sequences ${sequences}, connections ${connections}`);
