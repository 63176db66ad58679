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

/** A name without a place to break it. */
const LONG = "long_name_".repeat(12);
const WIDE = {
  type: "object",
  properties: {
    [LONG]: { type: "string", title: LONG, description: LONG, default: LONG },
    choice: { enum: [LONG, "short"], default: LONG },
    list: { type: "array", title: LONG, items: { type: "object", properties: { [LONG]: { type: "integer", default: 1 } }, required: [LONG] }, default: [{ [LONG]: 1 }] },
    variant: { oneOf: [{ title: LONG, const: LONG }, { title: "short", type: "null" }] },
    added: { type: "string", title: LONG },
  },
  required: [LONG, "choice", "list", "variant"],
};
const WIDE_CONTENT = [
  { type: "text", text: LONG, [LONG]: LONG },
  { type: "resource_link", uri: `https://example.com/${LONG}`, name: LONG },
  { type: "resource", resource: { uri: `a:${LONG}`, mimeType: LONG, blob: "AAAA" } },
];

const TOOLS = [
  { name: "wide", title: LONG, description: LONG, inputSchema: WIDE, annotations: { [`${LONG}Hint`]: true } },
  { name: "cyclic_all_of", inputSchema: cycle("allOf") },
  { name: "cyclic_any_of", inputSchema: cycle("anyOf") },
  { name: "nested_variants", inputSchema: nested },
  { name: "bad_pointer", inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/%" } }, required: ["a"] } },
  { name: "bad_result", inputSchema: { type: "object" } },
  { name: "ask", inputSchema: { type: "object" } },
  { name: "media", inputSchema: { type: "object" } },
  { name: "exit", inputSchema: { type: "object" } },
];

/** An image of one pixel. */
const IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Returns 50 ms of silence: WAV with one channel, 8000 samples per second, and one byte per sample. */
function silence() {
  const samples = 400;
  const sound = Buffer.alloc(44 + samples, 0x80);
  sound.write("RIFF", 0);
  sound.writeUInt32LE(36 + samples, 4);
  sound.write("WAVEfmt ", 8);
  [16, 8000, 8000].forEach((value, index) => sound.writeUInt32LE(value, [16, 24, 28][index]));
  [1, 1, 1, 8].forEach((value, index) => sound.writeUInt16LE(value, [20, 22, 32, 34][index]));
  sound.write("data", 36);
  sound.writeUInt32LE(samples, 40);
  return sound.toString("base64");
}

const MEDIA = [
  { type: "image", mimeType: "image/png", data: IMAGE },
  { type: "audio", mimeType: "audio/wav", data: silence() },
];

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const METHODS = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "hostile", version: "1" } }),
  "tools/list": () => ({ tools: TOOLS }),
  "tools/call": ({ name, arguments: values }) => {
    if (name === "exit") process.exit();
    if (name === "media") return { content: MEDIA };
    if (name === "wide") return { content: WIDE_CONTENT, structuredContent: { [LONG]: [LONG] } };
    if (name !== "bad_result") return { content: [{ type: "text", text: JSON.stringify(values) }] };
    return { content: [{ type: "resource", resource: { uri: "a:b", mimeType: NO_TEXT, text: "" } }] };
  },
};

/** Writes a report about the inside of this server, as a server does that is written with toolwire. */
const report = (content) => process.stderr.write(`toolwire-inspection: ${JSON.stringify(content)}\n`);

/** Reports a call of the page with a name that tries to become HTML, and with the largest numbers. */
function reportCall(method, meta) {
  const call = meta?.["toolwire/call"];
  if (call === undefined) return;
  const text = "<img src=x onerror=alert(1)>\u202e\u001b[31m";
  const span = (name) => ({ kind: "middleware", name, tookUs: 3, ownUs: 3 });
  const spans = [span("<img src=x onerror=alert(1)>\u202e"), span(LONG)];
  const hidden = [{ kind: text, name: text, because: text }];
  const rejected = { what: "arguments", paths: [text] };
  const content = { call, method, name: text, outcome: text, tookUs: 5, spans, hidden, rejected, moreHidden: 1 };
  const json = JSON.stringify({ exchange: { ...content, load: { running: 0 } } });
  // The largest number that a report can have. JavaScript cannot represent it.
  const line = json.replace('"running":0', '"running":18446744073709551615');
  process.stderr.write(`toolwire-inspection: ${line}\n`);
}

report({ started: { name: "hostile" } });

/** The call that waits for the response to an input request. */
let waiting;

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  reportCall(method, params?._meta);
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
