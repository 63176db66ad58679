// A server with one tool whose calls become tasks, with the experimental tasks of TypeScript SDK 1.x. The tool has the
// arguments and results of the tool `bake` of `toolwire demo`.
//
//     node ts1_task_server.mjs stdio | http [port]

import { randomUUID } from 'node:crypto';

import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

import { StoredEvents, bodyOf, listen, reject, sessions } from './http_server.mjs';

const POLL_INTERVAL_MS = 100;

const ARGUMENTS = {
  layers: z.number(),
  delay_ms: z.number().default(100),
  degrees: z.number().default(180),
  ask: z.boolean().default(false),
};

function newServer() {
  const server = new McpServer(
    { name: 'interop-typescript-1-tasks', version: '1.0.0' },
    {
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore: new InMemoryTaskStore(),
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  server.experimental.tasks.registerToolTask(
    'bake',
    { description: 'Bakes a cake', inputSchema: ARGUMENTS, execution: { taskSupport: 'optional' } },
    {
      async createTask(input, extra) {
        // A limited lifetime would have a timer, which would delay the exit of the process.
        const task = await extra.taskStore.createTask({ ttl: null, pollInterval: POLL_INTERVAL_MS });
        bake(task.taskId, input, extra).catch(error => process.stderr.write(`${error?.stack ?? error}\n`));
        return { task };
      },
      getTask: (_input, { taskStore, taskId }) => taskStore.getTask(taskId),
      getTaskResult: (_input, { taskStore, taskId }) => taskStore.getTaskResult(taskId),
    },
  );
  return server;
}

async function bake(taskId, { layers, delay_ms: delay, degrees, ask }, { taskStore, sendRequest }) {
  for (let layer = 1; layer <= layers; layer += 1) {
    await new Promise(resolve => { setTimeout(resolve, delay); });
    if ((await taskStore.getTask(taskId)).status === 'cancelled') return;
    await taskStore.updateTaskStatus(taskId, 'working', `${layer}/${layers} layers`);
  }
  if (degrees > 300) {
    await taskStore.storeTaskResult(taskId, 'failed', { ...text('the cake burned'), isError: true });
    return;
  }
  const icing = ask && await isAccepted('Add icing?', taskId, sendRequest);
  await taskStore.storeTaskResult(taskId, 'completed', text(`a cake of ${layers} layers${icing ? ' with icing' : ''}`));
}

/** Asks the client while it waits for the result of the task. */
async function isAccepted(message, taskId, sendRequest) {
  const params = { message, requestedSchema: { type: 'object', properties: {} } };
  const request = { method: 'elicitation/create', params };
  const { action } = await sendRequest(request, ElicitResultSchema, { relatedTask: { taskId } });
  return action === 'accept';
}

const text = content => ({ content: [{ type: 'text', text: content }] });

function serveHttp(port) {
  const serve = sessions(
    onsessioninitialized => new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: new StoredEvents(), onsessioninitialized,
    }),
    newServer,
  );
  listen(port, async (request, response) => {
    if (request.url !== '/mcp') { reject(response, 404, -32601, 'not found'); return; }
    await serve(request, response, await bodyOf(request));
  });
}

const [wire, port] = process.argv.slice(2);
if (wire === 'stdio') await newServer().connect(new StdioServerTransport());
else if (wire === 'http') serveHttp(port);
else throw new Error('usage: node ts1_task_server.mjs stdio | http [port]');
