// What the servers of both TypeScript SDKs offer: the same tools, resources and prompts, for the checks of our client.
//
// What differs between the SDKs, and between one connection and many, is behind the `sdk` object that `ts1_server.mjs`
// and `ts2_server.mjs` build: how to ask the client, to report, to notice a cancellation, to page a list.

import { z } from 'zod';

export const COUNTER = 'demo://counter';
const NAMES = ['Ada', 'Alan', 'Grace'];
const RESOURCES_PER_PAGE = 2;

/** What clients may keep, in revisions where they are told: these change rarely, and say so when they do. */
export const CACHE_HINTS = {
  'tools/list': { ttlMs: 3_600_000, cacheScope: 'private' },
  'resources/read': { ttlMs: 3_600_000, cacheScope: 'private' },
};

/** What all sessions of one process share; a check may look at it from another session. */
export function newWorld() {
  return { counter: 0, almanacReads: 0, cancelled: 0, grown: [], subscribers: new Set() };
}

/** Adds everything to one server of the SDK. */
export function offer(server, world, sdk) {
  offerTools(server, world, sdk);
  offerQuestions(server, sdk);
  offerChanges(server, world, sdk);
  offerResources(server, world, sdk);
  offerPrompts(server, sdk);
}

function offerTools(server, world, sdk) {
  server.registerTool(
    'echo',
    { description: 'Says it again', inputSchema: z.object({ text: z.string() }) },
    ({ text: said }) => text(said),
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
      description: 'Tells where it was sent; over HTTP the region is in a header, too',
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
    world.cancelled += 1;
    return text('cancelled');
  });
  server.registerTool('cancelled', { description: 'How many waits were cancelled' }, () => text(String(world.cancelled)));
  server.registerTool(
    'log',
    { description: 'Writes to the log of the client', inputSchema: z.object({ text: z.string() }) },
    async ({ text: said }, context) => {
      await sdk.log(context, { level: 'warning', logger: 'demo', data: said });
      return text('logged');
    },
  );
  server.registerTool('send_away', { description: 'Closes its stream and answers later' }, async context => {
    const sentAway = sdk.closeStream(context);
    await pause(100);
    return text(sentAway ? 'sent you away' : 'kept you');
  });
}

function offerQuestions(server, sdk) {
  server.registerTool(
    'confirm',
    { description: 'Asks the user', inputSchema: z.object({ question: z.string() }) },
    sdk.asking(async (ask, { question }) => {
      const answer = await ask('confirmation', form(question, {
        confirmed: { type: 'boolean' },
        note: { type: 'string', default: 'none' },
      }, ['confirmed']));
      return text(answer.action === 'accept'
        ? `accept: ${answer.content.confirmed}, note: ${answer.content.note}`
        : answer.action);
    }),
  );
  server.registerTool(
    'interview',
    { description: 'Asks the user twice' },
    sdk.asking(async ask => {
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
    sdk.asking(async (ask, { text: long }) => {
      const { model, content } = await ask('summary', {
        method: 'sampling/createMessage',
        params: { messages: [{ role: 'user', content: { type: 'text', text: long } }], maxTokens: 50 },
      });
      return text(`${model}: ${[content].flat().map(block => block.text).join('')}`);
    }),
  );
  server.registerTool(
    'roots',
    { description: 'Asks which directories the client works in' },
    sdk.asking(async ask => {
      const { roots } = await ask('roots', { method: 'roots/list' });
      return text(roots.map(root => root.uri).join(' '));
    }),
  );
}

function offerChanges(server, world, sdk) {
  server.registerTool('bump', { description: 'Changes demo://counter' }, async () => {
    world.counter += 1;
    await sdk.resourceUpdated(world, COUNTER);
    return text(String(world.counter));
  });
  for (const name of world.grown) growOne(server, name);
  server.registerTool('grow', { description: 'Adds a tool' }, async () => {
    const name = `grown_${world.grown.length + 1}`;
    world.grown.push(name);
    growOne(server, name);
    await sdk.toolsChanged();
    return text(name);
  });
}

function growOne(server, name) {
  server.registerTool(name, { description: 'It was not there at first' }, () => text(name));
}

function offerResources(server, world, sdk) {
  const plain = (name, uri, read) => server.registerResource(name, uri, { mimeType: 'text/plain' }, read);
  plain('motto', 'demo://motto', () => contents('demo://motto', 'less is more'));
  plain('almanac', 'demo://almanac', () => {
    world.almanacReads += 1;
    return contents('demo://almanac', `read ${world.almanacReads}`);
  });
  plain('counter', COUNTER, () => contents(COUNTER, String(world.counter)));
  server.registerResource('pixel', 'demo://pixel', { mimeType: 'image/png' }, () => ({
    contents: [{ uri: 'demo://pixel', mimeType: 'image/png', blob: 'iVBORw0KGgo=' }],
  }));
  const secrets = new sdk.ResourceTemplate('demo://secrets/{name}', { list: undefined });
  server.registerResource('secrets', secrets, { mimeType: 'text/plain' }, sdk.asking(async (ask, uri) => {
    const answer = await ask('password', form('Password?', { value: { type: 'string' } }, ['value']));
    return contents(uri.href, answer.action === 'accept' ? `opened with ${answer.content.value}` : 'closed');
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

function offerPrompts(server, sdk) {
  server.registerPrompt(
    'greet',
    { description: 'Greets somebody', argsSchema: sdk.arguments({ name: sdk.completable(z.string(), startingWith) }) },
    ({ name }) => message(`Say hello to ${name}.`),
  );
  server.registerPrompt(
    'signed',
    { description: 'Asks who signs' },
    sdk.asking(async ask => {
      const answer = await ask('signature', form('Who signs?', { value: { type: 'string' } }, ['value']));
      return message(`Signed by ${answer.content?.value}.`);
    }),
  );
}

const text = said => ({ content: [{ type: 'text', text: said }] });
const contents = (uri, said) => ({ contents: [{ uri, mimeType: 'text/plain', text: said }] });
const message = said => ({ messages: [{ role: 'user', content: { type: 'text', text: said } }] });
const pause = milliseconds => new Promise(resolve => { setTimeout(resolve, milliseconds); });
const startingWith = value => NAMES.filter(name => name.startsWith(value));

function form(question, properties, required) {
  return {
    method: 'elicitation/create',
    params: { message: question, requestedSchema: { type: 'object', properties, required } },
  };
}
