// The tools, resources and prompts of the servers of both TypeScript SDKs, for the checks of toolwire's client.
//
// The `sdk` object of `ts1_server.mjs` and `ts2_server.mjs` hides the differences between the SDKs: input requests,
// progress, cancellation and pages.

import { z } from 'zod';

export const COUNTER = 'demo://counter';
const NAMES = ['Ada', 'Alan', 'Grace'];
const RESOURCES_PER_PAGE = 2;

/** Cache hints, which only modern revisions have. The server notifies clients of changes. */
export const CACHE_HINTS = {
  'tools/list': { ttlMs: 3_600_000, cacheScope: 'private' },
  'resources/read': { ttlMs: 3_600_000, cacheScope: 'private' },
};

/** Returns the state that all sessions of one process share. A check may read it in another session. */
export function newState() {
  return { counter: 0, almanacReads: 0, cancelled: 0, addedTools: [], subscribers: new Set() };
}

/** Registers all features at one server of the SDK. */
export function registerFeatures(server, state, sdk) {
  registerTools(server, state, sdk);
  registerInputTools(server, sdk);
  registerChangeTools(server, state, sdk);
  registerResources(server, state, sdk);
  registerPrompts(server, sdk);
}

function registerTools(server, state, sdk) {
  server.registerTool(
    'echo',
    { description: 'Returns the text', inputSchema: z.object({ text: z.string() }) },
    ({ text: content }) => text(content),
  );
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool(
    'fail',
    { description: 'Fails with the message', inputSchema: z.object({ message: z.string() }) },
    ({ message }) => ({ ...text(message), isError: true }),
  );
  server.registerTool(
    'route',
    {
      description: 'Returns its arguments; over HTTP the region is in a header, too',
      inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }), count: z.number() }),
    },
    ({ region, count }) => text(`${count} to ${region}`),
  );
  server.registerTool(
    'count',
    {
      description: 'Counts up, and reports each step',
      inputSchema: z.object({ to: z.number(), delay_ms: z.number() }),
    },
    async ({ to, delay_ms: delay }, context) => {
      for (let step = 1; step <= to; step += 1) {
        await pause(delay);
        await sdk.progress(context, { progress: step, total: to, message: `step ${step}` });
      }
      return text(`counted to ${to}`);
    },
  );
  server.registerTool('wait', { description: 'Waits until it is cancelled' }, async context => {
    const { signal } = sdk.request(context);
    const cancelled = new Promise(resolve => { signal.addEventListener('abort', resolve, { once: true }); });
    await sdk.progress(context, { progress: 1 });
    if (!signal.aborted) await cancelled;
    state.cancelled += 1;
    return text('cancelled');
  });
  server.registerTool('cancelled', { description: 'Counts cancelled waits' }, () => text(String(state.cancelled)));
  server.registerTool(
    'log',
    { description: 'Writes to the log of the client', inputSchema: z.object({ text: z.string() }) },
    async ({ text: data }, context) => {
      await sdk.log(context, { level: 'warning', logger: 'demo', data });
      return text('logged');
    },
  );
  server.registerTool('release_stream', { description: 'Closes its stream before the result' }, async context => {
    const released = sdk.closeStream(context);
    await pause(100);
    return text(released ? 'stream released' : 'stream not released');
  });
}

function registerInputTools(server, sdk) {
  server.registerTool(
    'confirm',
    { description: 'Asks the user', inputSchema: z.object({ question: z.string() }) },
    sdk.withAsk(async (ask, { question }) => {
      const response = await ask('confirmation', form(question, {
        confirmed: { type: 'boolean' },
        note: { type: 'string', default: 'none' },
      }, ['confirmed']));
      return text(response.action === 'accept'
        ? `accept: ${response.content.confirmed}, note: ${response.content.note}`
        : response.action);
    }),
  );
  server.registerTool(
    'interview',
    { description: 'Asks the user twice' },
    sdk.withAsk(async ask => {
      const name = await ask('name', form('Your name?', { value: { type: 'string' } }, ['value']));
      const colour = await ask('colour', form('Your colour?', {
        value: { type: 'string', enum: ['red', 'green'] },
      }, ['value']));
      return text(`${name.content?.value} likes ${colour.content?.value}`);
    }),
  );
  server.registerTool(
    'summarise',
    { description: 'Asks the model of the client', inputSchema: z.object({ text: z.string() }) },
    sdk.withAsk(async (ask, { text: long }) => {
      const { model, content } = await ask('summary', {
        method: 'sampling/createMessage',
        params: { messages: [{ role: 'user', content: { type: 'text', text: long } }], maxTokens: 50 },
      });
      return text(`${model}: ${[content].flat().map(block => block.text).join('')}`);
    }),
  );
  server.registerTool(
    'roots',
    { description: 'Returns the roots of the client' },
    sdk.withAsk(async ask => {
      const { roots } = await ask('roots', { method: 'roots/list' });
      return text(roots.map(root => root.uri).join(' '));
    }),
  );
}

function registerChangeTools(server, state, sdk) {
  server.registerTool('bump', { description: 'Changes demo://counter' }, async () => {
    state.counter += 1;
    await sdk.resourceUpdated(state, COUNTER);
    return text(String(state.counter));
  });
  for (const name of state.addedTools) registerAddedTool(server, name);
  server.registerTool('add_tool', { description: 'Adds a tool' }, async () => {
    const name = `added_${state.addedTools.length + 1}`;
    state.addedTools.push(name);
    registerAddedTool(server, name);
    await sdk.toolsChanged();
    return text(name);
  });
}

function registerAddedTool(server, name) {
  server.registerTool(name, { description: 'A tool that was added while serving' }, () => text(name));
}

function registerResources(server, state, sdk) {
  const plain = (name, uri, read) => server.registerResource(name, uri, { mimeType: 'text/plain' }, read);
  plain('motto', 'demo://motto', () => contents('demo://motto', 'less is more'));
  plain('almanac', 'demo://almanac', () => {
    state.almanacReads += 1;
    return contents('demo://almanac', `read ${state.almanacReads}`);
  });
  plain('counter', COUNTER, () => contents(COUNTER, String(state.counter)));
  server.registerResource('pixel', 'demo://pixel', { mimeType: 'image/png' }, () => ({
    contents: [{ uri: 'demo://pixel', mimeType: 'image/png', blob: 'iVBORw0KGgo=' }],
  }));
  const secrets = new sdk.ResourceTemplate('demo://secrets/{name}', { list: undefined });
  server.registerResource('secrets', secrets, { mimeType: 'text/plain' }, sdk.withAsk(async (ask, uri) => {
    const response = await ask('password', form('Password?', { value: { type: 'string' } }, ['value']));
    return contents(uri.href, response.action === 'accept' ? `opened with ${response.content.value}` : 'closed');
  }));
  const notes = new sdk.ResourceTemplate('demo://notes/{name}', { list: undefined, complete: { name: startingWith } });
  server.registerResource('notes', notes, { mimeType: 'text/plain' }, (uri, { name }) =>
    contents(uri.href, `a note of ${name}`));
  sdk.page(server, 'resources/list', 'resources', RESOURCES_PER_PAGE, [
    { name: 'motto', uri: 'demo://motto', mimeType: 'text/plain' },
    { name: 'counter', uri: COUNTER, mimeType: 'text/plain' },
    { name: 'pixel', uri: 'demo://pixel', mimeType: 'image/png' },
    { name: 'almanac', uri: 'demo://almanac', mimeType: 'text/plain' },
  ]);
}

function registerPrompts(server, sdk) {
  server.registerPrompt(
    'greet',
    { description: 'Greets a person', argsSchema: sdk.arguments({ name: sdk.completable(z.string(), startingWith) }) },
    ({ name }) => message(`Say hello to ${name}.`),
  );
  server.registerPrompt(
    'signed',
    { description: 'Asks who signs' },
    sdk.withAsk(async ask => {
      const response = await ask('signature', form('Who signs?', { value: { type: 'string' } }, ['value']));
      return message(`Signed by ${response.content?.value}.`);
    }),
  );
}

const text = content => ({ content: [{ type: 'text', text: content }] });
const contents = (uri, content) => ({ contents: [{ uri, mimeType: 'text/plain', text: content }] });
const message = content => ({ messages: [{ role: 'user', content: { type: 'text', text: content } }] });
const pause = milliseconds => new Promise(resolve => { setTimeout(resolve, milliseconds); });
const startingWith = value => NAMES.filter(name => name.startsWith(value));

function form(message, properties, required) {
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties, required } },
  };
}
