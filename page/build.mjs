// Builds the page into crates/toolwire-cli/dist, compressed. The crate contains the build, so that it can be published.
// With --check, compares the build with the files there instead.

import { build } from "esbuild";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { gunzipSync, gzipSync } from "node:zlib";

const root = new URL(".", import.meta.url);
const dist = new URL("../crates/toolwire-cli/dist/", root);
const check = process.argv.includes("--check");

/** The limits in bytes: of the script, of the script compressed, and of all compressed files together. */
const LIMITS = { script: 120_000, compressed: 40_000, total: 80_000 };

const bundled = await build({
  entryPoints: { page: new URL("src/main.tsx", root).pathname },
  bundle: true,
  minify: true,
  write: false,
  outdir: dist.pathname,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});

const files = new Map();
for (const output of bundled.outputFiles) {
  files.set(output.path.split(/[\\/]/).pop(), Buffer.from(output.contents));
}
files.set("index.html", await readFile(new URL("src/index.html", root)));

let total = 0;
let failed = false;
const fail = (text) => {
  console.error(text);
  failed = true;
};

for (const [name, content] of files) {
  // The time in the header of gzip is zero, so equal content has equal bytes.
  const compressed = gzipSync(content, { level: 9 });
  total += compressed.length;
  console.log(`${name}: ${content.length} bytes, ${compressed.length} compressed`);
  if (name === "page.js" && (content.length > LIMITS.script || compressed.length > LIMITS.compressed)) {
    fail(`the script has more than ${LIMITS.script} bytes, or more than ${LIMITS.compressed} compressed`);
  }
  const path = new URL(`${name}.gz`, dist);
  if (!check) {
    await mkdir(dist, { recursive: true });
    await writeFile(path, compressed);
    continue;
  }
  // The compressed bytes depend on the version of Node.js, so the content is compared.
  const stored = await readFile(path).catch(() => undefined);
  if (stored === undefined || !gunzipSync(stored).equals(content)) {
    fail(`${name}.gz differs from its source: run \`cargo xtask page\` and commit the result`);
  }
}
if (total > LIMITS.total) {
  fail(`the page has more than ${LIMITS.total} bytes`);
}
process.exitCode = failed ? 1 : 0;
