// The proxy frame: passes messages between the host page and the view, except those about the proxy itself.
"use strict";
(() => {
  const view = document.getElementById("view");
  const host = view.dataset.host;
  const isPassed = (message) => !String(message?.method ?? "").startsWith("ui/notifications/sandbox-");

  window.addEventListener("message", (event) => {
    const message = event.data;
    if (message?.jsonrpc !== "2.0" || !isPassed(message)) return;
    if (event.source === window.parent && event.origin === host) {
      // The view has an opaque origin, which cannot be named.
      view.contentWindow.postMessage(message, "*");
    } else if (event.source === view.contentWindow) {
      window.parent.postMessage(message, host);
    }
  });
  // The policy of this page stops the view from loading another page into its frame.
  document.addEventListener("securitypolicyviolation", (event) => {
    window.parent.postMessage({ blocked: String(event.blockedURI).slice(0, 2048) }, host);
  });
  view.src = view.dataset.src;
})();
