// The snippets of "Copy as", without a page. Shells, compilers and parsers read them.

import { transform } from "esbuild";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { bundled, check, ensure, equal } from "./browser.mjs";

/** The tests in Rust that are copied from snippets. */
const COPIED = new URL("../../crates/toolwire-cli/tests/it/inspect/copied_tests.rs", import.meta.url);

/** Text that ends quotes, hides characters, and controls a terminal. */
const HOSTILE = "it's \"#quoted\"## \\ %s $HOME `id` \u202egnp \u001b[201~\u0003\u007f\u0085 line\nbreak\ttab é 𝒳";

/** Characters that must not be in a snippet. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/;

/** The state of a page whose server is a command. */
const COMMAND = ["node", "../../page/tests/hostile_server.mjs", HOSTILE];
const STATE = { target: { transport: "stdio", label: "", command: COMMAND }, settings: { era: "auto" }, connection: {} };
const OF_URL = { ...STATE, target: { transport: "http", label: "", url: "http://127.0.0.1:1/mcp" }, connection: { era: "modern" } };

export async function snippetChecks() {
  const { shellWord, snippets } = await bundled('export { shellWord, snippets } from "./snippets";');
  const textOf = (title, exchange, state = STATE) => snippets(exchange, state).find((one) => one.title === title).text;
  const call = (name, values = {}) => ({ kind: "tools", name, arguments: values });
  const plain = call("echo", { text: 'a "quoted" \\ line\nbreak', number: -12, half: 0.5, list: [true, null, {}] });
  const escaped = call(HOSTILE, { text: HOSTILE, number: 4294967296 });

  await check("shell_reads_every_word_as_it_was", async () => {
    const texts = ["", "plain", "two words", "it's", "$HOME", "%s", "\\n", HOSTILE];
    const words = texts.map(shellWord);
    for (const word of words) ensure(!HIDDEN.test(word), JSON.stringify(word));
    const printed = execFileSync("sh", ["-c", `printf '%s\\0' ${words.join(" ")}`], { encoding: "utf8" });
    equal(printed, texts.map((text) => `${text}\0`).join(""));
    // A shell removes a line break at the end of a word, so there is no command.
    const ofCommand = { ...STATE, target: { ...STATE.target, command: ["node", "line\n"] } };
    for (const state of [STATE, OF_URL]) ensure(/^#[^\n]*$/.test(textOf("toolwire", call("line\n"), state)), "name");
    for (const title of ["toolwire", "curl"]) ensure(/^#[^\n]*$/.test(textOf(title, call("echo"), ofCommand)), title);
  });

  await check("curl_has_the_headers_of_arguments", async () => {
    const header = (name, type) => ({ type, "x-mcp-header": name });
    const inner = { type: "object", properties: { flag: header("Flag", "boolean") } };
    const schema = { type: "object", properties: { region: header("Region", "string"), count: header("Count", "integer"), inner } };
    const headers = (values, state = OF_URL) => {
      const text = textOf("curl", { ...call("route", values), schema }, state);
      return [...text.matchAll(/^  -H '(Mcp-Param-[^']*)'/gm)].map(([, found]) => found);
    };
    equal(headers({ region: "eu", count: 3, inner: { flag: false } }), ["Mcp-Param-Region: eu", "Mcp-Param-Count: 3", "Mcp-Param-Flag: false"]);
    equal(headers({ region: "é", count: null }), ["Mcp-Param-Region: =?base64?w6k=?="]);
    equal(headers({ region: "eu" }, { ...OF_URL, connection: { era: "legacy" } }), []);
    for (const values of [{ count: 1.5 }, { region: ["eu"] }, { count: 2 ** 53 }]) {
      ensure(/^#[^\n]*$/.test(textOf("curl", { ...call("route", values), schema }, OF_URL)), JSON.stringify(values));
    }
  });

  await check("names_of_a_server_are_no_options_and_identifiers", async () => {
    for (const name of ["-H", "--config=/tmp/file", "-"]) {
      for (const state of [STATE, OF_URL]) ensure(/^#[^\n]*$/.test(textOf("toolwire", call(name), state)), name);
    }
    for (const [name, expected] of [
      ["add", "add_succeeds"],
      ["2fa-login", "call_2fa_login_succeeds"],
      ["日本", "call_succeeds"],
      ["-x", "x_succeeds"],
      ["__a__", "a_succeeds"],
      ["fn", "fn_succeeds"],
    ]) {
      equal(/async fn (\S*)\(\)/.exec(textOf("Rust test", call(name)))?.[1], expected, name);
    }
    ensure(textOf("Rust test", { kind: "resources", name: "1:/", arguments: {} }).includes("fn read_1_succeeds()"), "resource");
  });

  await check("rust_tests_are_those_that_are_compiled", async () => {
    const modules = Object.entries({ plain, escaped }).map(([name, one]) => `mod ${name} {\n${textOf("Rust test", one)}\n}\n`);
    const source = readFileSync(COPIED, "utf8");
    const copied = source.slice(source.indexOf("mod plain {"));
    const expected = modules.join("\n");
    ensure(!HIDDEN.test(expected), "a hidden character");
    ensure(copied === expected, `${COPIED.pathname} differs from the snippets, which are:\n${expected}`);
  });

  await check("typescript_and_python_are_parsed", async () => {
    const resource = { kind: "resources", name: HOSTILE, arguments: {} };
    const texts = (title) => [STATE, OF_URL].flatMap((state) => [escaped, resource].map((one) => textOf(title, one, state)));
    for (const text of texts("TypeScript")) {
      ensure(!HIDDEN.test(text), `a hidden character in ${text}`);
      await transform(text, { loader: "ts", format: "esm", target: "es2022" });
    }
    const python = texts("Python");
    ensure(!python.some((text) => HIDDEN.test(text)), "a hidden character");
    const script = "import ast, json, sys\nfor text in json.load(sys.stdin): ast.parse(text)";
    execFileSync("python3", ["-c", script], { input: JSON.stringify(python), stdio: "pipe" });
  });
}
