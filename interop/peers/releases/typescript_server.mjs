// A small server with any release of the TypeScript SDK up to 1.x: two tools, a resource and a prompt.
//
//     node typescript_server.mjs <package> stdio | http <port> | sse <port>
//
// It uses the low-level API, which is the same in all these releases.

import { randomUUID } from 'node:crypto';

import { bodyOf, listen, reject, sessions } from '../servers/http_server.mjs';

const [sdk, wire, port] = process.argv.slice(2);
const { Server } = await import(`${sdk}/server/index.js`);
const types = await import(`${sdk}/types.js`);

const TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const TOOLS = [
  { name: 'echo', description: 'Repeats a text.', inputSchema: TEXT },
  { name: 'fail', description: 'Fails with a text.', inputSchema: TEXT },
];
const MOTTO = { uri: 'demo://motto', name: 'motto', mimeType: 'text/plain' };
const GREET = { name: 'greet', arguments: [{ name: 'name', required: true }] };

function newServer() {
  const server = new Server(
    { name: 'interop-release', version: '1.0.0' },
    { capabilities: { tools: {}, resources: {}, prompts: {} } },
  );
  server.setRequestHandler(types.ListToolsRequestSchema, async () => ({ tools: TOOLS }));
  server.setRequestHandler(types.CallToolRequestSchema, async ({ params }) => {
    const content = [{ type: 'text', text: params.arguments?.text }];
    if (params.name === 'echo') return { content };
    if (params.name === 'fail') return { content, isError: true };
    throw new types.McpError(types.ErrorCode.InvalidParams, `there is no tool ${params.name}`);
  });
  server.setRequestHandler(types.ListResourcesRequestSchema, async () => ({ resources: [MOTTO] }));
  server.setRequestHandler(types.ReadResourceRequestSchema, async ({ params }) => {
    if (params.uri !== MOTTO.uri) throw new types.McpError(types.ErrorCode.InvalidParams, `there is no ${params.uri}`);
    return { contents: [{ uri: MOTTO.uri, mimeType: MOTTO.mimeType, text: 'less is more' }] };
  });
  server.setRequestHandler(types.ListPromptsRequestSchema, async () => ({ prompts: [GREET] }));
  server.setRequestHandler(types.GetPromptRequestSchema, async ({ params }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Say hello to ${params.arguments.name}.` } }],
  }));
  return server;
}

async function serveStdio() {
  const { StdioServerTransport } = await import(`${sdk}/server/stdio.js`);
  await newServer().connect(new StdioServerTransport());
}

async function serveStreamableHttp() {
  const { StreamableHTTPServerTransport } = await import(`${sdk}/server/streamableHttp.js`);
  const serve = sessions(
    onsessioninitialized => new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized }),
    newServer,
  );
  listen(port, async (request, response) => {
    if (request.url !== '/mcp') { reject(response, 404, -32601, 'not found'); return; }
    await serve(request, response, await bodyOf(request));
  });
}

async function serveHttpWithSse() {
  const { SSEServerTransport } = await import(`${sdk}/server/sse.js`);
  const transports = new Map();
  listen(port, async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://127.0.0.1');
    if (pathname === '/sse' && request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response);
      transports.set(transport.sessionId, transport);
      response.on('close', () => transports.delete(transport.sessionId));
      await newServer().connect(transport);
    } else if (pathname === '/messages' && transports.has(searchParams.get('sessionId'))) {
      await transports.get(searchParams.get('sessionId')).handlePostMessage(request, response);
    } else {
      reject(response, pathname === '/sse' ? 405 : 404, -32601, 'not found');
    }
  });
}

const SERVE = { stdio: serveStdio, http: serveStreamableHttp, sse: serveHttpWithSse };
if (!SERVE[wire]) throw new Error('usage: node typescript_server.mjs <package> stdio | http <port> | sse <port>');
await SERVE[wire]();
