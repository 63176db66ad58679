// The page with a server of 1,000 tools and hostile text, over HTTP.

import { execFileSync } from "node:child_process";
import { becomes, check, containsValue, ensure, environment, equal, focused, hasValue, inAppearances, keystroke, open, select, show } from "./browser.mjs";

export async function many(browser, url) {
  const { context, page, problems } = await open(browser, url);
  const outcome = page.getByRole("region", { name: "Result", exact: true });

  await rowsAreWindowed(page);
  await check("filter_of_many_tools_is_as_fast_as_of_few", async () => {
    const many = await keystroke(page.getByRole("searchbox").first(), ["tool 9", "tool 99", "tool 5", "", "number 77"]);
    await page.getByText(/^\d+ of 10\d\d tools/).waitFor();
    await show(page, "Templates");
    const few = await keystroke(page.getByRole("searchbox").first(), ["a", "ab", "abc", "b", ""]);
    // The page filters 1,000 tools instead of one, and lays out 30 rows instead of one.
    ensure(many < 40 * Math.max(few, 1), `${many} ms and ${few} ms`);
    await show(page, "Tools");
  });

  await check("list_is_used_with_the_keyboard", async () => {
    await page.getByRole("searchbox").first().fill("");
    await page.getByRole("listbox", { name: "tools" }).focus();
    await page.keyboard.press("End");
    const last = page.getByRole("option", { selected: true });
    equal(await last.getAttribute("aria-posinset"), await last.getAttribute("aria-setsize"));
    await page.keyboard.press("Home");
    equal(await page.getByRole("option", { selected: true }).getAttribute("aria-posinset"), "1");
  });

  await cyclicUnionIsAForm(page, outcome);

  await check("items_are_moved_and_every_kind_of_field_is_edited", async () => {
    await select(page, "fields", "fields");
    const json = page.getByLabel("Arguments as JSON");
    const press = (name) => page.getByRole("button", { name, exact: true }).click();
    const colours = (...names) => containsValue(json, `"colours":${JSON.stringify(names)}`);
    await colours("red", "green", "blue");
    ensure(await page.getByRole("button", { name: "Move colours 1 up" }).isDisabled(), "the first item can be moved up");
    ensure(await page.getByRole("button", { name: "Move colours 3 down" }).isDisabled(), "the last item can be moved down");
    // The focus stays with the moved item, and goes to a new item, or to the neighbour of a removed one.
    const hasFocus = (name) => becomes(() => focused(page), name, "focus");
    await press("Move colours 1 down");
    await colours("green", "red", "blue");
    await hasFocus("Move colours 2 down");
    await press("Move colours 2 down");
    await colours("green", "blue", "red");
    await hasFocus("Move colours 3 up");
    await page.keyboard.press("Enter");
    await colours("green", "red", "blue");
    await hasFocus("Move colours 2 up");
    await press("Remove colours 1");
    await colours("red", "blue");
    await hasFocus("colours 1");
    await press("Remove colours 2");
    await colours("red");
    await hasFocus("colours 1");
    await press("Remove colours 1");
    await colours();
    await hasFocus("Add item to colours");
    for (const count of [1, 2, 3]) {
      await press("Add item to colours");
      await colours(...Array(count).fill("red"));
      await hasFocus(`colours ${count}`);
    }
    await page.getByLabel("colours 1", { exact: true }).selectOption({ label: "blue" });
    await page.getByLabel("colours 2", { exact: true }).selectOption({ label: "green" });
    await colours("blue", "green", "red");

    const count = page.getByLabel("count (required)");
    await page.getByText("integer, 1 to 5").waitFor();
    const faults = page.getByRole("list", { name: "Problems of the arguments" });
    const isFault = (text) => faults.getByText(text).waitFor();
    for (const [typed, fault] of [["6", "6 is greater than the maximum of 5"], ["0", "0 is less than the minimum of 1"], ["1.5", "1.5 is not of type"]]) {
      await count.fill(typed);
      await isFault(fault);
    }
    await count.fill("5");
    await page.getByLabel("day (required)").fill("2026-11-16");
    equal(await page.getByLabel("day (required)").getAttribute("type"), "date");
    await press("Add mail");
    await hasFocus("mail");
    const mail = page.getByLabel("mail", { exact: true });
    equal(await mail.getAttribute("type"), "email");
    await mail.fill("a@example.com");
    await page.getByLabel("city (required)").fill("X");
    await isFault(/^arguments\.address\.city: "X" is shorter than 2 /);
    await page.getByLabel("city (required)").fill("Oslo");
    await faults.waitFor({ state: "detached" });
    await press("Add code");
    await page.getByLabel("code", { exact: true }).fill("0150");
    await press("Remove code");
    await page.getByRole("button", { name: "Add code" }).waitFor();
    await hasFocus("Add code");
    await press("Add urgent");
    await page.getByLabel("urgent", { exact: true }).check();
    const expected = { colours: ["blue", "green", "red"], count: 5, day: "2026-11-16", address: { city: "Oslo" }, mail: "a@example.com", urgent: true };
    await hasValue(json, JSON.stringify(expected));
    await inAppearances(page, "a form with every kind of field");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await outcome.getByText(/"city":"Oslo"/).first().waitFor();
    // The browser does not check the value instead of the server.
    await mail.fill("nobody");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await outcome.getByText(/nobody/).first().waitFor();
  });

  await check("named_members_are_added_and_removed", async () => {
    await select(page, "map", "map");
    const json = page.getByLabel("Arguments as JSON");
    const name = page.getByLabel("Name of a new member of arguments");
    const add = page.getByRole("button", { name: "Add member to arguments" });
    ensure(await add.isDisabled(), "a member without a name can be added");
    await name.fill("one");
    await name.press("Enter");
    await page.getByLabel("one", { exact: true }).fill("1");
    await name.fill("two words");
    await add.click();
    await page.getByLabel("two words", { exact: true }).waitFor();
    await becomes(() => focused(page), "two words", "focus");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("2");
    await hasValue(json, '{"labels":{},"one":1,"twowords":2}');
    await name.fill("one");
    await page.getByText("There is a member with this name.").waitFor();
    ensure(await add.isDisabled(), "a member can be added twice");
    await page.getByRole("button", { name: "Remove one" }).click();
    await hasValue(json, '{"labels":{},"twowords":2}');
    await becomes(() => focused(page), "two words", "focus");
    // A nested map has texts, and a name can be that of a member of every object.
    await page.getByLabel("Name of a new member of labels").fill("__proto__");
    await page.getByRole("button", { name: "Add member to labels" }).click();
    await page.getByLabel("__proto__", { exact: true }).fill("text");
    await hasValue(json, '{"labels":{"__proto__":"text"},"twowords":2}');
    await inAppearances(page, "a form with named members");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await outcome.getByText(/"__proto__":"text"/).first().waitFor();
  });

  await check("hostile_text_is_shown_as_text", async () => {
    await select(page, "hostile", "hostile");
    const details = page.getByRole("region", { name: "Selected item" });
    ensure((await details.innerText()).includes("<img src=x onerror=alert(1)>"), "the description is not text");
    ensure((await details.innerText()).includes("\\u{202e}"), "a bidirectional control is hidden");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await outcome.getByText("<script>alert(1)</script>").first().waitFor();
    ensure((await outcome.innerText()).includes("\\u{1b}[31m"), "an escape sequence is hidden");
    equal(await page.locator("main img, main script, main iframe, main svg:not(.timeline)").count(), 0);
    const links = await outcome.getByRole("link").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    equal(links.filter((href) => /^javascript:/i.test(href)), []);
  });

  await check("large_result_is_folded", async () => {
    await select(page, "large", "large");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await outcome.getByRole("button", { name: /Show all 5000000 characters/ }).waitFor();
    ensure((await outcome.innerText()).length < 100_000, "the whole text is laid out");
  });

  await check("hostile_text_is_text_in_every_view", async () => {
    const hidden = async (view) => {
      const text = await page.locator("body").innerText();
      ensure(!/[\u202e\u001b]/.test(text), `a control character is in ${view}`);
      ensure(text.includes("<img src=x onerror=alert(1)>"), `no text in ${view}`);
      equal(await page.locator("main img, main script, main iframe").count(), 0, view);
    };
    for (const view of ["Prompts", "Resources", "Templates"]) {
      await show(page, view);
      await page.getByRole("option").first().click();
      await hidden(view);
    }
    await show(page, "Resources");
    await page.getByRole("button", { name: "Read", exact: true }).click();
    await outcome.getByText("<script>alert(1)</script>").first().waitFor();
    await hidden("the content of a resource");
    await show(page, "Settings");
    await page.getByText("Instructions", { exact: true }).click();
    await hidden("Settings");
    await show(page, "Tools");
    await select(page, "ask", "ask");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    const inputs = page.getByRole("complementary");
    await inputs.getByText("<script>alert(1)</script>").first().waitFor();
    await hidden("an input request");
    await inputs.getByRole("button", { name: "Decline" }).click();
    await outcome.waitFor();
    await show(page, "Log");
    await page.getByRole("option").last().click();
    await page.getByRole("article").waitFor();
    ensure(!/[\u202e\u001b]/.test(await page.locator("body").innerText()), "a control character is in the log");
  });

  await check("copied_command_and_curl_call_the_tool", async () => {
    const run = async (language) => {
      await page.getByRole("button", { name: language, exact: true }).click();
      await page.getByRole("button", { name: `Copy as ${language}` }).click();
      const text = await page.evaluate(() => navigator.clipboard.readText());
      return execFileSync("sh", ["-c", text], { env: environment, encoding: "utf8" });
    };
    const call = async (era) => {
      await show(page, "Settings");
      await page.getByLabel("Era").selectOption(era);
      await page.getByText(new RegExp(`^${era} · `)).waitFor();
      await show(page, "Tools");
      await select(page, "number 77", "tool_77");
      if (!(await page.getByRole("button", { name: "curl", exact: true }).isVisible())) await page.getByText("Copy as …").click();
      equal((await run("toolwire")).trim(), "77", "toolwire");
      const response = await run("curl");
      ensure(response.includes('"text":"77"'), `curl: ${response}`);
    };
    await call("legacy");
    await call("modern");
  });

  await check("faults_reach_the_client", async () => {
    await select(page, "noisy", "noisy");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText(/ of 1000000/).first().waitFor();
    await show(page, "Settings");
    await page.getByText("There is no login for this server.").waitFor();
    const account = { user: "Ada", issuer: "https://issuer.example", scopes: ["read"], expiresAt: 1_800_000_000, canRefresh: true };
    await page.route("**/api/account", (route) => route.fulfill({ json: { kind: "login", account } }));
    await show(page, "Tools");
    await show(page, "Settings");
    await page.getByRole("button", { name: "Log out" }).waitFor();
    await inAppearances(page, "faults of a server with a URL");
    await page.getByRole("button", { name: "Drop open streams" }).click();
    await show(page, "Log");
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("kind:note dropping");
    await page.getByText(/^1 of/).waitFor();
    await page.getByRole("searchbox", { name: "Filter the log" }).fill("");
    await show(page, "Tools");
    await page.locator(".outcome.failed").waitFor();
  });

  await check("no_violation_of_the_policy", async () => equal(problems, []));
  await context.close();
}

/** The same server in the legacy era. */
export async function manyLegacy(browser, url) {
  const { context, page, problems } = await open(browser, url);
  await rowsAreWindowed(page);
  await cyclicUnionIsAForm(page, page.getByRole("region", { name: "Result", exact: true }));
  await check("no_violation_of_the_policy", async () => equal(problems, []));
  await context.close();
}

async function rowsAreWindowed(page) {
  await check("only_visible_rows_are_laid_out", async () => {
    await page.getByText(/^10\d\d of 10\d\d tools/).waitFor();
    ensure((await page.getByRole("option").count()) < 60, "too many rows");
  });
}

async function cyclicUnionIsAForm(page, outcome) {
  await check("cyclic_nullable_union_is_a_form", async () => {
    await select(page, "tree", "tree");
    await page.getByLabel("root (required)", { exact: false }).first().selectOption({ label: "node" });
    await page.getByRole("button", { name: "Add left" }).click();
    await page.getByLabel("left", { exact: true }).selectOption({ label: "node" });
    await page.getByLabel("value (required)").nth(1).fill("7");
    await page.getByRole("button", { name: "Add item to tags" }).first().click();
    await page.getByRole("textbox", { name: "tags 1" }).first().fill("a");
    await hasValue(page.getByLabel("Arguments as JSON"), '{"root":{"value":0,"tags":["a"],"left":{"value":7,"tags":[]}}}');
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await outcome.getByText(/"value":7/).first().waitFor();
  });
}
