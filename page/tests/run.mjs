// Runs all checks in one browser: `node run.mjs '{"modern": ADDRESS, "legacy": ADDRESS, …}'`. The keys are those of PAGES.

import { inScope, launch } from "./browser.mjs";
import { demo } from "./demo.mjs";
import { foreign } from "./foreign.mjs";
import { logChecks } from "./log.mjs";
import { many } from "./many.mjs";

const PAGES = { modern: demo, legacy: demo, many, foreign, log: logChecks };

const addresses = JSON.parse(process.argv[2]);
const browser = await launch();
for (const [name, address] of Object.entries(addresses)) {
  inScope(name);
  await PAGES[name](browser, address, name);
}
await browser.close();
process.exit();
