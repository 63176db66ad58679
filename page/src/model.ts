// The types of the HTTP interface.

import type { Json, JsonObject } from "./json";

export type ListKind = "tools" | "prompts" | "resources" | "templates";

/** A tool, prompt, resource or template, as the server sent it. */
export type Item = JsonObject;

export interface Target {
  transport: "http" | "stdio" | "record";
  label: string;
  url?: string;
  command?: string[];
}

export interface Faults {
  delayMs: number;
  cutAfterBytes: number | null;
  repeatNotifications: boolean;
  expiredToken: boolean;
}

export interface Settings {
  era: "auto" | "modern" | "legacy";
  logLevel: string | null;
  roots: string[];
  elicitation: boolean;
  sampling: boolean;
  faults: Faults;
}

export interface Connection {
  status: "connecting" | "connected" | "failed";
  /** Changes with each new connection. */
  number?: number;
  error?: string;
  advice?: string;
  era?: "modern" | "legacy";
  version?: string;
}

export interface CallSummary {
  id: number;
  method: string;
  name?: string;
  state: "running" | "done" | "cancelled";
  tookMs?: number;
  failed?: boolean;
  progress?: { progress: number; total?: number; message?: string };
  /** The trace that the request belongs to. */
  traceId?: string;
  /** The number of reports of the server about the call. */
  reports?: number;
  inputs?: InputExchange[];
}

/** What happened inside of a server that is written with toolwire. Times are in microseconds. */
export interface ExchangeReport {
  method: string;
  name?: string;
  outcome: string;
  tookUs: number;
  spans: { kind: string; name?: string; startUs: number; tookUs: number; ownUs: number }[];
  rejected?: { what: "arguments" | "result" | "unknown"; paths: string[] };
  hidden?: { kind: string; name: string; because: string }[];
  moreHidden?: number;
  load: { running: number; streams: number; queued: number };
}

/** A call of a tool that can be made again. */
export interface SavedCall {
  name: string;
  tool: string;
  arguments: JsonObject;
  responses?: { kind: string; message: string; response: Json }[];
}

/** An input request of the server, and the response of the user. */
export interface InputExchange {
  kind: string;
  message: string;
  response: string;
}

export interface CallOutcome extends CallSummary {
  bytes?: number;
  result?: Json;
  error?: { code?: number; message: string; data?: Json; advice?: string };
}

export interface InputRequest {
  id: number;
  kind: "form" | "url" | "sampling";
  params: JsonObject;
  call?: number;
}

export interface ServerDetails {
  info?: { name: string; title?: string; version: string };
  capabilities: JsonObject;
  instructions?: string;
  versions: string[];
}

/** The last build of `toolwire dev`. */
export interface Build {
  number: number;
  phase: "building" | "starting" | "running" | "failed" | "stopped";
  command?: string;
  error?: string;
  /** The output of a failed build. */
  output?: string;
}

export interface State {
  toolwire: string;
  /** A later state has a greater number. */
  number: number;
  target: Target;
  connection: Connection;
  server?: ServerDetails;
  build?: Build;
  settings: Settings;
  subscriptions: string[];
  calls: CallSummary[];
  inputs: InputRequest[];
  record: { running: boolean; stored: boolean };
}

/** The login for the server. `none` if the server has no address, `header` if the command line has credentials. */
export interface Account {
  kind: "none" | "header" | "login";
  account?: {
    issuer: string;
    user: string | null;
    scopes: string[] | null;
    expiresAt: number | null;
    canRefresh: boolean;
  } | null;
}

/** The comparison of a server with a record. */
export interface Report {
  same: number;
  different: number;
  skipped: number;
  exchanges: ComparedExchange[];
}

export interface ComparedExchange {
  request: string;
  outcome: "same" | "different" | "skipped";
  reason?: string;
  differences?: { path: string; recorded: Json; received: Json }[];
}

/** One line of the log. `text` is its beginning. */
export interface LogEntry {
  seq: number;
  /** Microseconds since the start of the command. */
  t: number;
  kind: "message" | "http" | "stderr" | "note" | "inside";
  dir?: "out" | "in";
  /** The number of the connection. Ids of requests are unique only within one. */
  conn?: number;
  method?: string;
  /** The id of a message, or of the request whose HTTP headers these are. */
  id?: string;
  /** The name of the tool or prompt, or the URI. */
  name?: string;
  error?: { code: number; message: string };
  failed?: boolean;
  bytes: number;
  text: string;
  /** The request that a response belongs to. The page adds it. */
  request?: { method: string; name?: string | undefined };
}
