// A server of the legacy era on stdio, with results of 5 MB in several forms, and any number of lines on standard error.

import { once } from "node:events";
import { createInterface } from "node:readline";

/** The size of a result in bytes, about. */
const BYTES = 5_000_000;
const LINE = "some words that fill the line ".repeat(8);

const text = (one) => ({ type: "text", text: one });

/** The results by tool. */
const RESULTS = {
  one_text: { content: [text("large ".repeat(BYTES / 6))] },
  long_list: { content: [], structuredContent: { items: Array.from({ length: BYTES / 40 }, (_, id) => ({ id, name: "item", half: 0.5 })) } },
  many_members: { content: [], structuredContent: Object.fromEntries(Array.from({ length: BYTES / 25 }, (_, id) => [`member ${id}`, id])) },
  many_blocks: { content: Array.from({ length: BYTES / 250 }, () => text("some words of this block ".repeat(9))) },
};

const inputSchema = { type: "object" };
const TOOLS = [...Object.keys(RESULTS), "write_lines"].map((name) => ({ name, inputSchema }));

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

/** The number of lines that were written. */
let written = 0;

async function writeLines(count) {
  for (const end = written + count; written < end; ) {
    const part = Array.from({ length: Math.min(100, end - written) }, () => `line ${written++} ${LINE}\n`);
    if (!process.stderr.write(part.join(""))) await once(process.stderr, "drain");
  }
  return { content: [text("written")] };
}

const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "large", version: "1" } }),
  "tools/list": () => ({ tools: TOOLS }),
  "tools/call": ({ name, arguments: { lines } }) => RESULTS[name] ?? writeLines(lines),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === undefined || id === undefined) continue;
  const respond = METHODS[method];
  send(respond ? { id, result: await respond(params) } : { id, error: { code: -32601, message: "unknown method" } });
}
