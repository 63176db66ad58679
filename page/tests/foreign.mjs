// A page of another origin attacks the HTTP interface.

import { createServer } from "node:http";
import { check, ensure, equal, inAppearances, open } from "./browser.mjs";

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

  await check("other_origin_reads_nothing", async () => {
    const found = await attacker.evaluate(
      async ([origin, token]) => {
        const attempt = async (run) => {
          try {
            return await run();
          } catch (error) {
            return error.name;
          }
        };
        const loaded = (element, address) =>
          new Promise((resolve) => {
            element.onload = () => resolve("loaded");
            element.onerror = () => resolve("blocked");
            element.src = address;
            document.body.append(element);
          });
        const simple = { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body: "{}" };
        return {
          page: await attempt(() => fetch(`${origin}/`).then((response) => response.text())),
          state: await attempt(() => fetch(`${origin}/api/state`).then((response) => response.text())),
          // Even with the token, the browser asks first, and gets no permission.
          token: await attempt(() =>
            fetch(`${origin}/api/state`, { headers: { authorization: `Bearer ${token}` } }).then((response) => response.text()),
          ),
          simple: await attempt(() => fetch(`${origin}/api/reconnect`, simple).then((response) => response.type)),
          image: await loaded(new Image(), `${origin}/`),
          script: await loaded(document.createElement("script"), `${origin}/page.js`),
          socket: await new Promise((resolve) => {
            const socket = new WebSocket(`${origin.replace("http", "ws")}/api/events`);
            socket.onopen = () => resolve("open");
            socket.onerror = () => resolve("blocked");
          }),
        };
      },
      [origin, token],
    );
    equal(found, {
      page: "TypeError",
      state: "TypeError",
      token: "TypeError",
      simple: "TypeError",
      image: "blocked",
      script: "blocked",
      socket: "blocked",
    });
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
