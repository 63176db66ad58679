// The server of the checks with TypeScript SDK 2.x, for clients of both eras.
//
//     node ts2_server.mjs stdio | http [port] | stateless [port] | modern [port]
//
// `http` has sessions for legacy clients. `stateless` is the default of the SDK: each legacy request is served
// separately, without a session. `modern` rejects legacy clients.

import { randomUUID } from 'node:crypto';

import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired, isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

import { StoredEvents, bodyOf, listen, reject, sessions } from './http_server.mjs';
import { CACHE_HINTS, newState, registerFeatures } from './features.mjs';

const serverState = newState();

/** All request states that were sent. A client must return one of them unchanged. */
const issuedStates = new Set();

/** Thrown by `ask` to end a handler that needs input. It contains the `input_required` result. */
class InputNeeded {
  constructor(result) { this.result = result; }
}

/** Creates a server. `streamsFor` returns the notifier for listening streams of 2026-07-28. */
function newServer(streamsFor) {
  const server = new McpServer(
    { name: 'interop-typescript-2', version: '2.0.0' },
    {
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } },
      cacheHints: CACHE_HINTS,
    },
  );
  const subscriber = { server: server.server, uris: new Set() };
  serverState.subscribers.add(subscriber);
  server.server.onclose = () => serverState.subscribers.delete(subscriber);
  server.server.setRequestHandler('resources/subscribe', ({ params }) => { subscriber.uris.add(params.uri); return {}; });
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => { subscriber.uris.delete(params.uri); return {}; });
  registerFeatures(server, serverState, sdkFor(streamsFor?.(server.server)));
  return server;
}

function sdkFor(streams) {
  return {
    ResourceTemplate,
    completable,
    arguments: shape => z.object(shape),
    request: ({ mcpReq }) => mcpReq,
    progress: async ({ mcpReq }, params) => {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...params } });
    },
    log: ({ mcpReq }, { level, data, logger }) => mcpReq.log(level, data, logger),
    closeStream: ({ http }) => { http?.closeSSE?.(); return http?.closeSSE !== undefined; },
    withAsk,
    resourceUpdated: async ({ subscribers }, uri) => {
      await streams?.resourceUpdated(uri);
      for (const { server: other, uris } of subscribers) if (uris.has(uri)) await other.sendResourceUpdated({ uri });
    },
    toolsChanged: () => streams?.toolsChanged(),
    page: (paged, method, key, size, items) => {
      paged.server.setRequestHandler(method, ({ params }) => {
        const start = Number(params?.cursor ?? 0);
        const nextCursor = start + size < items.length ? String(start + size) : undefined;
        return { [key]: items.slice(start, start + size), ...(nextCursor && { nextCursor }) };
      });
    },
  };
}

/** Returns an `input_required` result for each input request, and runs the handler again with the response. The state
 * contains the earlier responses. */
function withAsk(handler) {
  return async (...parameters) => {
    const { mcpReq } = parameters.at(-1);
    const state = mcpReq.requestState();
    if (state !== undefined && !issuedStates.has(state)) throw new Error(`the client changed requestState to ${state}`);
    const responses = { ...(state && JSON.parse(state).responses), ...mcpReq.inputResponses };
    const ask = (key, request) => {
      if (responses[key] !== undefined) return responses[key];
      const next = JSON.stringify({ responses, seal: `${randomUUID()} "ü" \\ \u2028 ` });
      issuedStates.add(next);
      throw new InputNeeded(inputRequired({ inputRequests: { [key]: request }, requestState: next }));
    };
    try {
      return await handler(ask, ...parameters);
    } catch (error) {
      if (error instanceof InputNeeded) return error.result;
      throw error;
    }
  };
}

/** The notifier for stdio. A server has one connection, and the SDK filters the notifications of its streams. */
const streamsOf = server => ({
  resourceUpdated: uri => server.sendResourceUpdated({ uri }),
  // The SDK sends the notification when a tool is added.
  toolsChanged: () => {},
});

function serveHttp(port, legacySessions, legacyRequests) {
  const handler = createMcpHandler(() => newServer(() => handler.notify), { legacy: legacyRequests });
  const serveModern = toNodeHandler(handler);
  const serveLegacy = sessions(
    onsessioninitialized => new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new StoredEvents(), retryInterval: 50, onsessioninitialized,
    }),
    () => newServer(),
  );
  listen(port, async (request, response) => {
    if (request.url !== '/mcp') { reject(response, 404, -32601, 'not found'); return; }
    const body = await bodyOf(request);
    const legacy = legacySessions && await isLegacyRequest(await toWebRequest(request, body), body);
    await (legacy ? serveLegacy : serveModern)(request, response, body);
  });
}

const [wire, port] = process.argv.slice(2);
if (wire === 'stdio') serveStdio(({ era }) => newServer(era === 'modern' ? streamsOf : undefined));
else if (wire === 'http') serveHttp(port, true, 'reject');
else if (wire === 'stateless') serveHttp(port, false, 'stateless');
else if (wire === 'modern') serveHttp(port, false, 'reject');
else throw new Error('usage: node ts2_server.mjs stdio | http [port] | stateless [port] | modern [port]');
