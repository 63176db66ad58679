// A TypeScript SDK as the client of a protected server: it logs in, calls a tool, and calls a tool with another scope.
//
//     node login.mjs ts1|ts2 <revision> <url>
//
// Prints `open <url>` when its user has to open a page, and `result <text>` for the text of each tool result.

import { createServer } from 'node:http';

const [sdk, revision, url] = process.argv.slice(2);

const { Client, StreamableHTTPClientTransport, UnauthorizedError } = sdk === 'ts2'
  ? await import('@modelcontextprotocol/client')
  : {
    ...await import('@modelcontextprotocol/sdk/client/index.js'),
    ...await import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ...await import('@modelcontextprotocol/sdk/client/auth.js'),
  };

const print = line => process.stdout.write(`${line}\n`);

/** The queries of the callback requests. */
const callbacks = [];
let onCallback = () => {};

const listener = createServer((request, response) => {
  callbacks.push(new URL(request.url, 'http://127.0.0.1').searchParams);
  response.end('You can close this page.');
  onCallback();
});
await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve));

async function nextCallback() {
  while (callbacks.length === 0) await new Promise(resolve => { onCallback = resolve; });
  return callbacks.shift();
}

/** Stores the data of the SDK in memory, and prints the page that the user has to open. */
class Login {
  redirectUrl = `http://127.0.0.1:${listener.address().port}/callback`;

  get clientMetadata() {
    return {
      client_name: `toolwire-interop-${sdk}`,
      application_type: 'native',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.storedTokens; }
  saveTokens(tokens) { this.storedTokens = tokens; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  discoveryState() { return this.discovery; }
  saveDiscoveryState(state) { this.discovery = state; }
  redirectToAuthorization(to) { print(`open ${to}`); }
}

const authProvider = new Login();
let client;
let transport;

async function connect() {
  const modern = revision === '2026-07-28';
  client = new Client(
    { name: 'toolwire-interop-login', version: '1.0.0' },
    modern ? { versionNegotiation: { mode: { pin: revision } } } : {},
  );
  transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  await client.connect(transport);
}

/** Runs `attempt`, and again after a login if the server requires one. */
async function authorized(attempt) {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const query = await nextCallback();
    await transport.finishAuth(sdk === 'ts2' ? query : query.get('code'));
    return attempt();
  }
}

async function printResult(name, args) {
  const { content } = await authorized(() => client.callTool({ name, arguments: args }));
  print(`result ${content[0].text}`);
}

await authorized(connect);
await printResult('who_calls', {});
await printResult('write', { text: 'a' });
await client.close();
listener.close();
listener.closeAllConnections();
