// The state of the page without a page: the responses of the command are scripted.

import { bundled, check, equal } from "./browser.mjs";

const encoder = new TextEncoder();

/** The HTTP interface with one stream of events at a time. */
class FakeCommand {
  calls = [];
  number = 0;
  /** The number of requests by path. */
  requests = new Map();
  opened = [];

  state() {
    const connection = { status: "connected", number: 1 };
    return { number: ++this.number, connection, calls: this.calls, inputs: [] };
  }

  /** Sends an event on the current stream. */
  send(name, data) {
    this.stream.enqueue(encoder.encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
  }

  /** Waits until the page has opened another stream. */
  opening() {
    return new Promise((resolve) => this.opened.push(resolve));
  }

  fetch = async (path, { method }) => {
    const name = path.replace(/^\/api\//, "").replace(/\?.*/, "");
    this.requests.set(name, (this.requests.get(name) ?? 0) + 1);
    if (name === "events") {
      const body = new ReadableStream({ start: (stream) => (this.stream = stream) });
      this.opened.splice(0).forEach((resolve) => resolve());
      return new Response(body);
    }
    if (name === "calls" && method === "POST") {
      this.calls = [...this.calls, { id: this.calls.length + 1, method: "ping", state: "running" }];
      return Response.json({ id: this.calls.length });
    }
    const [, id] = /^calls\/(\d+)$/.exec(name) ?? [];
    if (id) return Response.json(this.calls[id - 1] ?? {});
    return Response.json(name === "state" ? this.state() : { items: [], calls: [] });
  };

  end(id) {
    this.calls = this.calls.map((call) => (call.id === id ? { ...call, state: "done" } : call));
  }
}

export async function storeChecks() {
  const command = new FakeCommand();
  globalThis.localStorage = { getItem: () => "token" };
  globalThis.fetch = command.fetch;
  const { announcement, exchangesOf, log, run, startCall } = await bundled('export * from "./exchanges"; export * from "./store";');
  let opening = command.opening();
  void run();
  await opening;
  const start = async () => {
    const call = await startCall("ping", {});
    return { ...call, outcome: call.outcome.then((outcome) => outcome.state) };
  };

  await check("missed_end_of_a_call_is_in_the_next_state", async () => {
    const { id, outcome } = await start();
    const lists = command.requests.get("lists/tools");
    command.end(id);
    command.send("reset", {});
    command.send("state", command.state());
    equal(await outcome, "done");
    equal(command.requests.get("lists/tools"), lists + 1, "requests for the list");
  });

  await check("end_of_a_call_between_two_streams_is_noticed", async () => {
    const { id, outcome } = await start();
    const lists = command.requests.get("lists/tools");
    opening = command.opening();
    command.end(id);
    command.stream.close();
    await opening;
    equal(await outcome, "done");
    equal(command.requests.get("lists/tools"), lists + 1, "requests for the list");
  });

  await check("call_without_a_stored_outcome_ends", async () => {
    const { outcome } = await start();
    command.calls = [{ id: 9, method: "ping", state: "running" }];
    command.send("state", command.state());
    equal(await outcome, undefined);
  });

  await check("log_has_its_newest_entries", async () => {
    const PART = 1000;
    const entry = (seq) => ({ seq, t: seq, kind: "stderr", bytes: 1, text: "x" });
    for (let first = 1; first <= 102 * PART; first += PART) {
      command.send("log", Array.from({ length: PART }, (_, position) => entry(first + position)));
    }
    while (log.value.at(-1)?.seq !== 102 * PART) await new Promise((resolve) => setImmediate(resolve));
    equal([log.value.length, log.value[0].seq], [100_000, 2 * PART + 1]);
  });

  await check("responses_belong_to_a_request_of_their_connection", async () => {
    const seq = log.value.at(-1).seq;
    const message = (number, conn, dir, other) => ({ seq: seq + number, t: 0, kind: "message", conn, dir, id: "1", bytes: 1, text: "", ...other });
    command.send("log", [
      message(1, 1, "out", { method: "tools/call", name: "add" }),
      message(2, 2, "out", { method: "prompts/get", name: "greet" }),
      message(3, 1, "in", { method: "roots/list" }),
      message(4, 1, "in", {}),
      message(5, 2, "in", {}),
      message(6, 1, "out", {}),
    ]);
    while (log.value.at(-1)?.seq !== seq + 6) await new Promise((resolve) => setImmediate(resolve));
    const requests = log.value.slice(-3).map((entry) => entry.request);
    equal(requests, [{ method: "tools/call", name: "add" }, { method: "prompts/get", name: "greet" }, { method: "roots/list" }]);
  });

  await check("exchanges_end_with_their_response_or_a_failed_http_request", async () => {
    const entry = (t, kind, dir, id, other) => ({ seq: t, t, kind, conn: 1, dir, id, bytes: 1, text: "", ...other });
    const request = (t, id) => entry(t, "message", "out", id, { method: "ping" });
    const exchanges = exchangesOf([
      request(1, "failed"),
      request(2, "rejected"),
      request(3, "repeated"),
      request(4, "broken"),
      request(5, "open"),
      entry(6, "message", "in", "failed", { failed: true }),
      entry(7, "http", "out", "rejected", {}),
      entry(8, "http", "in", "rejected", { failed: true }),
      // After a login, the request is sent again.
      entry(9, "http", "in", "repeated", { failed: true }),
      entry(10, "http", "in", "repeated", {}),
      entry(11, "message", "in", "repeated", {}),
      entry(12, "note", undefined, "broken", { failed: true }),
      // Another connection has the same id.
      { ...entry(13, "message", "in", "open", {}), conn: 2 },
    ]);
    equal(exchanges.map(({ end = null, failed }) => [end, failed]), [[6, true], [8, true], [11, false], [12, true], [null, false]]);
  });

  await check("announced_names_are_plain_lines", async () => {
    command.send("resource", { uri: "a:\u202eb\nc" });
    command.send("state", command.state());
    while (!announcement.value.endsWith(" changed")) await new Promise((resolve) => setImmediate(resolve));
    equal(announcement.value, "a:\\u{202e}b c changed");
  });
}
