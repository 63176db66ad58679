// Compares the digest beside the pictures of the guides with that of the built page, so that old pictures are noticed. With
// --write, stores the digest. `cargo xtask page --pictures` does this after it has taken the pictures.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";

const stored = new URL("pictures/build.sha256", import.meta.url);

/** Returns the digest of the built files. Comments and formatting of the sources do not change it. */
async function digest() {
  const hash = createHash("sha256");
  for (const name of ["index.html", "page.css", "page.js"]) {
    hash.update(gunzipSync(await readFile(new URL(`../crates/toolwire-cli/dist/${name}.gz`, import.meta.url))));
  }
  return `${hash.digest("hex")}\n`;
}

if (process.argv.includes("--write")) {
  await writeFile(stored, await digest());
} else if ((await readFile(stored, "utf8").catch(() => "")) !== (await digest())) {
  console.error("the pictures in page/pictures show another build: run `cargo xtask page --pictures`, and commit the result");
  process.exitCode = 1;
}
