// A record of the demo server: written, downloaded, opened without the server, and compared with the server.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, ensure, equal, inAppearances, inspect, open, picture, select, show } from "./browser.mjs";

/** `looksWell` checks what the page shows in several sizes and colours. */
export async function recordChecks(browser, page, looksWell) {
  const directory = mkdtempSync(join(tmpdir(), "toolwire-page-"));
  const file = join(directory, "demo.mcplog");
  const outcome = page.getByRole("region", { name: "Result", exact: true });
  const report = page.getByRole("region", { name: /^Comparison with/ });
  const call = () => page.getByRole("button", { name: "Call", exact: true }).click();

  await check("record_is_downloaded", async () => {
    await show(page, "Record");
    await page.getByRole("button", { name: "Start recording" }).click();
    await page.getByText("Recording.", { exact: true }).waitFor();
    await looksWell("a running record");
    await show(page, "Tools");
    await select(page, "add", "add");
    await page.getByLabel("Arguments as JSON").fill('{"a": 40, "b": 2}');
    await call();
    await outcome.getByText("matches the output schema").waitFor();
    await select(page, "approve", "approve");
    await page.getByLabel("question (required)").fill("Really?");
    await call();
    const inputs = page.getByRole("complementary");
    await inputs.getByText("Really?").waitFor();
    await inputs.getByRole("button", { name: "Decline" }).click();
    await outcome.waitFor();
    await show(page, "Record");
    await page.getByRole("button", { name: "Stop recording" }).click();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const download = await downloading;
    ensure(/\.mcplog$/.test(download.suggestedFilename()), download.suggestedFilename());
    await download.saveAs(file);
    const [header, ...events] = readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    equal(header.format, "mcplog");
    const methods = events.flatMap(({ body }) => body?.method ?? []);
    for (const method of ["tools/list", "tools/call"]) ensure(methods.includes(method), methods.join());
  });

  await check("server_does_not_differ_from_its_record", async () => {
    await page.getByRole("button", { name: "Compare with the last record" }).click();
    await page.getByText(/^These tools may change something: /).waitFor();
    await looksWell("a comparison that needs permission");
    await page.getByRole("button", { name: "Call them again" }).click();
    await report.getByText(/^\d+ same, 0 different, 0 skipped$/).waitFor();
  });

  await check("differences_from_a_record_are_shown", async () => {
    const changed = join(directory, "changed.mcplog");
    writeFileSync(changed, readFileSync(file, "utf8").replaceAll("42", "43"));
    await page.getByLabel("Compare with a file").setInputFiles(changed);
    await page.getByRole("button", { name: "Call them again" }).click();
    await report.getByText(/^\d+ same, 1 different, 0 skipped$/).waitFor();
    await page.locator(".difference code").filter({ hasText: "/result/structuredContent" }).first().waitFor();
    await picture(page, "inspect-record", { last: report });
    await looksWell("differences from a record");
  });

  await check("record_is_opened_without_its_server", async () => {
    const opened = await inspect(file);
    const { context, page: other, problems } = await open(browser, opened.url);
    await select(other, "add", "add");
    await other.getByLabel("Arguments as JSON").fill('{"a": 40, "b": 2}');
    await other.getByRole("button", { name: "Call", exact: true }).click();
    const result = other.getByRole("region", { name: "Result", exact: true });
    await result.getByText("matches the output schema").waitFor();
    await show(other, "Log");
    await other.getByRole("searchbox", { name: "Filter the log" }).fill("method:tools/call dir:out");
    await other.getByText(/^[1-9]\d* of/).waitFor();
    await show(other, "Record");
    await other.getByText("This page shows the record").waitFor();
    await inAppearances(other, "an opened record");
    await show(other, "Settings");
    await inAppearances(other, "Settings of a record");
    equal(problems, []);
    await context.close();
    opened.end();
  });
  rmSync(directory, { recursive: true });
}
