// A button that copies text to the clipboard.

import { useState } from "preact/hooks";
import { announcement } from "../store";

export function CopyButton(props: { text: () => string; label: string; name?: string }) {
  const [copied, setCopied] = useState<boolean | undefined>(undefined);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text());
      setCopied(true);
      announcement.value = "copied";
    } catch {
      setCopied(false);
      announcement.value = "the browser does not permit copying";
    }
    setTimeout(() => setCopied(undefined), 1500);
  };
  const outcome = copied === undefined ? undefined : copied ? "Copied" : "Not permitted";
  return (
    // The name contains the visible text, so that it can be spoken.
    <button type="button" class="small" onClick={copy} aria-label={outcome ?? props.name}>
      {outcome ?? props.label}
    </button>
  );
}
