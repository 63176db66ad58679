// What the checks of the page have in common. Each check prints one line of JSON: `{"check": name, "ok": true}`.

import { build } from "esbuild";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const require = createRequire(import.meta.url);

/** How long one step may take on a busy machine. */
const STEP_MS = 60_000;

/** The sizes in CSS pixels: a phone, a desktop, and the desktop at a zoom of 200 %, which has two pixels per CSS pixel. */
const SIZES = {
  "360px": { width: 360, height: 740, scale: 1 },
  "1280px": { width: 1280, height: 800, scale: 1 },
  zoom: { width: 640, height: 400, scale: 2 },
};

/** The sizes and colours of the checks by era. Together, each size has both colours. */
export const APPEARANCES = {
  modern: [["360px", "light"], ["1280px", "light"], ["1280px", "dark"], ["zoom", "light"]],
  legacy: [["360px", "dark"], ["1280px", "light"], ["zoom", "dark"]],
};

/** Each size, and both colours. */
const ALL_APPEARANCES = APPEARANCES.modern.slice(0, 3).concat([["zoom", "dark"]]);

/** Gives the window a size and a zoom. */
export async function resize(page, name) {
  const { width, height, scale } = SIZES[name];
  // The size of the context comes first, because it replaces the zoom.
  await page.setViewportSize({ width, height });
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false });
  equal(await page.evaluate(() => [innerWidth, devicePixelRatio]), [width, scale], "window");
}

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
    // Continuous integration runs as root, where Chromium has no sandbox. The name is for a check of DNS rebinding.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP rebound.test 127.0.0.1"],
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

/** The command under test. */
export const TOOLWIRE = process.env.TOOLWIRE;

/** The environment for snippets, in which the command under test has its name. */
export const environment = { ...process.env, PATH: `${dirname(TOOLWIRE ?? "")}${delimiter}${process.env.PATH}` };

/** Starts `toolwire inspect`, see `start`. */
export const inspect = (...words) => start(["inspect", ...words]);

/** Starts a command that serves a page. Returns its address and a function that ends it. */
export async function start([name, ...words], options = {}) {
  const child = spawn(TOOLWIRE, [name, "--json", "--listen", "127.0.0.1:0", ...words], {
    stdio: ["ignore", "pipe", "inherit"],
    ...options,
  });
  process.on("exit", () => child.kill());
  for await (const line of createInterface({ input: child.stdout })) {
    return { url: JSON.parse(line).url, end: () => child.kill() };
  }
  throw new Error("the command printed no address");
}

/** Returns the names that a script with imports from the sources of the page exports. */
export async function bundled(script) {
  const resolveDir = fileURLToPath(new URL("../src", import.meta.url));
  const stdin = { contents: script, resolveDir, loader: "ts" };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, format: "esm", target: "es2022" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

/** The name of the page under test, before the names of its checks. */
let scope = "";

export function inScope(name) {
  scope = name;
}

/** Runs one check, and prints its outcome. */
export async function check(title, run) {
  const name = `${scope} ${title}`;
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

/** Waits until what `read` returns is as expected. The page may change a moment after an action. */
export async function becomes(read, expected, what = "value") {
  const deadline = Date.now() + STEP_MS;
  for (;;) {
    const actual = await read();
    if (JSON.stringify(actual) === JSON.stringify(expected)) return;
    if (Date.now() > deadline) equal(actual, expected, what);
  }
}

/** Waits until a field has a value, which the page may write a moment later. Spaces do not matter. */
export async function hasValue(field, expected) {
  await valueMatches(field, expected, (value) => value === expected);
}

/** Waits until the value of a field contains a text, so that the page does not write while the next text is typed. */
export async function containsValue(field, expected) {
  await valueMatches(field, expected, (value) => value.includes(expected));
}

async function valueMatches(field, expected, matches) {
  const deadline = Date.now() + STEP_MS;
  for (;;) {
    const value = (await field.inputValue()).replace(/\s+/g, "");
    if (matches(value)) return;
    if (Date.now() > deadline) equal(value, expected);
  }
}

/** Types each text into a field, and returns the shortest time until the page is laid out. The machine may be busy. */
export async function keystroke(field, texts) {
  return Math.min(...(await keystrokes(field, texts)));
}

/** Types each text into a field, and returns the times until the page is laid out. */
export async function keystrokes(field, texts) {
  return field.evaluate(async (element, texts) => {
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    const times = [];
    for (const text of texts) {
      const start = performance.now();
      set.call(element, text);
      element.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((resolve) => setTimeout(resolve));
      document.body.getBoundingClientRect();
      times.push(performance.now() - start);
    }
    return times;
  }, texts);
}

/** Returns the name of the element that has the focus. */
export function focused(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    return element.getAttribute("aria-label") ?? element.labels?.[0]?.innerText ?? element.innerText;
  });
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

/** Fails if the page is wider than its window, or if the user has to scroll a part of it sideways. */
export async function fits(page, what) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  ensure(content <= window, `${what} is ${content} wide in a window of ${window}`);
  const wide = await page.evaluate(() =>
    [...document.querySelectorAll("#page *")]
      .filter((element) => /auto|scroll/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth)
      .map((element) => `${element.tagName} ${element.className}: ${element.scrollWidth} in ${element.clientWidth}`),
  );
  equal(wide, [], `parts of ${what} that are scrolled sideways`);
}

/** The height in CSS pixels that a scrolled part needs, so that the user can read it. */
const READABLE = 120;

/** Fails if something above a list or an item leaves no room for it. */
async function hasRoom(page, what) {
  const low = await page.evaluate(
    (height) =>
      [...document.querySelectorAll("#page main, #page .split > *")]
        .filter((element) => element.checkVisibility() && element.clientHeight < height)
        .map((element) => `${element.className || element.tagName}: ${element.clientHeight}`),
    READABLE,
  );
  equal(low, [], `parts of ${what} that are too low`);
}

/**
 * Checks what the page shows now: in each of the appearances, everything fits and axe finds no violation. Leaves the window with
 * the size of a desktop and light colours.
 */
export async function inAppearances(page, what, appearances = ALL_APPEARANCES) {
  try {
    for (const [size, colours] of appearances) {
      const where = `${what} at ${size} ${colours}`;
      await resize(page, size);
      await page.emulateMedia({ colorScheme: colours });
      await fits(page, where);
      await hasRoom(page, where);
      await accessible(page, where);
    }
  } finally {
    await resize(page, "1280px");
    await page.emulateMedia({ colorScheme: "light" });
  }
}

/** The width of the pictures, and a height in which everything is laid out. */
const PICTURE = { width: 800, height: 1600 };

/**
 * Writes a picture for the guide, if TOOLWIRE_PICTURES names a directory. It ends `margin` pixels below the element `last`. With
 * `first`, the part of the page that contains this element is scrolled to it.
 */
export async function picture(page, name, { first, last, margin = 5 }) {
  const directory = process.env.TOOLWIRE_PICTURES;
  // Both eras have the same checks.
  if (!directory || scope === "legacy") return;
  mkdirSync(directory, { recursive: true });
  const before = page.viewportSize();
  await page.setViewportSize(PICTURE);
  /** Returns how far the element is below the beginning of its scrolled part, and scrolls to it if asked. */
  const toFirst = async (isScrolled) =>
    (await first?.evaluate((element, isScrolled) => {
      const part = element.closest(".details, .settings, main");
      const distance = element.getBoundingClientRect().top - part.getBoundingClientRect().top - 10;
      if (isScrolled) part.scrollTop += distance;
      return distance;
    }, isScrolled)) ?? 0;
  const { y, height } = await last.boundingBox();
  await page.setViewportSize({ width: PICTURE.width, height: Math.round(y + height - (await toFirst(false)) + margin) });
  await toFirst(true);
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
