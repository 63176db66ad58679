// Measures the page and the start of its commands: `cargo xtask page --times`. It prints the best and the median of some runs
// in milliseconds. Tests compare relations only, because a busy machine is slow.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { inspect, keystrokes, launch, open, show, start } from "./browser.mjs";
import { callLarge, LARGE_RESULTS, LARGE_SERVER, writeLines } from "./large.mjs";
import { scrolls, writeLog } from "./log.mjs";

/** How often the commands are started. */
const STARTS = 10;
const TOOLS = 1000;
const ENTRIES = 100_000;

/** The number of lines that the server writes while the log is scrolled. */
const ADDED = 20_000;

/** A server that responds to nothing, so that only the start of the command counts. */
const SILENT = ["--", "sh", "-c", "while read -r line; do :; done"];

function print(what, times) {
  const sorted = [...times].sort((a, b) => a - b);
  const [best, median] = [sorted[0], sorted[sorted.length >> 1]];
  console.log(`${what}: ${best.toFixed(1)} ms, median ${median.toFixed(1)} ms`);
}

/** Returns the times from the start of a command until its page has responded. */
async function starts(words, options) {
  const times = [];
  for (let count = 0; count < STARTS; count++) {
    const begin = performance.now();
    const command = await start(words, options);
    const response = await fetch(new URL("/", command.url));
    await response.arrayBuffer();
    times.push(performance.now() - begin);
    command.end();
  }
  return times;
}

/** Writes a record of a server with many tools. */
function writeTools(path) {
  const tools = Array.from({ length: TOOLS }, (_, number) => ({
    name: `tool_${number}`,
    description: `The tool with the number ${number}.`,
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
  }));
  const serverInfo = { name: "many", version: "1" };
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: serverInfo };
  const exchanges = [
    ["initialize", initialize, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo }],
    ["tools/list", {}, { tools }],
  ];
  const lines = [{ format: "mcplog", version: 1, began: "", tool: "", redacted: [], target: "stdio" }];
  exchanges.forEach(([method, params, result], id) => {
    lines.push({ t: 2 * id, conn: 1, dir: "out", kind: "message", body: { jsonrpc: "2.0", id, method, params } });
    lines.push({ t: 2 * id + 1, conn: 1, dir: "in", kind: "message", body: { jsonrpc: "2.0", id, result } });
  });
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

/** Collects the tasks over 50 ms, which a user notices, of each page that is opened from now on. */
function observeLongTasks(context) {
  return context.addInitScript(() => {
    globalThis.longTasks = [];
    globalThis.longTaskObserver = new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries()));
    globalThis.longTaskObserver.observe({ type: "longtask" });
  });
}

/** Prints the tasks over 50 ms since the last time. */
async function printLongTasks(page, what) {
  const long = await page.evaluate(() => {
    globalThis.longTasks.push(...globalThis.longTaskObserver.takeRecords());
    return globalThis.longTasks.splice(0).map((entry) => entry.duration);
  });
  console.log(`tasks over 50 ms, ${what}: ${long.length}, the longest ${Math.max(0, ...long).toFixed(0)} ms`);
}

/** Stores the time of the first frame with an item of a list in each page that is opened from now on. */
function observeFirstItem(context) {
  return context.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (!document.querySelector('[role="option"]')) return;
      observer.disconnect();
      requestAnimationFrame(() => (globalThis.firstItem = performance.now()));
    });
    observer.observe(document, { childList: true, subtree: true });
  });
}

// Each started command adds a listener for the end of this process.
process.setMaxListeners(0);
const directory = mkdtempSync(join(tmpdir(), "toolwire-times-"));
const path = (name) => join(directory, name);
mkdirSync(path("src"));
writeTools(path("tools.mcplog"));
writeLog(path("log.mcplog"), ENTRIES);
print("start of `inspect` with a record, until the page has responded", await starts(["inspect", path("tools.mcplog")]));
print("start of `dev`, until the page has responded", await starts(["dev", ...SILENT], { cwd: directory }));

const browser = await launch();
const tools = await start(["inspect", path("tools.mcplog")]);
const list = await open(browser, tools.url);
await observeFirstItem(list.context);
const shown = [];
for (let count = 0; count < STARTS; count++) {
  await list.page.reload();
  await list.page.getByText(`${TOOLS} of ${TOOLS} tools`).waitFor();
  await list.page.waitForFunction(() => globalThis.firstItem !== undefined);
  shown.push(
    await list.page.evaluate(() => {
      const [request] = performance.getEntriesByName(`${location.origin}/api/lists/tools`);
      return globalThis.firstItem - request.startTime;
    }),
  );
}
print(`${TOOLS} tools, from the request for the list until the first frame with it`, shown);
print(`filter of ${TOOLS} tools, per keystroke`, await keystrokes(list.page.getByRole("searchbox").first(), ["tool 9", "tool 99", "tool 5", "", "number 77"]));
await list.context.close();
tools.end();

const command = await start(["inspect", path("log.mcplog")]);
const log = await open(browser, command.url);
const shownLog = async (page) => {
  await show(page, "Log");
  await page.getByText(`${ENTRIES} of ${ENTRIES} entries`).waitFor();
};
await observeLongTasks(log.context);
await log.page.reload();
await shownLog(log.page);
await printLongTasks(log.page, `while a log of ${ENTRIES} entries is loaded`);
print(`scroll in a log of ${ENTRIES} entries`, await scrolls(log.page));
const field = log.page.getByRole("searchbox", { name: "Filter the log" });
print(`filter of a log of ${ENTRIES} entries, per keystroke`, await keystrokes(field, ["t", "to", "too", "tool", "tool_7", "fill"]));
const begin = performance.now();
await field.fill("tool_77");
await log.page.getByText(`${ENTRIES / 100} of ${ENTRIES} entries`).waitFor();
print("the same filter, until all whole texts are searched", [performance.now() - begin]);
await printLongTasks(log.page, "while this log is scrolled and filtered");
await log.context.close();
command.end();

const large = await inspect(...LARGE_SERVER);
const live = await open(browser, large.url);
await observeLongTasks(live.context);
await live.page.reload();
await writeLines(live.page, ENTRIES);
await shownLog(live.page);
await printLongTasks(live.page, `while the server writes ${ENTRIES} lines`);
let isWriting = true;
const writing = writeLines(live.page, ADDED).then(() => (isWriting = false));
const scrolled = [];
while (isWriting) scrolled.push(...(await scrolls(live.page)));
await writing;
print(`scroll in a log of ${ENTRIES} entries, while the server writes ${ADDED} lines`, scrolled);
await printLongTasks(live.page, "meanwhile");
await show(live.page, "Tools");
for (const tool of LARGE_RESULTS) {
  const called = performance.now();
  await callLarge(live.page, tool);
  print(`call with a result of 5 MB, ${tool.replace("_", " ")}`, [performance.now() - called]);
  await printLongTasks(live.page, "meanwhile");
}
await live.context.close();
large.end();
await browser.close();
rmSync(directory, { recursive: true });
process.exit();
