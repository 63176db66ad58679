// What both TypeScript servers need to be reached over HTTP: a listener that says where it is, and stored events.

import { createServer } from 'node:http';

/** Listens on the port, or on a free one, and says so in one line. */
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

/** The JSON that was posted, or nothing. */
export async function bodyOf(request) {
  if (request.method !== 'POST') return undefined;
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  return JSON.parse(text);
}

/** Refuses in the words of the protocol. */
export function refuse(response, status, code, message) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }));
}

/** Keeps the events of one session, so that a stream can be taken up again where it was cut. */
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
      // An event without a message only says where the stream begins.
      if (event.streamId === streamId && 'jsonrpc' in event.message) await send(String(number), event.message);
    }
    return streamId;
  }
}

/** Streamable HTTP with sessions: one server of the SDK for each, found again by its id. */
export function sessions(newTransport, newServer) {
  const transports = new Map();
  return async (request, response, body) => {
    const id = request.headers['mcp-session-id'];
    if (id !== undefined && !transports.has(id)) {
      refuse(response, 404, -32001, 'Session not found');
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
