// The page with a server whose schemas and results try to stop it.

import { fileURLToPath } from "node:url";
import { check, ensure, equal, hasValue, inAppearances, open, select, show, start } from "./browser.mjs";

const SERVER = fileURLToPath(new URL("hostile_server.mjs", import.meta.url));

export async function hostile(browser) {
  // Nothing listens there, but requests belong to a trace.
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
  const command = await start(["inspect", "--era", "legacy", "--", process.execPath, SERVER], { env });
  const { context, page, problems } = await open(browser, command.url);
  const outcome = page.getByRole("region", { name: "Result", exact: true });
  const json = page.getByLabel("Arguments as JSON");

  await check("endless_schema_is_edited_as_json", async () => {
    for (const tool of ["cyclic_all_of", "cyclic_any_of", "nested_variants"]) {
      await select(page, tool, tool);
      await page.getByRole("heading", { name: tool }).waitFor();
      await json.fill('{"a": 1}');
      await page.getByText(/^There is no form, because the schema or the value /).waitFor();
      equal(await page.locator(".details .form").count(), 0, "forms");
      await hasValue(json, '{"a":1}');
    }
    await inAppearances(page, "a tool without a form");
  });

  await check("invalid_pointer_is_no_constraint", async () => {
    await select(page, "bad_pointer", "bad_pointer");
    await page.getByLabel("a (required)").fill("text");
    await hasValue(json, '{"a":"text"}');
  });

  await check("failing_part_leaves_the_rest_of_the_page", async () => {
    await select(page, "bad_result", "bad_result");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await outcome.getByText(/^The result cannot be shown: /).waitFor();
    await outcome.getByRole("button", { name: "Raw" }).click();
    await outcome.getByText(/"toString": 1/).waitFor();
    await select(page, "bad_pointer", "bad_pointer");
    await page.getByLabel("a (required)").waitFor();
  });

  await check("names_in_an_input_request_are_plain_lines", async () => {
    await select(page, "ask", "ask");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const inputs = page.getByRole("complementary");
    await inputs.getByText(/^response\.\\u\{202e\}name\\u\{1b\}\[31m: "" is shorter than 3 /).waitFor();
    ensure(!/[\u202e\u001b]/.test(await inputs.innerText()), "a control character is shown");
    await inputs.getByRole("button", { name: "Decline" }).click();
    await outcome.getByText(/decline/).first().waitFor();
  });

  await check("image_is_shown_and_sound_is_played", async () => {
    await select(page, "media", "media");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const image = outcome.getByRole("img", { name: "Image of the server, image/png" });
    await image.waitFor();
    equal(await image.evaluate(async (one) => (await one.decode(), [one.naturalWidth, one.naturalHeight])), [1, 1]);
    const sound = outcome.getByLabel("Sound of the server, audio/wav");
    ensure(await sound.evaluate((one) => one.controls && one.paused), "no control");
    await sound.evaluate(async (one) => {
      one.muted = true;
      const ended = new Promise((resolve) => one.addEventListener("ended", resolve));
      await one.play();
      await ended;
    });
    await inAppearances(page, "an image and a sound");
  });

  await check("long_names_are_broken", async () => {
    await page.getByRole("searchbox").first().fill("wide");
    await page.getByRole("option").first().click();
    await page.getByRole("button", { name: "Add added" }).click();
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await outcome.getByText(/^https:\/\/example\.com/).waitFor();
    const folded = page.locator(".details details:not([open]) > summary:visible");
    while ((await folded.count()) > 0) await folded.first().click();
    await inAppearances(page, "a tool with long names");
    await show(page, "Log");
    await page.getByRole("option").last().click();
    await page.getByRole("article").waitFor();
    await inAppearances(page, "an entry with long names");
    await show(page, "Tools");
    await select(page, "media", "media");
  });

  await check("trace_id_is_copied", async () => {
    await outcome.getByRole("button", { name: "Copy trace id" }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    ensure(/^[0-9a-f]{32}$/.test(copied) && (await outcome.innerText()).includes(copied), copied);
  });

  await check("failed_connection_is_shown_and_opened_again", async () => {
    await select(page, "exit", "exit");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("alert").getByRole("button", { name: "Connect again" }).waitFor();
    await page.getByText("There is no connection.").waitFor();
    await inAppearances(page, "a failed connection");
    await page.getByRole("alert").getByRole("button", { name: "Connect again" }).click();
    await page.getByRole("status").filter({ hasText: /^connected$/ }).first().waitFor();
  });

  await check("no_violation_of_the_policy", async () => equal(problems, []));
  await context.close();
  command.end();
}
