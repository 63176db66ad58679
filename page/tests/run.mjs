// Runs all checks in one browser: `node run.mjs '{"modern": ADDRESS, "legacy": ADDRESS, …}'`. The keys are those of PAGES.

import { inScope, launch } from "./browser.mjs";
import { buildChecks } from "./build.mjs";
import { demo } from "./demo.mjs";
import { foreign } from "./foreign.mjs";
import { hostile } from "./hostile.mjs";
import { insideChecks } from "./inside.mjs";
import { largeChecks } from "./large.mjs";
import { logChecks } from "./log.mjs";
import { many, manyLegacy } from "./many.mjs";
import { schemaChecks } from "./schema.mjs";
import { storeChecks } from "./store.mjs";

const PAGES = {
  schema: schemaChecks,
  store: storeChecks,
  modern: demo,
  legacy: demo,
  many,
  many_legacy: manyLegacy,
  hostile,
  foreign,
  build: buildChecks,
  log: logChecks,
  large: largeChecks,
  inside: insideChecks,
};

// Each started command adds a listener for the end of this process.
process.setMaxListeners(0);
const addresses = JSON.parse(process.argv[2]);
const browser = await launch();
for (const [name, address] of Object.entries(addresses)) {
  inScope(name);
  await PAGES[name](browser, address, name);
}
await browser.close();
process.exit();
