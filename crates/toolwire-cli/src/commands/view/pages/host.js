// The host page: passes messages between the frame and the command, which contains the rules.
"use strict";
(async () => {
  const frame = document.getElementById("frame");
  const status = document.getElementById("status");
  const links = document.getElementById("links");
  const frameOrigin = new URL(frame.dataset.src).origin;

  const post = (path, body) =>
    fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

  const environment = {
    theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
    locale: navigator.language,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
  const { load, border } = await (await post("load", environment)).json();
  if (border) frame.classList.add("border");

  // Messages are passed on in the order in which the frame sent them.
  let sending = Promise.resolve();
  const send = (kind, body) => {
    sending = sending.then(() => post(`${kind}?load=${load}`, body)).catch(() => {});
  };
  window.addEventListener("message", (event) => {
    // Only the proxy frame may send messages, not the view itself, and no other window.
    if (event.source !== frame.contentWindow || event.origin !== frameOrigin) return;
    if (event.data && event.data.blocked) send("blocked", event.data);
    else send("message", event.data);
  });

  function showLink(url) {
    const link = document.createElement("a");
    link.href = url;
    link.textContent = url;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    links.append(link);
    links.hidden = false;
  }

  frame.src = frame.dataset.src;
  for (;;) {
    let response;
    try {
      response = await fetch(`next?load=${load}`);
    } catch {
      status.textContent = "The command has ended.";
      return;
    }
    if (!response.ok) {
      status.textContent = "The view was opened in another window.";
      frame.remove();
      return;
    }
    for (const item of await response.json()) {
      if (item.message) frame.contentWindow.postMessage(item.message, frameOrigin);
      if (item.height) frame.style.height = `${item.height}px`;
      if (item.link) showLink(item.link);
    }
  }
})();
