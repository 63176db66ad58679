//! What is attacked: every router, and everything one can ask it for.

use serde_json::{Value, json};
use toolwire::transport::http::{HttpOptions, LegacyMode};

use super::ways::Way;
use crate::auth::guarded::whoami;
use crate::http::request::Request;
use crate::http::session::{initialize_request, tool_call};
use crate::peer::{legacy, modern, notification};

pub(crate) const VERSION: &str = "2025-11-25";

/// One router. Every attack goes to every one of them.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) name: &'static str,
    pub(crate) way: Way,
    pub(crate) options: fn(HttpOptions) -> HttpOptions,
    pub(crate) entrances: &'static [&'static [Entrance]],
}

pub(crate) const ROUTERS: &[Router] = &[
    Router {
        name: "service",
        way: Way::Respond,
        options: |options| options.with_http_sse(),
        entrances: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "tower service",
        way: Way::Tower,
        options: |options| options.with_http_sse(),
        entrances: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "listener",
        way: Way::Http1,
        options: |options| options.with_http_sse(),
        entrances: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "listener, HTTP/2",
        way: Way::Http2,
        options: |options| options.with_http_sse(),
        entrances: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    #[cfg(feature = "tls")]
    Router {
        name: "listener, TLS",
        way: Way::Tls,
        options: |options| options.with_http_sse().with_tls(super::tls::config()),
        entrances: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "without sessions",
        way: Way::Http1,
        options: |options| options.with_legacy(LegacyMode::Stateless),
        entrances: &[MODERN, STATELESS, METADATA, PREFLIGHT],
    },
    Router {
        name: "2026-07-28 only",
        way: Way::Http1,
        options: |options| options.with_legacy(LegacyMode::Reject),
        entrances: &[MODERN, METADATA, PREFLIGHT],
    },
];

/// Handles that belong to somebody.
#[derive(Debug, Clone)]
pub(crate) struct Handles {
    /// A session of the 2025 revisions.
    pub(crate) session: String,
    /// An event of that session.
    pub(crate) event: String,
    /// Where the messages of a stream of the 2024-11-05 transport go.
    pub(crate) address: String,
}

impl Handles {
    /// Handles of the same shape that nobody has.
    pub(crate) fn invented(&self) -> Self {
        let (path, id) = self.address.split_once('=').unwrap_or(("/message?x", "x"));
        Self {
            session: "x".repeat(self.session.len()),
            event: self.event.replace(|c: char| c.is_ascii_alphabetic(), "x"),
            address: format!("{path}={}", "x".repeat(id.len())),
        }
    }
}

/// Something a router can be asked for.
#[derive(Debug)]
pub(crate) struct Entrance {
    pub(crate) name: &'static str,
    /// A good request, but for the token.
    pub(crate) request: fn(&Handles) -> Request,
    pub(crate) needs_token: bool,
    /// Whether it reads a message.
    pub(crate) has_body: bool,
    /// Whether it is for whoever has a handle.
    pub(crate) needs_handle: bool,
}

impl Entrance {
    const fn new(name: &'static str, request: fn(&Handles) -> Request) -> Self {
        Self {
            name,
            request,
            needs_token: true,
            has_body: true,
            needs_handle: false,
        }
    }

    const fn without_body(mut self) -> Self {
        self.has_body = false;
        self
    }

    const fn without_token(mut self) -> Self {
        self.needs_token = false;
        self
    }

    const fn with_handle(mut self) -> Self {
        self.needs_handle = true;
        self
    }
}

fn in_session(handles: &Handles, message: &Value) -> Request {
    Request::post(message).in_session(&handles.session, VERSION)
}

fn get(handles: &Handles) -> Request {
    Request::get(&handles.session, VERSION)
}

const MODERN: &[Entrance] = &[
    Entrance::new("call", |_| Request::modern(&whoami())),
    Entrance::new("listen", |_| {
        let wish = json!({"notifications": {"toolsListChanged": true}});
        Request::modern(&modern(7, "subscriptions/listen", wish))
    }),
    Entrance::new("notification", |_| {
        let cancel = notification("notifications/cancelled", json!({"requestId": 7}));
        Request::modern(&cancel)
    }),
];

const SESSIONS: &[Entrance] = &[
    Entrance::new("initialize", |_| initialize_request(VERSION)),
    Entrance::new("ping in a session", |handles| {
        in_session(handles, &legacy(1, "ping", json!({})))
    })
    .with_handle(),
    Entrance::new("call in a session", |handles| {
        in_session(handles, &tool_call(1, "whoami", json!({})))
    })
    .with_handle(),
    Entrance::new("cancel in a session", |handles| {
        let cancel = notification("notifications/cancelled", json!({"requestId": 1}));
        in_session(handles, &cancel)
    })
    .with_handle(),
    Entrance::new("answer in a session", |handles| {
        in_session(handles, &json!({"jsonrpc": "2.0", "id": 1, "result": {}}))
    })
    .with_handle(),
    Entrance::new("stream of a session", get)
        .without_body()
        .with_handle(),
    Entrance::new("stream that is resumed", |handles| {
        get(handles).with("Last-Event-ID", &*handles.event)
    })
    .without_body()
    .with_handle(),
    Entrance::new("end of a session", |handles| {
        Request::delete(&handles.session, VERSION)
    })
    .without_body()
    .with_handle(),
];

const STATELESS: &[Entrance] = &[
    Entrance::new("initialize", |_| initialize_request(VERSION)),
    Entrance::new("call", |_| {
        Request::post(&tool_call(1, "whoami", json!({}))).with("MCP-Protocol-Version", VERSION)
    }),
];

const HTTP_WITH_SSE: &[Entrance] = &[
    Entrance::new("old stream", |_| {
        Request::new("GET")
            .with_target("/sse")
            .with("Accept", "text/event-stream")
    })
    .without_body(),
    Entrance::new("old message", |handles| {
        Request::post(&legacy(1, "ping", json!({}))).with_target(&*handles.address)
    })
    .with_handle(),
];

const METADATA: &[Entrance] = &[
    Entrance::new("metadata", |_| {
        Request::new("GET").with_target("/.well-known/oauth-protected-resource/mcp")
    })
    .without_body()
    .without_token(),
    Entrance::new("metadata at the root", |_| {
        Request::new("GET").with_target("/.well-known/oauth-protected-resource")
    })
    .without_body()
    .without_token(),
];

const PREFLIGHT: &[Entrance] = &[Entrance::new("preflight", |_| {
    Request::new("OPTIONS")
        .with("Origin", "http://localhost")
        .with("Access-Control-Request-Method", "POST")
})
.without_body()
.without_token()];
