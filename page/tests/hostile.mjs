// The page with a server whose schemas and results try to stop it.

import { fileURLToPath } from "node:url";
import { accessible, check, ensure, equal, hasValue, inspect, open, select } from "./browser.mjs";

const SERVER = fileURLToPath(new URL("hostile_server.mjs", import.meta.url));

export async function hostile(browser) {
  const command = await inspect("--era", "legacy", "--", process.execPath, SERVER);
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
    await accessible(page, "a tool without a form");
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
    await inputs.getByText("/\\u{202e}name\\u{1b}[31m", { exact: true }).waitFor();
    ensure(!/[\u202e\u001b]/.test(await inputs.innerText()), "a control character is shown");
    await inputs.getByRole("button", { name: "Decline" }).click();
    await outcome.getByText(/decline/).first().waitFor();
  });

  await check("no_violation_of_the_policy", async () => equal(problems, []));
  await context.close();
  command.end();
}
