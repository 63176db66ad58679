// The server of the checks with TypeScript SDK 1.x, which supports the legacy era only.
//
//     node ts1_server.mjs stdio | http [port] | sse [port]

import { randomUUID } from 'node:crypto';

import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CreateMessageResultSchema, ElicitResultSchema, ListResourcesRequestSchema, ListRootsResultSchema,
  SubscribeRequestSchema, UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { StoredEvents, bodyOf, listen, reject, sessions } from './http_server.mjs';
import { newState, registerFeatures } from './features.mjs';

const RESULTS = {
  'elicitation/create': ElicitResultSchema,
  'sampling/createMessage': CreateMessageResultSchema,
  'roots/list': ListRootsResultSchema,
};

const state = newState();

function newServer() {
  const server = new McpServer(
    { name: 'interop-typescript-1', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } } },
  );
  const subscriber = { server: server.server, uris: new Set() };
  state.subscribers.add(subscriber);
  server.server.onclose = () => state.subscribers.delete(subscriber);
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => { subscriber.uris.add(params.uri); return {}; });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => { subscriber.uris.delete(params.uri); return {}; });
  registerFeatures(server, state, sdkFor(server));
  return server;
}

function sdkFor(server) {
  return {
    ResourceTemplate,
    completable,
    arguments: shape => shape,
    request: extra => extra,
    progress: async ({ _meta, sendNotification }, params) => {
      const progressToken = _meta?.progressToken;
      if (progressToken === undefined) return;
      await sendNotification({ method: 'notifications/progress', params: { progressToken, ...params } });
    },
    log: ({ sendNotification }, params) => sendNotification({ method: 'notifications/message', params }),
    closeStream: ({ closeSSEStream }) => { closeSSEStream?.(); return closeSSEStream !== undefined; },
    // Input requests are sent on the stream of the call, requests for roots on the server stream.
    withAsk: handler => async (...parameters) => {
      const extra = parameters.at(-1);
      const ask = (_key, request) => request.method === 'roots/list'
        ? server.server.listRoots()
        : extra.sendRequest(request, RESULTS[request.method]);
      return handler(ask, ...parameters);
    },
    resourceUpdated: async ({ subscribers }, uri) => {
      for (const { server: other, uris } of subscribers) if (uris.has(uri)) await other.sendResourceUpdated({ uri });
    },
    // The SDK sends the notification when a tool is added.
    toolsChanged: () => {},
    page: (paged, _method, key, size, items) => {
      paged.server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
        const start = Number(params?.cursor ?? 0);
        const nextCursor = start + size < items.length ? String(start + size) : undefined;
        return { [key]: items.slice(start, start + size), nextCursor };
      });
    },
  };
}

function serveStreamableHttp(port) {
  const serve = sessions(
    onsessioninitialized => new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new StoredEvents(), retryInterval: 50, onsessioninitialized,
    }),
    newServer,
  );
  listen(port, async (request, response) => {
    if (request.url !== '/mcp') { reject(response, 404, -32601, 'not found'); return; }
    await serve(request, response, await bodyOf(request));
  });
}

/** Serves HTTP+SSE of 2024-11-05: one event stream for all responses, and a URL for POST requests. */
function serveHttpWithSse(port) {
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

const [wire, port] = process.argv.slice(2);
if (wire === 'stdio') await newServer().connect(new StdioServerTransport());
else if (wire === 'http') serveStreamableHttp(port);
else if (wire === 'sse') serveHttpWithSse(port);
else throw new Error('usage: node ts1_server.mjs stdio | http [port] | sse [port]');
