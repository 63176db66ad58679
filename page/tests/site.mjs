// Opens the documentation site in Chromium, in both colour schemes, and searches it: `node site.mjs DIRECTORY`.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { check, ensure, equal, fits, launch } from "./browser.mjs";

const [directory] = process.argv.slice(2);

/** The number of pages to open. They are spread over the sidebar, so that all sections are visited. */
const PAGES = 10;

const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".png": "image/png", ".svg": "image/svg+xml" };

const server = createServer(async (request, response) => {
  const path = normalize(new URL(request.url, "http://site").pathname);
  try {
    const body = await readFile(join(directory, path.endsWith("/") ? `${path}index.html` : path));
    response.setHeader("content-type", TYPES[extname(path)] ?? "text/html");
    response.end(body);
  } catch {
    response.statusCode = 404;
    response.end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
context.setDefaultTimeout(120_000);
const page = await context.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
page.on("request", (request) => {
  const url = request.url();
  if (!/^(blob:|data:)/.test(url) && new URL(url).origin !== origin) problems.push(`request to ${url}`);
});
page.on("response", (response) => {
  if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
});

/** Returns every `step`-th of the addresses, so that all sections are among them. */
function spread(addresses) {
  const step = Math.max(1, Math.floor(addresses.length / PAGES));
  return addresses.filter((_, index) => index % step === 0).slice(0, PAGES);
}

await check("pages_open", async () => {
  await page.goto(`${origin}/`);
  const links = page.locator(".sidebar-tree a.reference.internal");
  const addresses = await links.evaluateAll((found) => found.map((link) => [link.textContent.trim(), link.href]));
  const opened = spread(addresses);
  equal(opened.length, PAGES, "number of pages");
  for (const [title, address] of opened) {
    await page.goto(address);
    const text = await page.locator("article").innerText();
    ensure(text.length > 300, `the page ${title} is empty`);
    ensure((await page.locator("h1").count()) === 1, `the page ${title} has not one title`);
    await fits(page, title);
  }
});

await check("search_finds_a_page", async () => {
  await page.goto(`${origin}/`);
  await page.locator("input[name=q]").first().fill("elicitation");
  await page.keyboard.press("Enter");
  const found = page.locator("#search-results a", { hasText: "Asking for input" }).first();
  await found.waitFor();
  await found.click();
  await page.waitForURL(/asking_for_input\.html/);
});

await check("both_colour_schemes", async () => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: "light" });
  const light = await background();
  await page.emulateMedia({ colorScheme: "dark" });
  ensure((await background()) !== light, `the background is ${light} in both schemes`);
});

await check("no_other_hosts_and_no_errors", async () => equal(problems, []));

await browser.close();
server.close();
