// The command line of the Inspector as the client of `toolwire demo`. Each check starts it once, and it makes one call.
//
//     node inspector_client.mjs <revision> stdio <command> [arguments...] | http <url> | sse <url>

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { runChecks } from './checks.mjs';

const INSPECTOR = fileURLToPath(new URL('./node_modules/.bin/mcp-inspector', import.meta.url));
const [revision, wire, ...target] = process.argv.slice(2);

const ERA = revision >= '2026' ? 'modern' : 'legacy';

/** Returns the printed result of a method. The error has the text that the Inspector prints instead. */
function inspect(method, ...options) {
  const endpoint = wire === 'stdio' ? target : [...target, '--transport', wire];
  const args = [INSPECTOR, '--cli', ...endpoint, '--protocol-era', ERA, '--method', method, '--quiet', ...options];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      // The Inspector exits with an error if a result is an error of the tool, but it prints the result.
      if (stdout.trim()) resolve(JSON.parse(stdout));
      else reject(new Error(stderr || error?.message));
    });
  });
}

const pairs = object => Object.entries(object).map(([key, value]) => `${key}=${value}`);

await runChecks({
  connect: async () => {
    const { protocolVersion, serverInfo } = await inspect('initialize');
    return { revision: protocolVersion, server: serverInfo.name };
  },
  listTools: () => inspect('tools/list'),
  callTool: (name, parameters) => {
    const options = pairs(parameters).flatMap(pair => ['--tool-arg', pair]);
    return inspect('tools/call', '--tool-name', name, ...options);
  },
  listResources: () => inspect('resources/list'),
  readResource: uri => inspect('resources/read', '--uri', uri),
  getPrompt: (name, parameters) => inspect('prompts/get', '--prompt-name', name, '--prompt-args', ...pairs(parameters)),
  // The Inspector prints no codes, and does not call a tool that is not listed.
  isUnknownTool: error => error.message.includes('"code":"tool_not_found"'),
  isMissingResource: error => error.message.includes('Resource not found'),
  // Each process has closed its connection before it exited.
  close: async () => {},
}, revision);
