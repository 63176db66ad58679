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
  const { announcement, log, run, startCall } = await bundled('export * from "./store";');
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

  await check("announced_names_are_plain_lines", async () => {
    command.send("resource", { uri: "a:\u202eb\nc" });
    command.send("state", command.state());
    while (!announcement.value.endsWith(" changed")) await new Promise((resolve) => setImmediate(resolve));
    equal(announcement.value, "a:\\u{202e}b c changed");
  });
}
