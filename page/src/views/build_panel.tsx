// The last build of `toolwire dev`: that it runs, and why it or the build before it failed.

import { plainText } from "../plain_text";
import { state } from "../store";

export function BuildPanel() {
  const build = state.value?.build;
  if (!build || build.phase === "running") return null;
  const isRunning = build.phase === "building" || build.phase === "starting";
  const command = plainText(build.command ?? "");
  const error = plainText(build.error ?? (isRunning ? "" : "the build failed"));
  return (
    <>
      {isRunning && (
        <p class="hint" role="status">
          {build.phase === "building" ? `Building: ${command}` : "Starting the server"}
        </p>
      )}
      {error && (
        // The error of the previous build was announced when that build failed.
        <div
          class="problem"
          role={isRunning ? "group" : "alert"}
          aria-label={isRunning ? "Previous build" : undefined}
        >
          <p>{isRunning ? `Previous build: ${error}` : error}</p>
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
