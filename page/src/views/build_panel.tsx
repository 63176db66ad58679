// The last build of `toolwire dev`: that it runs, and why it or the build before it failed.

import { plainText } from "../plain_text";
import { state } from "../store";

export function BuildPanel() {
  const build = state.value?.build;
  if (!build || build.phase === "running") return null;
  const isRunning = build.phase === "building" || build.phase === "starting";
  const command = plainText(build.command ?? "");
  const error = plainText(build.error ?? (isRunning ? "" : "the build failed"));
  const [title, detail] = partsOf(error);
  return (
    <>
      {isRunning && (
        <p class="hint" role="status">
          {build.phase === "building" ? `Building: ${command}` : "Starting the server"}
        </p>
      )}
      {error && (
        // The error of the previous build was announced when that build failed.
        <div class="problem" role={isRunning ? "group" : "alert"} aria-labelledby="build-title">
          <h2 id="build-title">{isRunning ? `Previous build: ${title}` : `${title.charAt(0).toUpperCase()}${title.slice(1)}`}</h2>
          {!isRunning && command !== "" && (
            <p>
              <code>{command}</code>
            </p>
          )}
          {detail && <p>{detail}</p>}
          {build.output && (
            <pre class="build-output" tabIndex={0} aria-label="Output of the build">
              {plainText(build.output)}
            </pre>
          )}
        </div>
      )}
    </>
  );
}

/** Returns what has failed, and the reason after the colon, such as in "the server did not start: it has no tools". */
function partsOf(error: string): [string, string?] {
  const [, what = error, reason] = /^([^:(]+): (.*)$/s.exec(error) ?? [];
  return [what, reason];
}
