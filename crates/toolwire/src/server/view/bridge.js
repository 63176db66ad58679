// The bridge of toolwire: the view's side of the messages between a view and its host.
//
// toolwire.connect({ onInput, onInputPartial, onResult, onCancelled, onContext, onClose, name, version, autoResize })
// tells the host that the view is ready, and returns a promise of the host context. All handlers are optional.
// The other functions return promises: callTool, readResource, openLink, sendMessage, updateModelContext,
// requestDisplayMode. resize and log return nothing.
"use strict";
window.toolwire = (() => {
  const host = window.parent;
  const pending = new Map();
  let handlers = {};
  let context = {};
  let nextId = 1;

  const post = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params = {}) => post({ method, params });
  const request = (method, params = {}) =>
    new Promise((resolve, reject) => {
      const id = nextId++;
      pending.set(id, { resolve, reject });
      post({ id, method, params });
    });

  // Applies the theme, the style variables and the fonts of the host to the document.
  function applyContext(changed) {
    context = { ...context, ...changed };
    const root = document.documentElement;
    if (changed.theme === "light" || changed.theme === "dark") {
      root.dataset.theme = changed.theme;
      root.style.colorScheme = changed.theme;
    }
    const styles = changed.styles || {};
    for (const [name, value] of Object.entries(styles.variables || {})) {
      if (name.startsWith("--") && typeof value === "string") root.style.setProperty(name, value);
    }
    if (styles.css && typeof styles.css.fonts === "string") {
      const fonts = document.getElementById("toolwire-fonts") || document.createElement("style");
      fonts.id = "toolwire-fonts";
      fonts.textContent = styles.css.fonts;
      document.head.append(fonts);
    }
  }

  const notifications = {
    "ui/notifications/tool-input-partial": (params) => handlers.onInputPartial?.(params.arguments ?? {}),
    "ui/notifications/tool-input": (params) => handlers.onInput?.(params.arguments ?? {}),
    "ui/notifications/tool-result": (params) => handlers.onResult?.(params),
    "ui/notifications/tool-cancelled": (params) => handlers.onCancelled?.(params.reason),
    "ui/notifications/host-context-changed": (params) => {
      applyContext(params);
      handlers.onContext?.(context);
    },
  };

  async function respond(message) {
    if (message.method === "ping") return post({ id: message.id, result: {} });
    if (message.method === "ui/resource-teardown") {
      try {
        await handlers.onClose?.();
      } finally {
        post({ id: message.id, result: {} });
      }
      return;
    }
    post({ id: message.id, error: { code: -32601, message: "the view has no such method" } });
  }

  window.addEventListener("message", (event) => {
    const message = event.data;
    // Only the host may send messages, not other windows.
    if (event.source !== host || message?.jsonrpc !== "2.0") return;
    if (message.method !== undefined) {
      if (message.id !== undefined) respond(message);
      else if (Object.hasOwn(notifications, message.method)) notifications[message.method](message.params ?? {});
      return;
    }
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (!waiting) return;
    if (message.error) {
      waiting.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
    } else {
      waiting.resolve(message.result);
    }
  });

  // Reports the size of the content, and each change of it.
  function reportSize() {
    const root = document.documentElement;
    const report = () => notify("ui/notifications/size-changed", { width: root.scrollWidth, height: root.offsetHeight });
    new ResizeObserver(report).observe(root);
  }

  async function connect(options = {}) {
    handlers = options;
    const result = await request("ui/initialize", {
      appInfo: { name: options.name ?? (document.title || "view"), version: options.version ?? "1.0.0" },
      appCapabilities: {},
      protocolVersion: "2026-01-26",
    });
    applyContext(result.hostContext ?? {});
    notify("ui/notifications/initialized");
    if (options.autoResize !== false) reportSize();
    return context;
  }

  const blocks = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : content);
  return {
    connect,
    get context() { return context; },
    callTool: (name, args = {}) => request("tools/call", { name, arguments: args }),
    readResource: (uri) => request("resources/read", { uri }),
    openLink: (url) => request("ui/open-link", { url }),
    sendMessage: (content) => request("ui/message", { role: "user", content: blocks(content) }),
    updateModelContext: (params) => request("ui/update-model-context", params),
    requestDisplayMode: (mode) => request("ui/request-display-mode", { mode }),
    resize: (width, height) => notify("ui/notifications/size-changed", { width, height }),
    log: (level, data) => notify("notifications/message", { level, data }),
  };
})();
