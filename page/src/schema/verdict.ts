// Whether values match schemas. The command checks them, so that the page has no rules of its own.

import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "../api";
import type { Json } from "../json";
import { messageOf } from "../store";
import type { Schema } from "./limits";

export interface Verdict {
  verdict: "valid" | "invalid" | "unchecked";
  violations?: string[];
  /** Why the value was not checked. */
  reason?: string;
}

/** How long the user pauses before a value is checked, in milliseconds. */
const PAUSE_MS = 150;

async function check(body: { schema: Json; value: Json; name: string } | { schema: Json; call: number }): Promise<Verdict> {
  try {
    return (await post("check", body)) as unknown as Verdict;
  } catch (error) {
    return { verdict: "unchecked", reason: messageOf(error) };
  }
}

/** The verdicts of results, by the id of the call. The command removes old results. */
const ofCalls = new Map<number, Promise<Verdict>>();
/** The maximum number of such verdicts. */
const MAX_VERDICTS = 50;

/** Returns the verdict of the structured content of a call, or undefined until it is known. */
export function useCallVerdict(call: number, schema: Schema | undefined): Verdict | undefined {
  const [verdict, setVerdict] = useState<Verdict | undefined>(undefined);
  useEffect(() => {
    if (!schema) return;
    const checking = ofCalls.get(call) ?? check({ schema, call });
    ofCalls.set(call, checking);
    for (const oldest of ofCalls.keys()) {
      if (ofCalls.size <= MAX_VERDICTS) break;
      ofCalls.delete(oldest);
    }
    void checking.then(setVerdict);
  }, [call]);
  return verdict;
}

/** Returns the last verdict of a value that the user edits, or undefined until there is one. */
export function useVerdict(name: string, schema: Schema, value: Json): Verdict | undefined {
  const [verdict, setVerdict] = useState<Verdict | undefined>(undefined);
  const newest = useRef(0);
  useEffect(() => {
    const number = ++newest.current;
    const pause = setTimeout(async () => {
      const next = await check({ schema, value, name });
      // A slow response does not replace a later one.
      if (number === newest.current) setVerdict(next);
    }, PAUSE_MS);
    return () => {
      clearTimeout(pause);
      newest.current++;
    };
  }, [name, schema, value]);
  return verdict;
}
