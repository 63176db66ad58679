// The HTTP interface of the command, with the token of this page.

import { parse, type Json, type JsonObject } from "./json";

const TOKEN = "toolwire-token";

/** An error response of the command. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly advice?: string,
  ) {
    super(message);
  }
}

/** Exchanges the secret in the address for a token, and removes it from the address. */
export async function signIn(): Promise<void> {
  const secret = location.hash.slice(1);
  if (!secret) return;
  history.replaceState(null, "", location.pathname);
  const response = await fetch("/api/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ secret }),
  });
  if (response.ok) {
    const { token } = (await response.json()) as { token: string };
    localStorage.setItem(TOKEN, token);
  }
}

function headers(): Record<string, string> {
  return { authorization: `Bearer ${localStorage.getItem(TOKEN) ?? ""}` };
}

/** Sends a request, and returns the JSON of the response. Throws an ApiError if the command rejects it. */
export async function request(method: string, path: string, body?: Json): Promise<Json> {
  const init: RequestInit = { method, headers: headers() };
  if (body !== undefined) {
    init.headers = { ...headers(), "content-type": "application/json" };
    init.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(`/api/${path}`, init);
  } catch {
    throw new ApiError(0, "the command does not respond", "start `toolwire inspect` again");
  }
  const text = await response.text();
  const value = text ? parse(text) : null;
  if (response.ok) return value;
  const { error, advice } = (value ?? {}) as JsonObject;
  throw new ApiError(response.status, String(error ?? response.statusText), advice as string | undefined);
}

/** Saves the response as a file. */
export async function download(path: string, name: string): Promise<void> {
  const response = await fetch(`/api/${path}`, { headers: headers() });
  if (!response.ok) throw new ApiError(response.status, "the file cannot be read");
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

export const get = (path: string) => request("GET", path);
export const post = (path: string, body: Json) => request("POST", path, body);

/** Passes each event of the stream to the listener until the stream ends. */
export async function readEvents(after: number, listener: (name: string, data: Json) => void): Promise<void> {
  const response = await fetch(`/api/events?after=${after}`, { headers: headers() });
  if (!response.ok || !response.body) {
    throw new ApiError(response.status, "the stream of events was rejected");
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      readEvent(rest.slice(0, end), listener);
      rest = rest.slice(end + 2);
    }
  }
}

function readEvent(text: string, listener: (name: string, data: Json) => void): void {
  let name = "message";
  let data = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (data) listener(name, parse(data));
}
