// The demo of the checks, served by TypeScript SDK 2.x to clients of both eras.
//
//     node ts2_server.mjs stdio | http [port] | stateless [port]
//
// `http` keeps sessions for clients of the handshake; `stateless` leaves them to what the SDK does by itself: each
// request is served on its own, without a session.

import { randomUUID } from 'node:crypto';

import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired, isLegacyRequest,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

import { StoredEvents, bodyOf, listen, refuse, sessions } from './listening.mjs';
import { CACHE_HINTS, newWorld, offer } from './offer.mjs';

const world = newWorld();

/** Every state that was handed out: what comes back must be one of them, to the letter. */
const issuedStates = new Set();

/** Thrown out of a handler that cannot go on before the client has answered. */
class Unanswered {
  constructor(result) { this.result = result; }
}

/** `tellStreams` tells the listening streams of 2026-07-28, which do not subscribe at the server itself. */
function newServer(tellStreams) {
  const server = new McpServer(
    { name: 'interop-typescript-2', version: '2.0.0' },
    {
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } },
      cacheHints: CACHE_HINTS,
    },
  );
  const subscriber = { server: server.server, uris: new Set() };
  world.subscribers.add(subscriber);
  server.server.onclose = () => world.subscribers.delete(subscriber);
  server.server.setRequestHandler('resources/subscribe', ({ params }) => { subscriber.uris.add(params.uri); return {}; });
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => { subscriber.uris.delete(params.uri); return {}; });
  offer(server, world, sdkFor(tellStreams?.(server.server)));
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
    asking,
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

/** Returns each question to the client, and starts over when it comes back with the answer; the state keeps the others. */
function asking(handler) {
  return async (...parameters) => {
    const { mcpReq } = parameters.at(-1);
    const state = mcpReq.requestState();
    if (state !== undefined && !issuedStates.has(state)) throw new Error(`requestState came back as ${state}`);
    const answers = { ...(state && JSON.parse(state).answers), ...mcpReq.inputResponses };
    const ask = (key, request) => {
      if (answers[key] !== undefined) return answers[key];
      const next = JSON.stringify({ answers, seal: `${randomUUID()} "ü" \\ \u2028 ` });
      issuedStates.add(next);
      throw new Unanswered(inputRequired({ inputRequests: { [key]: request }, requestState: next }));
    };
    try {
      return await handler(ask, ...parameters);
    } catch (error) {
      if (error instanceof Unanswered) return error.result;
      throw error;
    }
  };
}

/** Over stdio a server has one connection, and the SDK passes on what its streams have asked for. */
const streamsOf = server => ({
  resourceUpdated: uri => server.sendResourceUpdated({ uri }),
  // The SDK says so itself when a tool is added.
  toolsChanged: () => {},
});

function serveHttp(port, legacySessions) {
  const handler = createMcpHandler(() => newServer(() => handler.notify), { legacy: legacySessions ? 'reject' : 'stateless' });
  const serveModern = toNodeHandler(handler);
  const serveLegacy = sessions(
    onsessioninitialized => new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new StoredEvents(), retryInterval: 50, onsessioninitialized,
    }),
    () => newServer(),
  );
  listen(port, async (request, response) => {
    if (request.url !== '/mcp') { refuse(response, 404, -32601, 'nothing is here'); return; }
    const body = await bodyOf(request);
    const legacy = legacySessions && await isLegacyRequest(await toWebRequest(request, body), body);
    await (legacy ? serveLegacy : serveModern)(request, response, body);
  });
}

const [wire, port] = process.argv.slice(2);
if (wire === 'stdio') serveStdio(({ era }) => newServer(era === 'modern' ? streamsOf : undefined));
else if (wire === 'http') serveHttp(port, true);
else if (wire === 'stateless') serveHttp(port, false);
else throw new Error('usage: node ts2_server.mjs stdio | http [port] | stateless [port]');
