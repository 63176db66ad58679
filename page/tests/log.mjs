// A log of 20,000 entries, compared with one of 1,000.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, ensure, equal, inAppearances, inspect, keystroke, open, show } from "./browser.mjs";

const HEADER = { format: "mcplog", version: 1, began: "", tool: "", redacted: [], target: "stdio" };
const HOSTILE = "<img src=x onerror=alert(1)> \u202egnp.exe \u001b[31mred <script>alert(1)</script>";

/** The number of entries of the long log. `page --times` measures 100,000. */
const MANY = 20_000;

/** Writes a record with this many events. */
export function writeLog(path, count) {
  const lines = [JSON.stringify(HEADER), JSON.stringify({ t: 1, conn: 1, kind: "stderr", text: HOSTILE })];
  for (let id = 1; lines.length <= count; id++) {
    const params = { name: `tool_${id % 100}`, arguments: { text: "some words that fill the line ".repeat(8) } };
    const body = id % 2 ? { jsonrpc: "2.0", id, method: "tools/call", params } : { jsonrpc: "2.0", id: id - 1, result: params };
    lines.push(JSON.stringify({ t: id * 100, conn: 1, dir: id % 2 ? "out" : "in", kind: "message", body }));
  }
  writeFileSync(path, `${lines.join("\n")}\n`);
}

/** Scrolls through the log, and returns the times until the page is laid out. */
export async function scrolls(page) {
  return page.getByRole("listbox", { name: "Log entries" }).evaluate(async (list) => {
    const times = [];
    for (let part = 0; part < 12; part++) {
      const start = performance.now();
      list.scrollTop = (list.scrollHeight * part) / 12;
      list.dispatchEvent(new Event("scroll"));
      await new Promise((resolve) => setTimeout(resolve));
      list.getBoundingClientRect();
      times.push(performance.now() - start);
    }
    return times;
  });
}

/** Opens the log of a record, and measures what the user does with it. Returns the best times in milliseconds. */
async function measure(browser, path, count) {
  writeLog(path, count);
  const command = await inspect(path);
  const { context, page, problems } = await open(browser, command.url);
  await show(page, "Log");
  await page.getByText(`${count} of ${count} entries`).waitFor();
  ensure((await page.getByRole("option").count()) < 80, "too many rows");
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  const scroll = (await scrolls(page)).sort((a, b) => a - b)[3];
  const field = page.getByRole("searchbox", { name: "Filter the log" });
  const filter = await keystroke(field, ["t", "to", "too", "tool", "tool_7", "fill"]);
  await field.fill("tool_77");
  await page.getByText(`${count / 100} of ${count} entries`).waitFor();
  await field.fill("kind:stderr");
  await page.getByRole("option").first().click();
  await page.getByRole("article").getByText("<script>alert(1)</script>").waitFor();
  ensure(!/[\u202e\u001b]/.test(await page.locator("body").innerText()), "a control character is shown");
  if (count < MANY) await inAppearances(page, "a log with hostile text");
  equal(problems, []);
  await context.close();
  command.end();
  return { scroll, filter, nodes };
}

/** The beginning of an entry, which is all that the page has of it. */
const LONG = "hay ".repeat(1000);

/** Opens the log of a record in which words are far from the beginnings of the entries. */
async function searchChecks(browser, path) {
  const lines = [`${LONG}Needle`, `${LONG}pin`, "pin needle", "hay"].map((text, t) => JSON.stringify({ t, conn: 1, kind: "stderr", text }));
  writeFileSync(path, `${[JSON.stringify(HEADER), ...lines].join("\n")}\n`);
  const command = await inspect(path);
  const { context, page, problems } = await open(browser, command.url);
  await show(page, "Log");
  const field = page.getByRole("searchbox", { name: "Filter the log" });
  // The messages of the page itself are also in the log.
  const finds = async (words, count) => {
    await field.fill(`kind:stderr ${words}`);
    await page.getByText(new RegExp(`^${count} of`)).waitFor();
  };

  await check("words_are_found_in_whole_entries", async () => {
    await finds("", 4);
    await finds("needle", 2);
    await finds("pin needle", 1);
    await finds("-needle", 2);
    await finds("needle -pin", 1);
    await page.getByRole("option").click();
    await page.getByRole("article").getByText(/Needle/).waitFor();
    await finds("nothing", 0);
    equal(problems, []);
  });

  await check("failed_search_is_shown", async () => {
    await page.route("**/api/log/search", (route) => route.fulfill({ status: 500, json: { error: "it is broken" } }));
    await finds("needl", 1);
    await page.getByText("Only the beginnings of long entries were searched: it is broken").waitFor();
    await inAppearances(page, "a failed search");
  });
  await context.close();
  command.end();
}

/** Opens the log of a record with failures, and with two connections that use the same ids. */
async function rowChecks(browser, path) {
  const message = (t, conn, dir, body) => JSON.stringify({ t, conn, dir, kind: "message", body: { jsonrpc: "2.0", ...body } });
  const call = (t, conn, id, name) => message(t, conn, "out", { id, method: "tools/call", params: { name, arguments: {} } });
  const result = { content: [], structuredContent: { error: "none" } };
  const lines = [
    call(1_000_000, 1, 1, "add"),
    message(2_000_000, 1, "out", { id: 2, method: "prompts/get", params: { name: "greet" } }),
    message(3_000_000, 1, "out", { id: 3, method: "resources/read", params: { uri: "demo://notes" } }),
    call(4_000_000, 2, 1, "fail"),
    message(5_000_000, 1, "in", { id: 1, result }),
    message(6_000_000, 1, "in", { id: 2, error: { code: -32602, message: "no such prompt" } }),
    message(7_000_000, 2, "in", { id: 1, result: { content: [], isError: true } }),
    message(11_000_000, 2, "in", { method: "notifications/resources/updated", params: { uri: "demo://notes" } }),
    message(12_345_000, 2, "in", { method: "notifications/tools/list_changed" }),
  ];
  writeFileSync(path, `${[JSON.stringify(HEADER), ...lines].join("\n")}\n`);
  const command = await inspect(path);
  const { context, page, problems } = await open(browser, command.url);
  await show(page, "Log");
  await page.getByText(`${lines.length} of ${lines.length} entries`).waitFor();

  await check("rows_begin_with_what_the_entries_are_about", async () => {
    equal(await page.locator(".log-subject").allInnerTexts(), [
      "add tools/call",
      "greet prompts/get",
      "demo://notes resources/read",
      "fail tools/call",
      "add tools/call",
      "-32602 no such prompt greet prompts/get",
      "tool error fail tools/call",
      "demo://notes notifications/resources/updated",
      "notifications/tools/list_changed",
    ]);
    const places = await page.locator(".log-line .badge").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().x));
    equal(new Set(places).size, 1, "columns of the kind");
    await inAppearances(page, "a log with failures");
  });

  await check("timeline_shows_failures_and_open_requests", async () => {
    const classes = await page.locator(".timeline rect").evaluateAll((all) => all.map((one) => one.getAttribute("class")));
    equal(classes, ["done", "failed", "open", "failed"]);
    const titles = await page.locator(".timeline title").allTextContents();
    equal(titles, ["tools/call add 4000.0 ms", "prompts/get greet 4000.0 ms, failed", "resources/read demo://notes open", "tools/call fail 3000.0 ms, failed"]);
  });

  await check("connection_is_a_part_of_the_filter", async () => {
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("conn:2 method:tools/call");
    await page.getByText(/^2 of/).waitFor();
    equal(problems, []);
  });
  await context.close();
  command.end();
}

export async function logChecks(browser) {
  const found = mkdtempSync(join(tmpdir(), "toolwire-page-"));
  await searchChecks(browser, join(found, "long.mcplog"));
  await rowChecks(browser, join(found, "failures.mcplog"));
  rmSync(found, { recursive: true });

  await check("log_of_20000_entries_is_as_fast_as_of_1000", async () => {
    const directory = mkdtempSync(join(tmpdir(), "toolwire-page-"));
    const few = await measure(browser, join(directory, "few.mcplog"), 1000);
    const many = await measure(browser, join(directory, "many.mcplog"), MANY);
    rmSync(directory, { recursive: true });
    ensure(many.nodes < 2 * few.nodes, `${many.nodes} and ${few.nodes} elements`);
    for (const what of ["scroll", "filter"]) {
      ensure(many[what] < 10 * Math.max(few[what], 1), `${what}: ${many[what]} ms and ${few[what]} ms`);
    }
  });
}
