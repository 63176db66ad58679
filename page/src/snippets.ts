// The same request as a command, as an HTTP request, and in three languages.

import { compact, format, isObject, numberText, type Json, type JsonObject } from "./json";
import type { State } from "./model";
import { codePoint, escapeHidden } from "./plain_text";

export interface Exchange {
  kind: "tools" | "prompts" | "resources";
  /** The name of the tool or prompt, or the URI. */
  name: string;
  arguments: JsonObject;
  /** The input schema of a tool. It names the arguments that are also headers. */
  schema?: JsonObject;
}

export interface Snippet {
  title: string;
  text: string;
}

const METHODS = { tools: "tools/call", prompts: "prompts/get", resources: "resources/read" };

export function methodOf(exchange: Exchange): string {
  return METHODS[exchange.kind];
}

export function paramsOf(exchange: Exchange): JsonObject {
  return exchange.kind === "resources"
    ? { uri: exchange.name }
    : { name: exchange.name, arguments: exchange.arguments };
}

export function snippets(exchange: Exchange, state: State): Snippet[] {
  return [
    { title: "toolwire", text: command(exchange, state) },
    { title: "curl", text: curl(exchange, state) },
    { title: "Rust test", text: rust(exchange, state) },
    { title: "TypeScript", text: typescript(exchange, state) },
    { title: "Python", text: python(exchange, state) },
  ];
}

/** The header of a legacy session, whose id is in a variable of the shell. */
const SESSION_HEADER = "Mcp-Session-Id: $SESSION";

/** What is shown instead of a command with a word that no form of `shellWord` keeps. */
const LOST_LINE_BREAK = "# A shell removes a line break at the end of a word. Copy the call in another form.";

/** What is shown instead of a request with an argument that its header cannot contain. */
const NO_HEADER = "# A server rejects this call, because the header of an argument is text, true, false or an integer up to 2^53.";

/** Returns true if a shell keeps the word. It removes line breaks at the end of what `printf` writes. */
const isKept = (word: string) => !word.endsWith("\n");

/**
 * Returns a word for a POSIX shell, which must not end with a line break. Hidden characters are written as bytes, because a
 * terminal could obey them.
 */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  const quoted = (part: string) => `'${part.replaceAll("'", "'\\''")}'`;
  const bytes = (character: string) =>
    [...new TextEncoder().encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  const isPlain = text === escapeHidden(text, bytes) && !/[\n\t]/.test(text);
  if (isPlain) return quoted(text);
  const format = escapeHidden(text.replaceAll("\\", "\\\\").replaceAll("%", "%%"), bytes).replace(/[\n\t]/g, bytes);
  return `"$(printf ${quoted(format)})"`;
}

function command(exchange: Exchange, state: State): string {
  // A server could name a tool like an option, and so change what the command does.
  if (exchange.name.startsWith("-")) {
    return "# The command takes a name that begins with - as an option. Copy the call in another form.";
  }
  const words = ["toolwire", { tools: "call", prompts: "prompt", resources: "read" }[exchange.kind]];
  const { url, command } = state.target;
  if (url) words.push(url);
  words.push(exchange.name);
  if (exchange.kind !== "resources") words.push("--args", compact(exchange.arguments));
  if (state.settings.era !== "auto") words.push("--era", state.settings.era);
  if (command) words.push("--", ...command);
  if (!words.every(isKept)) return LOST_LINE_BREAK;
  return words.map(shellWord).join(" ");
}

function curl(exchange: Exchange, state: State): string {
  const { url, command } = state.target;
  if (!url) {
    if (!(command ?? []).every(isKept)) return LOST_LINE_BREAK;
    const server = (command ?? []).map(shellWord).join(" ");
    return `# The server has no address. Give it one first:\ntoolwire proxy --listen 127.0.0.1:8080 -- ${server}`;
  }
  const version = state.connection.version ?? "2026-07-28";
  const method = methodOf(exchange);
  const line = (headers: string[], body: Json) =>
    [
      `curl -sS ${shellWord(url)}`,
      ...["Content-Type: application/json", "Accept: application/json, text/event-stream", ...headers].map(
        // Only the session is a variable of the shell. Names come from the server.
        (header) => `-H ${header === SESSION_HEADER ? `"${header}"` : shellWord(header)}`,
      ),
      `-d ${shellWord(compact(body))}`,
    ].join(" \\\n  ");
  if (state.connection.era === "modern") {
    const prefix = "io.modelcontextprotocol/";
    const meta = {
      [`${prefix}protocolVersion`]: version,
      [`${prefix}clientInfo`]: { name: "curl", version: "1" },
      [`${prefix}clientCapabilities`]: {},
    };
    const mirrored = mirroredHeaders(exchange.schema ?? {}, exchange.arguments);
    if (!mirrored) return NO_HEADER;
    const headers = [
      `MCP-Protocol-Version: ${version}`,
      `Mcp-Method: ${method}`,
      `Mcp-Name: ${headerValue(exchange.name)}`,
      ...mirrored,
    ];
    return line(headers, { jsonrpc: "2.0", id: 1, method, params: { ...paramsOf(exchange), _meta: meta } });
  }
  const initialize = line([], {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "curl", version: "1" } },
  });
  const session = [SESSION_HEADER, `MCP-Protocol-Version: ${version}`];
  return [
    `SESSION=$(${initialize} -D - -o /dev/null | tr -d '\\r' | sed -n 's/^mcp-session-id: //Ip')`,
    line(session, { jsonrpc: "2.0", method: "notifications/initialized" }),
    line(session, { jsonrpc: "2.0", id: 1, method, params: paramsOf(exchange) }),
  ].join("\n");
}

/**
 * Returns the headers of the arguments with `x-mcp-header`, or undefined if a header cannot contain its argument. The rules
 * are those of `crates/toolwire-proto/src/param_headers`.
 */
function mirroredHeaders(schema: JsonObject, values: JsonObject): string[] | undefined {
  const headers: string[] = [];
  for (const [name, property] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (!isObject(property) || value === undefined || value === null) continue;
    const header = property["x-mcp-header"];
    if (typeof header === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(header)) {
      const text = headerText(value);
      if (text === undefined) return undefined;
      headers.push(`Mcp-Param-${header}: ${headerValue(text)}`);
    }
    const inner = isObject(value) ? mirroredHeaders(property, value) : [];
    if (!inner) return undefined;
    headers.push(...inner);
  }
  return headers;
}

/** Returns the text of an argument in a header, or undefined if a header cannot contain it. */
function headerText(value: Json): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  const number = Number(numberText(value) ?? NaN);
  return Number.isSafeInteger(number) ? String(number) : undefined;
}

/** Returns the value of a header. Text that a header cannot contain is encoded. */
function headerValue(text: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
}

/** Returns each part of a character as an escape sequence of JSON. */
const jsonEscape = (character: string) =>
  character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** Returns a character as an escape sequence of Python, which does not combine two halves of a character. */
const pythonEscape = (character: string) =>
  character.length === 1 ? jsonEscape(character) : `\\U${character.codePointAt(0)?.toString(16).padStart(8, "0")}`;

/** Returns a string literal of TypeScript or Python, in which only the escape sequences differ. */
const literal = (text: string, escape: (character: string) => string) =>
  JSON.stringify(text).replace(/[\u007f-\u{10ffff}]/gu, escape);

const typescriptString = (text: string) => literal(text, jsonEscape);

const pythonString = (text: string) => literal(text, pythonEscape);

/** Returns a string literal of Rust. */
function rustString(text: string): string {
  const escaped = escapeHidden(text, codePoint);
  if (escaped !== text) {
    // Hidden characters need escape sequences, so the others do too.
    return `"${escapeHidden(text.replaceAll("\\", "\\\\").replaceAll('"', '\\"'), codePoint)}"`;
  }
  // A raw string needs more marks than the text contains in a row.
  const longest = Math.max(0, ...(text.match(/"#*/g) ?? []).map((run) => run.length));
  const marks = "#".repeat(longest);
  return text.includes('"') || text.includes("\\") ? `r${marks}"${text}"${marks}` : `"${text}"`;
}

/** Returns an expression of Rust with the arguments. */
function rustArguments(value: JsonObject): string {
  if (isPlainJson(value)) return `json!(${format(value).replaceAll("\n", "\n        ")})`;
  return `serde_json::from_str::<serde_json::Value>(${rustString(compact(value))}).expect("valid JSON")`;
}

/** Returns true if `json!` of Rust reads the JSON. It has other escape sequences, and its integers have 32 bits. */
function isPlainJson(value: Json): boolean {
  const number = numberText(value);
  if (number !== undefined) return /^-?\d{1,9}(\.\d{1,9})?$/.test(number);
  if (typeof value === "string") {
    const others = JSON.stringify(value).replace(/\\["\\nrt]/g, "");
    return !others.includes("\\") && escapeHidden(value, () => "") === value;
  }
  if (Array.isArray(value)) return value.every(isPlainJson);
  return !isObject(value) || Object.entries(value).every(([name, member]) => isPlainJson(name) && isPlainJson(member));
}

/** Returns the name of a test, which is an identifier of Rust. */
function rustTestName(exchange: Exchange): string {
  const words = exchange.name.toLowerCase().split(/[^a-z0-9]+/).filter(Boolean).join("_");
  const action = { tools: "call", prompts: "prompt", resources: "read" }[exchange.kind];
  return /^[a-z]/.test(words) ? `${words}_succeeds` : [action, words, "succeeds"].filter(Boolean).join("_");
}

function rust(exchange: Exchange, state: State): string {
  const { url, command } = state.target;
  const [program, ...rest] = command ?? [];
  const connect = url
    ? `Client::connect(${rustString(url)}).await?`
    : `Client::spawn(ServerCommand::new(${rustString(program ?? "")}).args([${rest.map(rustString).join(", ")}])).await?`;
  const values = rustArguments(exchange.arguments);
  const call = {
    tools: `let result = client.call_tool(${rustString(exchange.name)}, ${values}).await?;
    assert_ne!(result.is_error, Some(true), "{result:?}");`,
    prompts: `let result = client.get_prompt(${rustString(exchange.name)}, ${values}).await?;
    assert!(!result.messages.is_empty());`,
    resources: `let result = client.read_resource(${rustString(exchange.name)}).await?;
    assert!(!result.contents.is_empty());`,
  }[exchange.kind];
  const imports = ["Client", ...(url ? [] : ["ServerCommand"])].join(", ");
  const jsonImport = exchange.kind !== "resources" && values.startsWith("json!") ? "use serde_json::json;\n" : "";
  return `${jsonImport}use toolwire::${url ? imports : `{${imports}}`};

#[tokio::test]
async fn ${rustTestName(exchange)}() -> Result<(), toolwire::Error> {
    let client = ${connect};
    ${call}
    client.close().await;
    Ok(())
}`;
}

function typescript(exchange: Exchange, state: State): string {
  const { url, command } = state.target;
  const [program, ...rest] = command ?? [];
  const transport = url ? "StreamableHTTPClientTransport" : "StdioClientTransport";
  const made = url
    ? `new ${transport}(new URL(${typescriptString(url)}))`
    : `new ${transport}({ command: ${typescriptString(program ?? "")}, args: [${rest.map(typescriptString).join(", ")}] })`;
  const method = { tools: "callTool", prompts: "getPrompt", resources: "readResource" }[exchange.kind];
  const imports = url
    ? `import { Client, ${transport} } from "@modelcontextprotocol/client";`
    : `import { Client } from "@modelcontextprotocol/client";\nimport { ${transport} } from "@modelcontextprotocol/client/stdio";`;
  return `${imports}

const client = new Client({ name: "example", version: "1.0.0" });
await client.connect(${made});
const result = await client.${method}(${escapeHidden(format(paramsOf(exchange)), jsonEscape)});
console.dir(result, { depth: null });
await client.close();`;
}

function python(exchange: Exchange, state: State): string {
  const { url, command } = state.target;
  const [program, ...rest] = command ?? [];
  const target = url
    ? pythonString(url)
    : `StdioServerParameters(command=${pythonString(program ?? "")}, args=[${rest.map(pythonString).join(", ")}])`;
  const name = pythonString(exchange.name);
  // The arguments are JSON text, because Python writes true, false and null in another way.
  const values = `json.loads(${pythonString(compact(exchange.arguments))})`;
  const call = {
    tools: `client.call_tool(${name}, ${values})`,
    prompts: `client.get_prompt(${name}, ${values})`,
    resources: `client.read_resource(${name})`,
  }[exchange.kind];
  const imports = url ? "from mcp import Client" : "from mcp import Client, StdioServerParameters";
  return `import asyncio
${exchange.kind === "resources" ? "" : "import json\n"}
${imports}


async def main():
    async with Client(${target}) as client:
        print(await ${call})


asyncio.run(main())`;
}
