// The page with `toolwire demo`, in one era.

import { execFileSync } from "node:child_process";
import {
  APPEARANCES, accessible, becomes, check, containsValue, ensure, environment, equal, fits, hasValue, inAppearances, open, picture, resize, select, show,
} from "./browser.mjs";
import { recordChecks } from "./record.mjs";

export async function demo(browser, url, era) {
  const { context, page, problems } = await open(browser, url);
  const looksWell = (what) => inAppearances(page, what, APPEARANCES[era]);
  const outcome = page.getByRole("region", { name: "Result", exact: true });
  const inputs = page.getByRole("complementary");
  const json = page.getByLabel("Arguments as JSON");
  /** Returns the number of the connection, or undefined while there is none. */
  const connection = () =>
    page.evaluate(async () => {
      const headers = { authorization: `Bearer ${localStorage.getItem("toolwire-token")}` };
      return (await (await fetch("/api/state", { headers })).json()).connection.number;
    });
  const reconnected = async (before) => {
    for (let number = before; number === undefined || number === before; ) number = await connection();
  };
  const call = (name = "Call") => page.getByRole("button", { name, exact: true }).click();

  await check("secret_leaves_the_address", async () => {
    ensure(!page.url().includes("#"), page.url());
    const other = await context.newPage();
    await other.goto(new URL("/", url).href);
    await other.getByRole("status").filter({ hasText: /^connected$/ }).first().waitFor();
    await other.close();
  });

  await check("form_and_json_edit_one_value", async () => {
    await select(page, "add", "add");
    await page.getByLabel("a (required)").fill("2");
    await containsValue(json, '"a":2');
    await json.fill('{"a": 12345678901234567890, "b": 3, "kept": [1.0]}');
    await hasValue(page.getByLabel("a (required)"), "12345678901234567890");
    await page.getByLabel("b (required)").fill("4");
    await hasValue(json, '{"a":12345678901234567890,"b":4,"kept":[1.0]}');
    // Numbers that JavaScript cannot tell apart are different values.
    await page.getByLabel("a (required)").fill("12345678901234567891");
    await containsValue(json, '"a":12345678901234567891,');
    await json.fill('{"a": 1.0, "b": 4}');
    await page.getByLabel("a (required)").fill("1");
    await hasValue(json, '{"a":1,"b":4}');
    await json.fill('{"a": 40, "b": 2}');
    await hasValue(page.getByLabel("b (required)"), "2");
  });

  await check("invalid_json_is_dropped_with_its_editor", async () => {
    const callButton = page.getByRole("button", { name: "Call", exact: true });
    for (const leave of ["Form", "Reset"]) {
      await json.fill("{");
      await page.getByText("The JSON is invalid.").waitFor();
      ensure(await callButton.isDisabled(), "an invalid value can be sent");
      await page.getByRole("button", { name: leave, exact: true }).click();
      await page.getByText("Enter in a field, or Ctrl+Enter").waitFor();
      ensure(await callButton.isEnabled(), `no call after ${leave}`);
      await page.getByRole("button", { name: "Both", exact: true }).click();
    }
    await json.fill('{"a": 40, "b": 2}');
    await hasValue(page.getByLabel("b (required)"), "2");
  });

  await check("call_shows_structured_content", async () => {
    await page.getByLabel("b (required)").press("Enter");
    await outcome.getByText("matches the output schema").waitFor();
    ensure((await outcome.innerText()).includes("42"), "no sum");
    await outcome.getByText(/^(\d\.\d{1,3}|[1-9]\d*) ms, \d+ B$/).waitFor();
    await page.getByRole("button", { name: "Form", exact: true }).click();
    await picture(page, "inspect-tool", { last: outcome });
    await page.getByRole("button", { name: "Both", exact: true }).click();
    await looksWell("a result with structured content");
  });

  await check("text_field_keeps_the_focus_and_line_breaks", async () => {
    await select(page, "echo", "echo");
    const field = page.getByLabel("text (required)");
    const long = "0123456789".repeat(12);
    await field.focus();
    // The keyboard types into the element that has the focus.
    await page.keyboard.type(long);
    equal(await field.inputValue(), long);
    await page.evaluate(() => navigator.clipboard.writeText("first\nsecond"));
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Control+v");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("third");
    equal(await field.inputValue(), "first\nsecond\nthird");
    await looksWell("a text with lines");
    await field.focus();
    await page.keyboard.press("Enter");
    await outcome.getByText("first\nsecond\nthird", { exact: true }).waitFor();
    equal(await field.inputValue(), "first\nsecond\nthird");
  });

  await check("tool_error_is_shown", async () => {
    await select(page, "fail", "fail");
    await page.getByLabel("message (required)").fill("<b>broken</b>");
    await call();
    await outcome.getByText("Tool error").waitFor();
    ensure((await outcome.innerText()).includes("<b>broken</b>"), "no text");
    await looksWell("a tool error");
  });

  await check("progress_and_cancel", async () => {
    await select(page, "countdown", "countdown");
    await page.getByLabel("from (required)").fill("100000");
    await page.getByRole("textbox", { name: "delay_ms" }).fill("20");
    await call();
    await page.getByText(/to go/).first().waitFor();
    await looksWell("a running call");
    await page.getByRole("group", { name: "Running call" }).getByRole("button", { name: "Cancel" }).click();
    await outcome.getByText("Cancelled").waitFor();
  });

  await check("input_requests_get_responses", async () => {
    await select(page, "trip", "trip");
    await call();
    await inputs.getByText("Where to?").waitFor();
    await inputs.getByLabel("city (required)").fill("Oslo");
    await looksWell("an input request");
    await inputs.getByRole("button", { name: "Accept" }).click();
    await inputs.getByText("How many nights in Oslo?").waitFor();
    // The second request is part of the same conversation.
    await inputs.getByRole("list", { name: "Input requests of this call" }).getByText(/Where to\?/).waitFor();
    await inputs.getByText("accepted: city = Oslo", { exact: true }).waitFor();
    await picture(page, "inspect-input", { last: inputs, margin: 9 });
    await inputs.getByRole("textbox", { name: /nights/ }).fill("99");
    await inputs.getByRole("button", { name: "Accept" }).click();
    await inputs.getByText(/the response is invalid/).waitFor();
    await looksWell("an input request with an invalid response");
    await inputs.getByRole("textbox", { name: /nights/ }).fill("3");
    await inputs.getByRole("button", { name: "Accept" }).click();
    await inputs.getByText(/Do you agree/).waitFor();
    await inputs.getByRole("checkbox").check();
    await inputs.getByRole("button", { name: "Accept" }).click();
    await outcome.getByText(/is accepted: 3 nights in Oslo/).waitFor();
    equal(await outcome.getByRole("list", { name: "Input requests of this call" }).getByRole("listitem").count(), 3);
    await looksWell("a result with its input requests");
  });

  await check("call_is_saved_and_made_again", async () => {
    const saved = page.getByRole("group", { name: "Saved call oslo" });
    await page.getByLabel("Name of the saved call").fill("oslo");
    await page.getByRole("button", { name: "Save the last call" }).click();
    await saved.waitFor();
    // The command stores it, not the page.
    await page.reload();
    await page.getByRole("status").filter({ hasText: /^connected$/ }).first().waitFor();
    await select(page, "trip", "trip");
    await saved.getByRole("button", { name: "Call with its 3 responses" }).click();
    // The third form has another message than before, so it is for the user.
    await inputs.getByText(/3 nights in Oslo .*Do you agree/).waitFor();
    await inputs.getByRole("checkbox").check();
    await inputs.getByRole("button", { name: "Accept" }).click();
    await outcome.getByText(/is accepted: 3 nights in Oslo/).waitFor();
    await looksWell("saved calls");
    await saved.getByRole("button", { name: "Call again" }).click();
    await inputs.getByText("Where to?").waitFor();
    await inputs.getByRole("button", { name: "Cancel" }).click();
    await outcome.waitFor();
    await saved.getByRole("button", { name: "Delete" }).click();
    await saved.waitFor({ state: "detached" });
  });

  await check("url_and_sampling_requests", async () => {
    await select(page, "sign_in", "sign_in");
    await call();
    await inputs.getByRole("link", { name: "https://example.com/sign-in?for=toolwire-demo" }).waitFor();
    await looksWell("a request to open a URL");
    await inputs.getByRole("button", { name: "Decline" }).click();
    await outcome.getByRole("group", { name: "Text" }).filter({ hasText: "declined" }).waitFor();
    await select(page, "summarise", "summarise");
    await page.getByLabel("text (required)").fill("a long story");
    await call();
    await inputs.getByLabel("Text of the response").fill("short: the end");
    await inputs.getByText("Response as JSON").click();
    await looksWell("a sampling request");
    await inputs.getByRole("button", { name: "Respond" }).click();
    await outcome.getByRole("group", { name: "Text" }).filter({ hasText: "short: the end" }).waitFor();
  });

  await check("prompt_with_completion", async () => {
    await show(page, "Prompts");
    await page.getByRole("option").first().click();
    const field = page.locator(".details form input").first();
    await field.pressSequentially("a");
    await page.locator("datalist option").first().waitFor({ state: "attached" });
    const name = await field.getAttribute("id");
    await page.evaluate(() => navigator.clipboard.writeText("b\r\nc"));
    await field.press("Control+v");
    await page.keyboard.type("d");
    equal(await page.locator(`textarea#${name}`).inputValue(), "ab\ncd");
    await looksWell("a prompt with lines");
    await page.locator(`textarea#${name}`).fill("a");
    await call("Get prompt");
    await outcome.getByText(/user|assistant/).first().waitFor();
    await looksWell("a prompt");
  });

  await check("resource_read_and_subscription", async () => {
    await show(page, "Resources");
    await select(page, "counter", "demo://counter");
    await call("Read");
    await outcome.waitFor();
    await call("Subscribe");
    await page.getByRole("button", { name: "Unsubscribe" }).waitFor();
    await show(page, "Tools");
    await select(page, "bump", "bump");
    await call();
    await outcome.waitFor();
    await show(page, "Resources");
    await page.getByText(/^changed at/).waitFor();
    await looksWell("a subscribed resource");
    await call("Unsubscribe");
    await page.getByRole("button", { name: "Subscribe", exact: true }).waitFor();
  });

  await check("template_makes_a_uri", async () => {
    await show(page, "Templates");
    await page.getByRole("option").first().click();
    await page.getByLabel("name", { exact: true }).fill("first");
    await call("Make URI");
    await page.getByRole("region", { name: "Resource", exact: true }).getByText("demo://notes/first").first().waitFor();
    await call("Read");
    await outcome.waitFor();
    await looksWell("a resource of a template");
  });

  await check("changed_list_is_loaded", async () => {
    await show(page, "Tools");
    await select(page, "change_list", "change_list");
    const before = await page.getByRole("button", { name: /^Tools/ }).innerText();
    await call();
    await outcome.waitFor();
    await page.waitForFunction(
      (text) => [...document.querySelectorAll("nav button")].some((button) => button.innerText.startsWith("Tools") && button.innerText !== text),
      before,
    );
  });

  await check("copy_as_every_language", async () => {
    await select(page, "echo", "echo");
    await page.getByLabel("text (required)").fill("it's");
    await page.getByText("Copy as …").click();
    const texts = [];
    for (const language of ["toolwire", "curl", "Rust test", "TypeScript", "Python"]) {
      await page.getByRole("button", { name: language, exact: true }).click();
      await page.getByRole("button", { name: `Copy as ${language}` }).click();
      texts.push(await page.evaluate(() => navigator.clipboard.readText()));
    }
    await looksWell("a call in another language");
    ensure(texts[0].startsWith("toolwire call ") && texts[0].includes(`'{"text":"it'\\''s"}'`), texts[0]);
    const printed = execFileSync("sh", ["-c", texts[0]], { env: environment, encoding: "utf8" });
    ensure(printed.includes("it's"), printed);
    ensure(texts[2].includes('call_tool("echo"') && texts[3].includes("callTool") && texts[4].includes("call_tool"), texts.join());
  });

  await check("log_has_every_message", async () => {
    await show(page, "Log");
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("method:tools/call dir:out kind:message");
    await page.getByRole("option").first().click();
    await page.getByRole("article").getByText('"tools/call"').first().waitFor();
    await page.getByRole("img", { name: /^Timeline/ }).waitFor();
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("method:tools/call kind:message");
    // The response to the first call.
    await page.getByRole("listbox", { name: "Log entries" }).press("Home");
    await page.keyboard.press("ArrowDown");
    await page.getByRole("article").getByText('"structuredContent"').waitFor();
    await page.evaluate(() => document.activeElement.blur());
    await picture(page, "inspect-log", { last: page.getByRole("option").nth(20), margin: 10 });
    await looksWell("an entry of the log");
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("no such text anywhere");
    await page.getByText(/^0 of/).waitFor();
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("");
  });

  await check("palette_finds_items_by_keyboard", async () => {
    await page.keyboard.press("Control+k");
    for (const view of ["Tools", "Log", "Record", "Settings"]) {
      await page.getByRole("combobox").fill(`view ${view.toLowerCase()}`);
      await page.getByRole("option", { name: new RegExp(`view ${view}`, "i") }).first().waitFor();
    }
    await page.getByRole("combobox").fill("");
    await looksWell("the palette");
    await resize(page, "zoom");
    for (let step = 0; step < 12; step++) await page.keyboard.press("ArrowDown");
    await page.getByRole("option", { selected: true }).and(page.locator("#palette-12")).waitFor();
    const selectedRowIsShown = async () => {
      const [row, palette] = await Promise.all(["#palette-12", "dialog"].map((one) => page.locator(one).boundingBox()));
      return row.y + row.height <= palette.y + palette.height;
    };
    await becomes(selectedRowIsShown, true, "the selected row is shown");
    await resize(page, "1280px");
    await page.getByRole("combobox").pressSequentially("tool echo");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "echo" }).waitFor();
    await page.locator("body").press("/");
    equal(await page.evaluate(() => document.activeElement?.id), "search");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    equal(await page.evaluate(() => document.activeElement?.getAttribute("role")), "listbox");
  });

  await check("capability_can_be_withheld", async () => {
    await show(page, "Settings");
    const before = await connection();
    await page.getByLabel("Offer elicitation").uncheck();
    await reconnected(before);
    await show(page, "Tools");
    await select(page, "approve", "approve");
    await page.getByLabel("question (required)").fill("?");
    await page.locator("button.primary:not(:disabled)").click();
    await page.locator(".outcome.failed").waitFor();
    await show(page, "Settings");
    const without = await connection();
    await page.getByLabel("Offer elicitation").check();
    await reconnected(without);
  });

  await recordChecks(browser, page, looksWell);

  for (const [size, colours] of APPEARANCES[era]) {
    await check(`accessible_${size}_${colours}`, async () => {
      await resize(page, size);
      await page.emulateMedia({ colorScheme: colours });
      for (const view of ["Tools", "Prompts", "Resources", "Templates", "Log", "Record", "Settings"]) {
        await show(page, view);
        await accessible(page, `${view} at ${size} ${colours}`);
        await fits(page, `${view} at ${size}`);
        const back = page.getByRole("button", { name: /^← / });
        if ((await back.count()) > 0 && (await back.first().isVisible())) {
          await back.first().click();
          await accessible(page, `the list of ${view} at ${size} ${colours}`);
        }
      }
      if (size !== "1280px" || colours !== "dark") return;
      await show(page, "Tools");
      await select(page, "add", "add");
      await page.getByRole("button", { name: "Form", exact: true }).click();
      await picture(page, "inspect-dark", { last: outcome });
    });
  }

  await check("no_violation_of_the_policy", async () => equal(problems, []));
  await context.close();
}
