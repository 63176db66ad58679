// The last build of `toolwire dev`: that it runs, or why it failed.

import { plainText } from "../plain_text";
import { state } from "../store";

export function BuildPanel() {
  const build = state.value?.build;
  if (!build || build.phase === "running") return null;
  if (build.phase === "building" || build.phase === "starting") {
    const command = plainText(build.command ?? "");
    return (
      <p class="hint" role="status">
        {build.phase === "building" ? `Building: ${command}` : "Starting the server"}
      </p>
    );
  }
  return (
    <div class="problem" role="alert">
      <p>{plainText(build.error ?? "the build failed")}</p>
      {build.output && (
        <pre class="build-output" tabIndex={0} aria-label="Output of the build">
          {plainText(build.output)}
        </pre>
      )}
    </div>
  );
}
