//! The targets of the attacks: every router, with the requests that it serves.

use serde_json::{Value, json};
use toolwire::transport::http::{HttpOptions, LegacyMode};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{initialize_request, tool_call};
use toolwire_tests::peer::{legacy, modern, notification};

use super::entry_points::EntryPoint;
use crate::resource::protected_server::whoami;

pub(crate) const VERSION: &str = "2025-11-25";

/// A router under test. Every attack is run on every router.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) name: &'static str,
    pub(crate) entry_point: EntryPoint,
    pub(crate) options: fn(HttpOptions) -> HttpOptions,
    pub(crate) operations: &'static [&'static [Operation]],
}

pub(crate) const ROUTERS: &[Router] = &[
    Router {
        name: "service",
        entry_point: EntryPoint::Respond,
        options: |options| options.with_http_sse(),
        operations: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "tower service",
        entry_point: EntryPoint::Tower,
        options: |options| options.with_http_sse(),
        operations: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "listener",
        entry_point: EntryPoint::Http1,
        options: |options| options.with_http_sse(),
        operations: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "listener, HTTP/2",
        entry_point: EntryPoint::Http2,
        options: |options| options.with_http_sse(),
        operations: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "listener, TLS",
        entry_point: EntryPoint::Tls,
        options: |options| options.with_http_sse().with_tls(super::tls::config()),
        operations: &[MODERN, SESSIONS, HTTP_WITH_SSE, METADATA, PREFLIGHT],
    },
    Router {
        name: "without sessions",
        entry_point: EntryPoint::Http1,
        options: |options| options.with_legacy(LegacyMode::Stateless),
        operations: &[MODERN, STATELESS, METADATA, PREFLIGHT],
    },
    Router {
        name: "2026-07-28 only",
        entry_point: EntryPoint::Http1,
        options: |options| options.with_legacy(LegacyMode::Reject),
        operations: &[MODERN, METADATA, PREFLIGHT],
    },
];

/// The identifiers of one user on the server.
#[derive(Debug, Clone)]
pub(crate) struct Handles {
    /// The id of a session of the 2025 revisions.
    pub(crate) session: String,
    /// The id of an event of that session.
    pub(crate) event: String,
    /// The message endpoint of an HTTP+SSE stream.
    pub(crate) address: String,
}

impl Handles {
    /// Returns handles of the same format that do not exist.
    pub(crate) fn unknown(&self) -> Self {
        let (path, id) = self.address.split_once('=').unwrap_or(("/message?x", "x"));
        Self {
            session: "x".repeat(self.session.len()),
            event: self.event.replace(|c: char| c.is_ascii_alphabetic(), "x"),
            address: format!("{path}={}", "x".repeat(id.len())),
        }
    }
}

/// A kind of request that a router serves.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Returns a valid request without a token.
    pub(crate) request: fn(&Handles) -> Request,
    pub(crate) needs_token: bool,
    /// Whether the request has a message as its body.
    pub(crate) has_body: bool,
    /// Whether the request names a handle.
    pub(crate) needs_handle: bool,
}

impl Operation {
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

const MODERN: &[Operation] = &[
    Operation::new("call", |_| Request::modern(&whoami())),
    Operation::new("listen", |_| {
        let filter = json!({"notifications": {"toolsListChanged": true}});
        Request::modern(&modern(7, "subscriptions/listen", filter))
    }),
    Operation::new("notification", |_| {
        let cancel = notification("notifications/cancelled", json!({"requestId": 7}));
        Request::modern(&cancel)
    }),
];

const SESSIONS: &[Operation] = &[
    Operation::new("initialize", |_| initialize_request(VERSION)),
    Operation::new("ping in a session", |handles| {
        in_session(handles, &legacy(1, "ping", json!({})))
    })
    .with_handle(),
    Operation::new("call in a session", |handles| {
        in_session(handles, &tool_call(1, "whoami", json!({})))
    })
    .with_handle(),
    Operation::new("cancel in a session", |handles| {
        let cancel = notification("notifications/cancelled", json!({"requestId": 1}));
        in_session(handles, &cancel)
    })
    .with_handle(),
    Operation::new("response in a session", |handles| {
        in_session(handles, &json!({"jsonrpc": "2.0", "id": 1, "result": {}}))
    })
    .with_handle(),
    Operation::new("stream of a session", get)
        .without_body()
        .with_handle(),
    Operation::new("resumed stream", |handles| {
        get(handles).with("Last-Event-ID", &*handles.event)
    })
    .without_body()
    .with_handle(),
    Operation::new("deletion of a session", |handles| {
        Request::delete(&handles.session, VERSION)
    })
    .without_body()
    .with_handle(),
];

const STATELESS: &[Operation] = &[
    Operation::new("initialize", |_| initialize_request(VERSION)),
    Operation::new("call", |_| {
        Request::post(&tool_call(1, "whoami", json!({}))).with("MCP-Protocol-Version", VERSION)
    }),
];

const HTTP_WITH_SSE: &[Operation] = &[
    Operation::new("HTTP+SSE stream", |_| {
        Request::new("GET")
            .with_target("/sse")
            .with("Accept", "text/event-stream")
    })
    .without_body(),
    Operation::new("HTTP+SSE message", |handles| {
        Request::post(&legacy(1, "ping", json!({}))).with_target(&*handles.address)
    })
    .with_handle(),
];

const METADATA: &[Operation] = &[
    Operation::new("metadata", |_| {
        Request::new("GET").with_target("/.well-known/oauth-protected-resource/mcp")
    })
    .without_body()
    .without_token(),
    Operation::new("metadata at the root", |_| {
        Request::new("GET").with_target("/.well-known/oauth-protected-resource")
    })
    .without_body()
    .without_token(),
];

const PREFLIGHT: &[Operation] = &[Operation::new("preflight", |_| {
    Request::new("OPTIONS")
        .with("Origin", "http://localhost")
        .with("Access-Control-Request-Method", "POST")
})
.without_body()
.without_token()];
