// A server of the legacy era on stdio, whose schemas and results try to stop a page. It also accepts calls of tools that it
// does not list.

import { createInterface } from "node:readline";

/** An object that cannot become a text. */
const NO_TEXT = { toString: 1, valueOf: 1 };

const cycle = (keyword) => ({ type: "object", [keyword]: [{ $ref: "#" }, { $ref: "#" }] });
/** Variants of variants, whose number doubles with each of 40 levels. */
const variants = Array.from({ length: 40 }, (_, level) => {
  const next = { $ref: `#/$defs/d${level + 1}` };
  return [`d${level}`, level === 39 ? {} : { oneOf: [next, next] }];
});
const nested = { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, required: ["a"], $defs: Object.fromEntries(variants) };

const TOOLS = [
  { name: "cyclic_all_of", inputSchema: cycle("allOf") },
  { name: "cyclic_any_of", inputSchema: cycle("anyOf") },
  { name: "nested_variants", inputSchema: nested },
  { name: "bad_pointer", inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/%" } }, required: ["a"] } },
  { name: "bad_result", inputSchema: { type: "object" } },
  { name: "ask", inputSchema: { type: "object" } },
];

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "hostile", version: "1" } }),
  "tools/list": () => ({ tools: TOOLS }),
  "tools/call": ({ name, arguments: values }) => {
    if (name !== "bad_result") return { content: [{ type: "text", text: JSON.stringify(values) }] };
    return { content: [{ type: "resource", resource: { uri: "a:b", mimeType: NO_TEXT, text: "" } }] };
  },
};

/** The call that waits for the response to an input request. */
let waiting;

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "tools/call" && params.name === "ask") {
    waiting = id;
    const properties = { "\u202ename\u001b[31m": { type: "string", minLength: 3, default: "" } };
    const requestedSchema = { type: "object", properties };
    send({ id: "input", method: "elicitation/create", params: { message: "Name?", requestedSchema } });
  } else if (id === "input") {
    send({ id: waiting, result: { content: [{ type: "text", text: `got ${JSON.stringify(result)}` }] } });
  } else if (method && id !== undefined) {
    const respond = METHODS[method];
    send(respond ? { id, result: respond(params) } : { id, error: { code: -32601, message: "unknown method" } });
  }
}
