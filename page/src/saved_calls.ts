// The calls that the user saved in a file of the command.

import { signal } from "@preact/signals";
import { get, post, request } from "./api";
import type { SavedCall } from "./model";

export const savedCalls = signal<{ file: string; calls: SavedCall[] }>({ file: "", calls: [] });

/** Reads the file again. Without it, the page shows no saved calls. */
export async function loadSavedCalls(): Promise<void> {
  try {
    savedCalls.value = (await get("saved")) as unknown as { file: string; calls: SavedCall[] };
  } catch {
    savedCalls.value = { file: "", calls: [] };
  }
}

export const saveCall = (name: string, call: number) => post("saved", { name, call });

export const deleteSavedCall = (name: string) => request("DELETE", `saved/${name}`);
