// A page of another origin attacks the HTTP interface.

import { createServer } from "node:http";
import { check, ensure, equal, inAppearances, open } from "./browser.mjs";

/** Tries to read from the HTTP interface and to change something. It runs in a page. */
async function attack([origin, token]) {
  const attempt = async (run) => {
    try {
      return await run();
    } catch (error) {
      return error.name;
    }
  };
  const text = (path, options) => attempt(() => fetch(`${origin}${path}`, options).then((response) => response.text()));
  const loaded = (name, properties) =>
    new Promise((resolve) => {
      const element = Object.assign(document.createElement(name), properties);
      element.onload = () => resolve("loaded");
      element.onerror = () => resolve("blocked");
      document.head.append(element);
    });
  const simple = { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body: "{}" };
  return {
    page: await text("/"),
    state: await text("/api/state"),
    // Even with the token, the browser asks first, and gets no permission.
    token: await text("/api/state", { headers: { authorization: `Bearer ${token}` } }),
    simple: await attempt(() => fetch(`${origin}/api/reconnect`, simple).then((response) => response.type)),
    script: await loaded("script", { src: `${origin}/page.js` }),
    style: await loaded("link", { href: `${origin}/page.css`, rel: "stylesheet" }),
    events: await new Promise((resolve) => {
      const source = new EventSource(`${origin}/api/events`);
      source.onopen = () => resolve("open");
      source.onerror = () => resolve("blocked");
    }),
  };
}

/** Returns why an image of a page is not loaded. */
async function failureOfImage(page, address) {
  const [request] = await Promise.all([
    page.waitForEvent("requestfailed"),
    page.evaluate((address) => void (new Image().src = address), address),
  ]);
  return request.failure().errorText;
}

/** Returns the status of the response that a WebSocket of a page gets. */
async function statusOfSocket(page, address) {
  const [socket] = await Promise.all([
    page.waitForEvent("websocket"),
    page.evaluate((address) => void new WebSocket(address), address),
  ]);
  const message = await socket.waitForEvent("socketerror");
  return Number(/Unexpected response code: (\d+)/.exec(message)?.[1]);
}

export async function foreign(browser, url) {
  const origin = new URL(url).origin;
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>attacker</title><body>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  // The user has access in this browser, so that everything the browser adds to requests is there.
  const { context, page } = await open(browser, url);
  const token = await page.evaluate(() => localStorage.getItem("toolwire-token"));
  const attacker = await context.newPage();
  await attacker.goto(`http://127.0.0.1:${server.address().port}/`);

  const headers = { authorization: `Bearer ${token}` };
  const connection = async () => (await (await fetch(`${origin}/api/state`, { headers })).json()).connection;

  await check("other_origin_reads_nothing", async () => {
    const before = await connection();
    const found = await attacker.evaluate(attack, [origin, token]);
    equal(found, {
      page: "TypeError",
      state: "TypeError",
      token: "TypeError",
      simple: "TypeError",
      script: "blocked",
      style: "blocked",
      events: "blocked",
    });
    // The same attempts succeed in a page of this origin, as far as they need no token.
    const own = await context.newPage();
    await own.goto(`${origin}/`);
    const { script, style } = await own.evaluate(attack, [origin, token]);
    equal([script, style], ["loaded", "loaded"], "files of the page");
    await own.close();
    // Not because of its type: the response forbids its use in pages of other origins.
    equal(await failureOfImage(attacker, `${origin}/page.css`), "net::ERR_BLOCKED_BY_RESPONSE.NotSameOrigin", "an image");
    equal(await statusOfSocket(attacker, `${origin.replace("http", "ws")}/api/events`), 403, "a socket");
    // A request that changes something is the next one.
    equal(await connection(), before, "the connection");
    await fetch(`${origin}/api/reconnect`, { method: "POST", headers });
    for (let current = before; current.status !== "connected" || current.number === before.number; ) current = await connection();
    equal((await connection()).number, before.number + 1, "connections");
  });

  await check("other_page_cannot_contain_the_page", async () => {
    await attacker.evaluate((origin) => {
      const frame = document.createElement("iframe");
      frame.src = `${origin}/`;
      document.body.append(frame);
      return new Promise((resolve) => (frame.onload = resolve));
    }, origin);
    const frame = attacker.frames()[1];
    equal(await frame?.locator("#page").count(), 0);
  });

  await check("form_of_another_page_changes_nothing", async () => {
    const [response] = await Promise.all([
      attacker.waitForNavigation(),
      attacker.evaluate((origin) => {
        const form = document.createElement("form");
        form.method = "post";
        form.enctype = "text/plain";
        form.action = `${origin}/api/calls`;
        document.body.append(form);
        form.submit();
      }, origin),
    ]);
    equal(response?.status(), 403);
    const calls = await page.evaluate(async () => {
      const headers = { authorization: `Bearer ${localStorage.getItem("toolwire-token")}` };
      return (await fetch("/api/calls", { headers })).json();
    });
    ensure(calls.every((call) => call.method === "completion/complete"), JSON.stringify(calls));
  });

  await check("other_name_of_this_machine_reaches_nothing", async () => {
    // DNS rebinding: the name belongs to the attacker, and its address is that of this machine.
    const rebound = await context.newPage();
    const response = await rebound.goto(`http://rebound.test:${new URL(url).port}/`);
    equal(response?.status(), 403);
    const found = await rebound.evaluate(async (token) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch("/api/state", { headers })).status;
    }, token);
    equal(found, 403);
  });

  await check("page_without_access_says_what_to_do", async () => {
    const stranger = await browser.newContext();
    const other = await stranger.newPage();
    await other.goto(new URL("/", url).href);
    const alert = other.getByRole("alert");
    await alert.getByText("this page has no access").waitFor();
    await alert.getByText(/^open the address that `toolwire inspect` printed/).waitFor();
    await inAppearances(other, "a page without access");
    await stranger.close();
  });

  await context.close();
  server.close();
}
