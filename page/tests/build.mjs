// The page of `toolwire dev` during builds.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TOOLWIRE, check, equal, inAppearances, open, picture, select, start } from "./browser.mjs";

/** Fails if the source contains `broken`. While there is a file `hold`, the build does not end. */
const BUILD = `
while [ -e hold ]; do sleep 0.02; done
if grep -q broken src/tool; then echo 'error: the tool is broken' >&2; exit 1; fi
`;

export async function buildChecks(browser) {
  const directory = mkdtempSync(join(tmpdir(), "toolwire-page-build-"));
  const write = (name, text) => writeFileSync(join(directory, name), text);
  mkdirSync(join(directory, "src"));
  write("build.sh", BUILD);
  write("src/tool", "first");
  const words = ["dev", "--build", "sh build.sh", "--", TOOLWIRE, "demo", "--stdio"];
  const command = await start(words, { cwd: directory });
  const { context, page, problems } = await open(browser, command.url);
  const previous = page.getByRole("group", { name: "Previous build" });

  await check("error_of_the_previous_build_stays_during_a_build", async () => {
    write("src/tool", "broken");
    const alert = page.getByRole("alert");
    await alert.getByText("error: the tool is broken").waitFor();
    await alert.getByRole("heading", { name: "The build failed (exit status: 1)" }).waitFor();
    await alert.getByText("sh build.sh", { exact: true }).waitFor();
    equal(await previous.count(), 0, "previous builds");
    await picture(page, "dev-failed-build", { last: page.getByRole("option").nth(3), margin: 10 });
    await select(page, "add", "add");
    await inAppearances(page, "a failed build");
    write("hold", "");
    write("src/tool", "mended");
    await page.getByRole("status").getByText("Building: sh build.sh").waitFor();
    await previous.getByText("error: the tool is broken").waitFor();
    equal(await page.getByRole("alert").count(), 0, "alerts");
    await inAppearances(page, "a build after a failed one");
    rmSync(join(directory, "hold"));
    await previous.waitFor({ state: "detached" });
  });

  await check("successful_build_shows_nothing_but_its_progress", async () => {
    write("hold", "");
    write("src/tool", "better");
    await page.getByRole("status").getByText("Building: sh build.sh").waitFor();
    equal(await previous.count(), 0, "previous builds");
    await inAppearances(page, "a build");
    rmSync(join(directory, "hold"));
    await page.getByRole("status").getByText(/^(Building|Starting)/).waitFor({ state: "detached" });
    await inAppearances(page, "the server after a build");
  });

  await check("no_violation_of_the_policy", async () => equal(problems, []));
  await context.close();
  command.end();
  rmSync(directory, { recursive: true });
}
