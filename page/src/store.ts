// The state of the page: what the command reported, and what the user selected.

import { batch, computed, signal } from "@preact/signals";
import { ApiError, get, post, readEvents, request } from "./api";
import type { Json, JsonObject } from "./json";
import type { CallOutcome, CallSummary, InputRequest, Item, ListKind, LogEntry, State } from "./model";
import { exchangeOf } from "./exchanges";
import { plainLine } from "./plain_text";
import { loadSavedCalls } from "./saved_calls";

/** The views, in the order of the navigation. */
export const VIEWS = ["tools", "prompts", "resources", "templates", "log", "record", "settings"] as const;

export type View = (typeof VIEWS)[number];

export interface List {
  items: Item[];
  loading: boolean;
  error?: string;
}

/** The maximum number of log entries in the page. The command has the same limit. */
const MAX_LOG = 100_000;

const empty = (): List => ({ items: [], loading: true });

export const state = signal<State | undefined>(undefined);
/** A problem that stops the whole page. */
export const problem = signal<{ message: string; advice?: string | undefined } | undefined>(undefined);
export const view = signal<View>("tools");
export const lists = {
  tools: signal<List>(empty()),
  prompts: signal<List>(empty()),
  resources: signal<List>(empty()),
  templates: signal<List>(empty()),
};
export const selected = {
  tools: signal<string | undefined>(undefined),
  prompts: signal<string | undefined>(undefined),
  resources: signal<string | undefined>(undefined),
  templates: signal<string | undefined>(undefined),
};
export const inputs = signal<InputRequest[]>([]);
export const log = signal<LogEntry[]>([]);
export const logPaused = signal(false);
/** The calls, by id. */
export const calls = signal<ReadonlyMap<number, CallSummary>>(new Map());
/** A sentence for screen readers. */
export const announcement = signal("");
/** The time of the last change of a subscribed resource, by URI. */
export const updated = signal<ReadonlyMap<string, number>>(new Map());

export const connected = computed(() => state.value?.connection.status === "connected");

let lastSeq = 0;
/** The connection whose lists are shown. */
let loadedConnection = 0;

/** Returns the name that identifies an item of a list. */
export function keyOf(kind: ListKind, item: Item): string {
  const key = kind === "resources" ? item.uri : kind === "templates" ? item.uriTemplate : item.name;
  return String(key ?? "");
}

/** Returns the number of an attempt, so that a slow response does not replace a later one. */
const attempts: Record<ListKind, number> = { tools: 0, prompts: 0, resources: 0, templates: 0 };

export async function loadList(kind: ListKind): Promise<void> {
  const attempt = ++attempts[kind];
  lists[kind].value = { ...lists[kind].value, loading: true };
  let list: List;
  try {
    const { items } = (await get(`lists/${kind}`)) as unknown as { items: Item[] };
    list = { items, loading: false };
  } catch (error) {
    list = { items: [], loading: false, error: messageOf(error) };
  }
  if (attempt === attempts[kind]) lists[kind].value = list;
}

const LISTS: ListKind[] = ["tools", "prompts", "resources", "templates"];

/** The maximum number of calls in the page. The oldest are removed. */
const MAX_CALLS = 500;

function withCalls(added: CallSummary[]): ReadonlyMap<number, CallSummary> {
  const known = new Map(calls.value);
  for (const call of added) known.set(call.id, call);
  for (const oldest of known.keys()) {
    if (known.size <= MAX_CALLS) break;
    known.delete(oldest);
  }
  return known;
}

function receiveState(next: State): void {
  // The response to a request may arrive after a later event.
  if (state.value && next.number < state.value.number) return;
  batch(() => {
    state.value = next;
    inputs.value = next.inputs;
    calls.value = withCalls(next.calls);
  });
  settleCalls(next.calls);
  const { number } = next.connection;
  if (number !== undefined && number !== loadedConnection) {
    loadedConnection = number;
    announcement.value = "connected";
    loadLists();
  }
}

/** Ends the waiting for calls whose end was reported by an event that this page missed. */
function settleCalls(known: CallSummary[]): void {
  const newest = known.at(-1)?.id ?? 0;
  const ended = new Set(known.filter((call) => call.state !== "running").map((call) => call.id));
  const present = new Set(known.map((call) => call.id));
  for (const [id, settle] of waiting) {
    // The command has removed the outcome of a call that is older than the others.
    if (ended.has(id) || (id < newest && !present.has(id))) settle();
  }
}

function loadLists(): void {
  for (const kind of LISTS) void loadList(kind);
  void loadSavedCalls();
}

function receive(name: string, data: Json): void {
  const value = data as unknown;
  switch (name) {
    case "state":
      receiveState(value as State);
      break;
    case "list":
      void loadList((value as { kind: ListKind }).kind);
      break;
    case "resource": {
      const { uri } = value as { uri: string };
      updated.value = new Map(updated.value).set(uri, Date.now());
      announcement.value = `${plainLine(uri)} changed`;
      break;
    }
    case "call": {
      const call = value as CallSummary;
      calls.value = withCalls([call]);
      if (call.state !== "running") waiting.get(call.id)?.();
      break;
    }
    case "input":
      inputs.value = [...inputs.value.filter((one) => one.id !== (value as InputRequest).id), value as InputRequest];
      announcement.value = "the server requests input";
      break;
    case "input_ended":
      inputs.value = inputs.value.filter((one) => one.id !== (value as { id: number }).id);
      break;
    case "saved":
      void loadSavedCalls();
      break;
    case "log":
      receiveLog(value as LogEntry[]);
      break;
    case "reset":
      // The state follows. Changes of lists may be missed.
      loadLists();
      break;
  }
}

/** The requests without a response, by their keys. */
const requests = new Map<string, NonNullable<LogEntry["request"]>>();
/** The maximum number of such requests. */
const MAX_REQUESTS = 10_000;

/** Adds its request to each response. */
function addRequests(entries: LogEntry[]): void {
  for (const entry of entries) {
    const key = exchangeOf(entry);
    if (entry.kind !== "message" || key === undefined) continue;
    if (entry.method !== undefined) {
      if (requests.size >= MAX_REQUESTS) requests.clear();
      requests.set(key, { method: entry.method, name: entry.name });
      continue;
    }
    const request = requests.get(key);
    if (request !== undefined) entry.request = request;
    requests.delete(key);
  }
}

function receiveLog(entries: LogEntry[]): void {
  const last = entries.at(-1);
  if (!last) return;
  lastSeq = last.seq;
  addRequests(entries);
  const all = log.value.concat(entries);
  log.value = all.length > MAX_LOG ? all.slice(all.length - MAX_LOG) : all;
}

export async function clearLog(): Promise<void> {
  await request("DELETE", "log");
  log.value = [];
}

/** Reads events for ever. If the command does not respond, it is tried again. */
export async function run(): Promise<never> {
  for (let failures = 0; ; failures++) {
    try {
      const shown = loadedConnection;
      receiveState((await get("state")) as unknown as State);
      problem.value = undefined;
      failures = 0;
      // Changes of lists may be missed since the last stream.
      if (connected.value && shown === loadedConnection) loadLists();
      await readEvents(lastSeq, receive);
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      problem.value =
        status === 401
          ? {
              message: "this page has no access",
              advice: "open the address that `toolwire inspect` printed; each address works once",
            }
          : { message: messageOf(error), advice: error instanceof ApiError ? error.advice : undefined };
      if (status === 401) return new Promise<never>(() => {});
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** failures, 5000)));
  }
}

/** What ends the waiting for a call, by its id. */
const waiting = new Map<number, () => void>();

/** A call that the page started. */
export interface StartedCall {
  id: number;
  outcome: Promise<CallOutcome>;
}

/** Sends a request to the server. The outcome is read when the command reports the end of the call. */
export const startCall = (method: string, params: JsonObject) => start({ method, params });

/** Makes a saved call again, also with its responses to input requests. */
export const startSaved = (saved: string, responses: boolean) => start({ saved, responses });

async function start(body: JsonObject): Promise<StartedCall> {
  const { id } = (await post("calls", body)) as { id: number };
  const read = async () => (await get(`calls/${id}`)) as unknown as CallOutcome;
  const ended = new Promise<void>((resolve) => {
    waiting.set(id, resolve);
    const known = calls.value.get(id);
    if (known && known.state !== "running") resolve();
  });
  return { id, outcome: ended.then(() => waiting.delete(id)).then(read) };
}

export const cancelCall = (id: number) => request("DELETE", `calls/${id}`);

/** Sends a request to the server, and waits for the result. */
export async function requestNow(method: string, params: JsonObject): Promise<CallOutcome> {
  return (await post("calls", { method, params, wait: true })) as unknown as CallOutcome;
}

export async function changeSettings(change: JsonObject): Promise<void> {
  receiveState((await request("PATCH", "settings", change)) as unknown as State);
}

/** Starts or stops the record. A new record contains the lists, so that they are there when it is opened. */
export async function setRecording(running: boolean): Promise<void> {
  receiveState((await post("record", { running })) as unknown as State);
  if (running) await Promise.all(LISTS.map(loadList));
}

export const reconnect = () => post("reconnect", {});

export async function subscribe(uri: string, on: boolean): Promise<void> {
  receiveState((await post("subscriptions", { uri, subscribed: on })) as unknown as State);
}

export function messageOf(error: unknown): string {
  if (error instanceof ApiError && error.advice) return `${error.message}; ${error.advice}`;
  return error instanceof Error ? error.message : String(error);
}
