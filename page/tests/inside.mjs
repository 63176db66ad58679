// The inside view: what a server that is written with toolwire reports about a call, and a server that lies.

import { fileURLToPath } from "node:url";
import { check, ensure, equal, inAppearances, inspect, open, picture, select, show, TOOLWIRE } from "./browser.mjs";

const HOSTILE_SERVER = fileURLToPath(new URL("hostile_server.mjs", import.meta.url));
const ANNOUNCEMENT = "the server reports what happens inside of it";

/** Waits until the log has an entry, and returns to the tools. */
async function inLog(page, text) {
  await show(page, "Log");
  await page.getByRole("option").filter({ hasText: text }).first().waitFor();
  await show(page, "Tools");
}

export async function insideChecks(browser) {
  const command = await inspect("--", TOOLWIRE, "demo", "--stdio");
  const { context, page, problems } = await open(browser, command.url);
  const inside = page.getByRole("region", { name: "Inside of the server" });
  await inLog(page, ANNOUNCEMENT);

  await check("parts_of_a_call_have_their_times", async () => {
    await select(page, "add", "add");
    await page.getByLabel("a (required)").fill("40");
    await page.getByLabel("b (required)").fill("2");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await inside.getByRole("rowheader", { name: "handler" }).waitFor();
    await inside.getByText("tools/call add", { exact: true }).waitFor();
    ensure(/ok, \d+\.\d{3} ms/.test(await inside.innerText()), await inside.innerText());
    // The page listens to changes of the lists.
    await inside.getByText(/^Running requests: 1, open streams: 1, queued messages: \d+$/).waitFor();
    const first = page.getByRole("region", { name: "Result", exact: true });
    await picture(page, "inspect-inside", { first, last: inside });
    await inAppearances(page, "the inside of a call");
  });

  await check("rejected_arguments_have_their_path", async () => {
    await page.getByLabel("Arguments as JSON").fill('{"a": "x", "b": 2}');
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await inside.getByText(/tool error/).waitFor();
    await inside.getByText("Rejected arguments:").waitFor();
    await inside.getByText("arguments.a", { exact: true }).waitFor();
    await inAppearances(page, "rejected arguments");
  });

  await check("report_is_in_the_log", async () => {
    await show(page, "Log");
    await page.getByRole("searchbox").first().fill("kind:inside method:tools/call");
    await page.getByRole("option").first().click();
    await page.getByRole("article").getByRole("rowheader", { name: "handler" }).waitFor();
    await inAppearances(page, "a report in the log");
  });

  await check("no_violation_of_the_policy", async () => equal(problems, []));
  await context.close();
  command.end();
  await hostileReports(browser);
}

/** A server that writes reports of its own. */
async function hostileReports(browser) {
  const command = await inspect("--era", "legacy", "--", process.execPath, HOSTILE_SERVER);
  const { context, page, problems } = await open(browser, command.url);
  const inside = page.getByRole("region", { name: "Inside of the server" });
  await inLog(page, ANNOUNCEMENT);

  await check("report_of_a_hostile_server_is_shown_as_text", async () => {
    await select(page, "media", "media");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await inside.getByRole("rowheader", { name: "<img src=x onerror=alert(1)>\\u{202e}", exact: true }).waitFor();
    await inside.getByText(/^Running requests: 18446744073709551615,/).waitFor();
    ensure(!/[\u202e\u001b]/.test(await inside.innerText()), "a control character is shown");
    equal(await inside.locator("img").count(), 0, "images");
    await inAppearances(page, "a hostile report");
  });

  await check("no_violation_of_the_policy_by_reports", async () => equal(problems, []));
  await context.close();
  command.end();
}
