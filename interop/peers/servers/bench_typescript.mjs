// The tools of `bench-server`, served by TypeScript SDK 2.x, for comparison.
//
//     node bench_typescript.mjs http PORT N | stdio 0 N

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

import { bodyOf, sessions } from './http_server.mjs';

const [wire, port, tools] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];

// Created once and shared: every request has its own server.
const TEXT = z.object({ text: z.string() });
const COUNT = z.object({ n: z.number().int().min(0) });
const NAMES = Array.from({ length: tools }, (_, number) => `tool_${String(number).padStart(4, '0')}`);

const text = content => ({ content: [{ type: 'text', text: content }] });

function newServer() {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('echo', { description: 'Repeats a text.', inputSchema: TEXT }, given => text(given.text));
  if (tools >= 3) {
    server.registerTool(
      'big',
      { description: 'Gives as many bytes as asked for.', inputSchema: COUNT },
      ({ n }) => text('x'.repeat(n)),
    );
    server.registerTool(
      'progress',
      { description: 'Reports progress as often as asked for.', inputSchema: COUNT },
      async ({ n }, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken;
        for (let step = 1; step <= n; step += 1) {
          await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: step, total: n } });
        }
        return text('done');
      },
    );
  }
  for (const name of NAMES.slice(tools >= 3 ? 3 : 1)) {
    server.registerTool(name, { description: 'One of many.', inputSchema: TEXT }, given => text(given.text));
  }
  return server;
}

function serveHttp() {
  const serveModern = toNodeHandler(createMcpHandler(newServer, { legacy: 'reject' }));
  const serveLegacy = sessions(
    onsessioninitialized => new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, enableJsonResponse: true, onsessioninitialized,
    }),
    newServer,
  );
  const server = createServer(async (request, response) => {
    try {
      // The load generator sends this header in the modern era only.
      const serve = request.headers['mcp-method'] === undefined ? serveLegacy : serveModern;
      await serve(request, response, await bodyOf(request));
    } catch (error) {
      process.stderr.write(`${error?.stack ?? error}\n`);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    }
  });
  // The load generator opens all its connections before it starts.
  server.keepAliveTimeout = 60_000;
  server.listen(port, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`);
  });
}

if (wire === 'stdio') serveStdio(newServer);
else if (wire === 'http') serveHttp();
else throw new Error('usage: node bench_typescript.mjs http PORT N | stdio 0 N');
