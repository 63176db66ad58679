// Runs all checks in one browser: `node run.mjs '{"modern": ADDRESS, "legacy": ADDRESS, …}'`. The keys are those of PAGES.

import { inScope, launch } from "./browser.mjs";
import { demo } from "./demo.mjs";
import { foreign } from "./foreign.mjs";
import { hostile } from "./hostile.mjs";
import { logChecks } from "./log.mjs";
import { many } from "./many.mjs";
import { schemaChecks } from "./schema.mjs";
import { snippetChecks } from "./snippets.mjs";

const PAGES = {
  schema: schemaChecks,
  snippets: snippetChecks,
  modern: demo,
  legacy: demo,
  many,
  hostile,
  foreign,
  log: logChecks,
};

const addresses = JSON.parse(process.argv[2]);
const browser = await launch();
for (const [name, address] of Object.entries(addresses)) {
  inScope(name);
  await PAGES[name](browser, address, name);
}
await browser.close();
process.exit();
