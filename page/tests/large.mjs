// Results of 5 MB, and more lines on standard error than the log stores.

import { fileURLToPath } from "node:url";
import { check, ensure, equal, inAppearances, inspect, open, select, show } from "./browser.mjs";

const SERVER = fileURLToPath(new URL("large_server.mjs", import.meta.url));

/** The command for a server with large results. */
export const LARGE_SERVER = ["--era", "legacy", "--", process.execPath, SERVER];

/** The tools of this server with a result of 5 MB. */
export const LARGE_RESULTS = ["one_text", "long_list", "many_members", "many_blocks"];

/** The limit of the log. */
const ENTRIES = 100_000;

/** The maximum number of elements of the page. A list of rows in a window has a few hundred. */
const ELEMENTS = 1500;

/** The maximum number of characters of a folded result: 20 blocks of 20,000. */
const CHARACTERS = 400_000;

/** Calls a tool with a large result, and waits for the result. */
export async function callLarge(page, tool) {
  await select(page, tool, tool);
  await page.getByRole("heading", { name: tool }).waitFor();
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByRole("region", { name: "Result", exact: true }).waitFor();
}

/** Writes lines on standard error of the server, and waits until it has written them. */
export function writeLines(page, lines) {
  return page.evaluate(async (lines) => {
    const headers = { authorization: `Bearer ${localStorage.getItem("toolwire-token")}`, "content-type": "application/json" };
    const params = { name: "write_lines", arguments: { lines } };
    const body = JSON.stringify({ method: "tools/call", params, wait: true });
    const outcome = await (await fetch("/api/calls", { method: "POST", headers, body })).json();
    if (outcome.failed) throw new Error(JSON.stringify(outcome));
  }, lines);
}

const elements = (page) => page.evaluate(() => document.querySelectorAll("*").length);

export async function largeChecks(browser) {
  const command = await inspect(...LARGE_SERVER);
  const { context, page, problems } = await open(browser, command.url);
  const outcome = page.getByRole("region", { name: "Result", exact: true });
  const isFolded = async (what) => {
    const [count, length] = [await elements(page), (await page.locator("body").innerText()).length];
    ensure(count < ELEMENTS && length < CHARACTERS, `${what} has ${count} elements and ${length} characters`);
  };

  await check("results_of_5_mb_are_folded", async () => {
    for (const tool of LARGE_RESULTS) {
      await callLarge(page, tool);
      await outcome.getByText(/^[\d.]+ ms, (4|5)\.\d MiB$/).waitFor();
      if (tool === "long_list") await outcome.locator("summary").filter({ hasText: "items" }).click();
      const more = outcome.getByRole("button", { name: /^Show (all \d{7} characters|(20|100) of \d+ more)$/ });
      await more.first().waitFor();
      equal(await more.count(), 1, `folded parts of ${tool}`);
      await isFolded(tool);
      await outcome.getByRole("button", { name: "Raw" }).click();
      await outcome.getByRole("button", { name: /^Show all \d{7,8} characters$/ }).waitFor();
      await isFolded(`${tool} as JSON`);
    }
  });

  await check("folded_blocks_are_shown_in_parts", async () => {
    await outcome.getByRole("button", { name: "Raw" }).click();
    equal(await outcome.locator(".content").count(), 20);
    await outcome.getByRole("button", { name: "Show 20 of 19980 more" }).click();
    await outcome.getByRole("button", { name: "Show 20 of 19960 more" }).waitFor();
    equal(await outcome.locator(".content").count(), 40);
    await inAppearances(page, "a folded result");
  });

  await check("log_entry_of_5_mb_is_folded", async () => {
    await show(page, "Log");
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("kind:message dir:in method:tools/call");
    await page.getByText(new RegExp(`^${LARGE_RESULTS.length} of \\d+ entries$`)).waitFor();
    await page.getByRole("option").first().click();
    await page.getByRole("article").getByText("only the beginning is stored").waitFor();
    await page.getByRole("article").getByRole("button", { name: /^Show all \d{7} characters$/ }).waitFor();
    await isFolded("an entry of the log");
  });

  await check("full_log_has_its_newest_entries", async () => {
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("");
    await writeLines(page, ENTRIES + 500);
    const rows = page.getByRole("option");
    await page.getByText(`${ENTRIES} of ${ENTRIES} entries`).waitFor();
    await rows.filter({ hasText: `line ${ENTRIES + 499} ` }).waitFor();
    equal(await rows.last().getAttribute("aria-posinset"), String(ENTRIES), "the position of the last row");
    await isFolded("a full log");
    await page.getByRole("listbox", { name: "Log entries" }).press("Home");
    await rows.and(page.locator('[aria-posinset="1"]')).waitFor();
    const oldest = Number(/line (\d+) /.exec(await rows.first().innerText())?.[1]);
    ensure(oldest >= 500 && oldest < 600, `the oldest line is ${oldest}`);
    await isFolded("the beginning of a full log");
  });

  await check("no_violation_of_the_policy", async () => equal(problems, []));
  await context.close();
  command.end();
}
