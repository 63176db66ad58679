// Runs checks with a page in Chromium. Each check prints one line of JSON: `{"check": name, "ok": true}`.

import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const require = createRequire(import.meta.url);

/** How long one step may take on a busy machine. */
const STEP_MS = 120_000;

/** The sizes in CSS pixels: a phone, a desktop, and the desktop at a zoom of 200 %. */
export const SIZES = [
  { name: "360px", viewport: { width: 360, height: 740 } },
  { name: "1280px", viewport: { width: 1280, height: 800 } },
  { name: "zoom", viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
];

function executable() {
  const configured = process.env.TOOLWIRE_CHROMIUM;
  const names = configured ? [configured] : NAMES;
  const paths = names.flatMap((name) =>
    name.includes("/") ? [name] : (process.env.PATH ?? "").split(delimiter).map((directory) => join(directory, name)),
  );
  const found = paths.find((path) => existsSync(path));
  if (!found) throw new Error("this test needs Chromium: run `cargo xtask test`, or install the package `chromium`");
  return found;
}

export async function launch() {
  return chromium.launch({
    executablePath: executable(),
    // Continuous integration runs as root, where Chromium has no sandbox.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

/** Opens the page of `toolwire inspect`. Violations of the policy and errors of scripts are collected. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    permissions: ["clipboard-read", "clipboard-write"],
    ...options,
  });
  context.setDefaultTimeout(STEP_MS);
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    // A check may cause a response with an error. Then the page shows it.
    const isResponse = /^Failed to load resource: the server responded/.test(message.text());
    if (message.type() === "error" && !isResponse) problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!/^(blob:|data:)/.test(request.url()) && new URL(request.url()).origin !== new URL(url).origin) {
      problems.push(`request to ${request.url()}`);
    }
  });
  await page.goto(url);
  await page.getByRole("status").filter({ hasText: /^connected$/ }).first().waitFor();
  return { context, page, problems };
}

/** Runs one check, and prints its outcome. */
export async function check(name, run) {
  try {
    await run();
    console.log(JSON.stringify({ check: name, ok: true }));
  } catch (error) {
    console.log(JSON.stringify({ check: name, ok: false, detail: String(error?.stack ?? error) }));
    process.exitCode = 1;
  }
}

export function equal(actual, expected, what = "value") {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a} is not ${b}`);
}

/** Waits until a field has a value, which the page may write a moment later. Spaces do not matter. */
export async function hasValue(field, expected) {
  const deadline = Date.now() + STEP_MS;
  for (;;) {
    const value = (await field.inputValue()).replace(/\s+/g, "");
    if (value === expected) return;
    if (Date.now() > deadline) equal(value, expected);
  }
}

export function ensure(condition, what) {
  if (!condition) throw new Error(what);
}

/** Fails if axe finds a violation in the page as it is. */
export async function accessible(page, what) {
  // The policy of the page permits no other scripts, but the protocol of the browser does.
  await page.evaluate(require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const violations = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ").slice(0, 600)}`);
  });
  equal(violations, [], `violations in ${what}`);
}

/** Fails if the page is wider than its window. */
export async function fits(page, what) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  ensure(content <= window, `${what} is ${content} wide in a window of ${window}`);
}

/** Writes a picture for the guide, if TOOLWIRE_PICTURES names a directory. */
export async function picture(page, name) {
  const directory = process.env.TOOLWIRE_PICTURES;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  const before = page.viewportSize();
  if (before.width > 800) await page.setViewportSize({ width: 800, height: 680 });
  await page.screenshot({ path: join(directory, `${name}.png`) });
  await page.setViewportSize(before);
}

/** Selects a view of the navigation. */
export async function show(page, view) {
  await page.getByRole("navigation").getByRole("button", { name: new RegExp(`^${view}`) }).click();
}

/** Selects an item of the current list by its name. */
export async function select(page, search, title) {
  await page.getByRole("searchbox").first().fill(search);
  await page.getByRole("option").filter({ has: page.getByText(title, { exact: true }) }).first().click();
}
