// Any release of the TypeScript SDK up to 1.x as the client of `toolwire demo`.
//
//     node typescript_client.mjs <package> <revision> stdio <command> [arguments...] | http <url> | sse <url>

import { runChecks } from './checks.mjs';

const [sdk, revision, wire, target, ...args] = process.argv.slice(2);
const { Client } = await import(`${sdk}/client/index.js`);

const TRANSPORTS = {
  stdio: async () => {
    const { StdioClientTransport } = await import(`${sdk}/client/stdio.js`);
    return new StdioClientTransport({ command: target, args, stderr: 'inherit' });
  },
  http: async () => {
    const { StreamableHTTPClientTransport } = await import(`${sdk}/client/streamableHttp.js`);
    return new StreamableHTTPClientTransport(new URL(target));
  },
  sse: async () => {
    // The oldest releases expect this name of browsers.
    globalThis.EventSource ??= (await import('eventsource')).EventSource;
    const { SSEClientTransport } = await import(`${sdk}/client/sse.js`);
    return new SSEClientTransport(new URL(target));
  },
};

if (!TRANSPORTS[wire] || !target) {
  throw new Error('usage: node typescript_client.mjs <package> <revision> stdio|http|sse <command|url> [arguments...]');
}
/** A transport that records the result of `initialize`, because the client does not expose the revision. */
class RecordingTransport {
  constructor(inner) { this.inner = inner; }

  get sessionId() { return this.inner.sessionId; }

  start() {
    this.inner.onclose = () => this.onclose?.();
    this.inner.onerror = error => this.onerror?.(error);
    this.inner.onmessage = (message, extra) => {
      if (message.result?.protocolVersion) this.initializeResult = message.result;
      this.onmessage?.(message, extra);
    };
    return this.inner.start();
  }

  send(message, options) { return this.inner.send(message, options); }

  setProtocolVersion(version) { this.inner.setProtocolVersion?.(version); }

  async close() {
    // Older releases have no sessions.
    await this.inner.terminateSession?.();
    await this.inner.close();
  }
}

const client = new Client({ name: 'interop-release', version: '1.0.0' }, { capabilities: {} });
const transport = new RecordingTransport(await TRANSPORTS[wire]());

await runChecks({
  async connect() {
    await client.connect(transport);
    const { protocolVersion, serverInfo } = transport.initializeResult;
    return { revision: protocolVersion, server: serverInfo.name };
  },
  listTools: () => client.listTools(),
  callTool: (name, parameters) => client.callTool({ name, arguments: parameters }),
  listResources: () => client.listResources(),
  readResource: uri => client.readResource({ uri }),
  getPrompt: (name, parameters) => client.getPrompt({ name, arguments: parameters }),
  isUnknownTool: error => error.code === -32602,
  isMissingResource: error => error.code === -32002,
  close: () => client.close(),
}, revision);
