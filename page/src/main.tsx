// Starts the page.

import "./page.css";
import { render } from "preact";
import { signIn } from "./api";
import { App } from "./app";
import { run } from "./store";

const root = document.getElementById("page");
if (root) {
  render(<App />, root);
  await signIn();
  void run();
}
