// The page with a server of 1,000 tools and hostile text: `node many.mjs ADDRESS`.

import { check, ensure, equal, hasValue, launch, open, select, show } from "./browser.mjs";

const [url] = process.argv.slice(2);
const browser = await launch();
const { page, problems } = await open(browser, url);
const outcome = page.getByRole("region", { name: "Result", exact: true });

await check("only_visible_rows_are_laid_out", async () => {
  await page.getByText(/^10\d\d of 10\d\d tools/).waitFor();
  ensure((await page.getByRole("option").count()) < 60, "too many rows");
});

await check("filter_takes_less_than_a_frame_per_hundred_tools", async () => {
  const search = page.getByRole("searchbox").first();
  const duration = await search.evaluate(async (element) => {
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    const frame = () => new Promise((resolve) => setTimeout(resolve));
    const times = [];
    for (const text of ["tool 9", "tool 99", "tool 5", "", "number 77"]) {
      const start = performance.now();
      set.call(element, text);
      element.dispatchEvent(new Event("input", { bubbles: true }));
      await frame();
      document.body.getBoundingClientRect();
      times.push(performance.now() - start);
    }
    return Math.min(...times);
  });
  // The best of five runs, because the machine may be busy.
  ensure(duration < 100, `${duration} ms`);
  await page.getByText(/^\d+ of 10\d\d tools/).waitFor();
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

await check("many_log_entries_are_laid_out_in_parts", async () => {
  await select(page, "noisy", "noisy");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await outcome.waitFor();
  await show(page, "Log");
  await page.waitForFunction(() => /of (\d{5,}) entries/.test(document.querySelector(".count")?.textContent ?? ""));
  ensure((await page.getByRole("option").count()) < 80, "too many rows");
});

await check("no_violation_of_the_policy", async () => equal(problems, []));
await browser.close();
