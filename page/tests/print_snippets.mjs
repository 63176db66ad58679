// Prints snippets of "Copy as" as a list of JSON: `node print_snippets.mjs '[{"title": …, "exchange": …, "state": …}, …]'`.

import { bundled } from "./browser.mjs";

const { snippets } = await bundled('export { snippets } from "./snippets";');
const textOf = ({ title, exchange, state }) => snippets(exchange, state).find((one) => one.title === title).text;
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(textOf)));
