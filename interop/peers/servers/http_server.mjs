// The HTTP side of the TypeScript servers: a listener that prints its address, sessions, and stored events.

import { createServer } from 'node:http';

/** Listens on the port, or on a free port, and prints the address in one line. */
export function listen(port, serve) {
  const server = createServer((request, response) => {
    serve(request, response).catch(error => {
      process.stderr.write(`${error?.stack ?? error}\n`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  server.listen(Number(port ?? 0), '127.0.0.1', () => {
    process.stderr.write(`listening on http://127.0.0.1:${server.address().port}\n`);
  });
}

/** Returns the JSON body of a POST request, or `undefined` for other methods. */
export async function bodyOf(request) {
  if (request.method !== 'POST') return undefined;
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  return JSON.parse(text);
}

/** Responds with a JSON-RPC error. */
export function reject(response, status, code, message) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

/** Stores the events of one session, so that a broken stream can be resumed. */
export class StoredEvents {
  events = [];

  async storeEvent(streamId, message) {
    this.events.push({ streamId, message });
    return String(this.events.length);
  }

  async getStreamIdForEventId(eventId) {
    return this.events[Number(eventId) - 1]?.streamId;
  }

  async replayEventsAfter(lastEventId, { send }) {
    const { streamId } = this.events[Number(lastEventId) - 1];
    for (let number = Number(lastEventId) + 1; number <= this.events.length; number += 1) {
      const event = this.events[number - 1];
      // An event without a message is the priming event of the stream.
      if (event.streamId === streamId && 'jsonrpc' in event.message) await send(String(number), event.message);
    }
    return streamId;
  }
}

/** Serves Streamable HTTP with sessions. Each session has its own server of the SDK. */
export function sessions(newTransport, newServer) {
  const transports = new Map();
  return async (request, response, body) => {
    const id = request.headers['mcp-session-id'];
    if (id !== undefined && !transports.has(id)) {
      reject(response, 404, -32001, 'Session not found');
      return;
    }
    let transport = transports.get(id);
    if (transport === undefined) {
      transport = newTransport(started => transports.set(started, transport));
      const server = newServer();
      await server.connect(transport);
      const { onclose } = transport;
      transport.onclose = () => { transports.delete(transport.sessionId); onclose?.(); };
    }
    await transport.handleRequest(request, response, body);
  };
}
