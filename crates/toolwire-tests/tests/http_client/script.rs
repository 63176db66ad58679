//! Scripts of the test servers: the requests that they record, and the responses that they send.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use toolwire_tests::peer::within;

/// Returns the response to a request.
pub(crate) type Script = Arc<dyn Fn(&RecordedRequest) -> Reply + Send + Sync>;

/// A request that a test server received.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) at: Instant,
    /// The number of the connection. The first connection has number 1.
    pub(crate) connection: usize,
    /// The number of earlier requests with the same HTTP method and JSON-RPC method.
    pub(crate) nth: usize,
    pub(crate) http_method: String,
    pub(crate) target: String,
    pub(crate) headers: HashMap<String, String>,
    /// The message, or null if there was no body.
    pub(crate) body: Value,
}

impl RecordedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Returns the method of the message. It is empty for responses and without a body.
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// Returns `true` if the request has this HTTP method and this JSON-RPC method.
    pub(crate) fn is(&self, http_method: &str, method: &str) -> bool {
        self.http_method == http_method && self.method() == method
    }

    /// Returns the JSON-RPC response to this message, as text.
    pub(crate) fn result(&self, result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}).to_string()
    }

    /// Responds with a result, as JSON.
    pub(crate) fn respond(&self, result: Value) -> Reply {
        Reply::json(200, self.result(result))
    }

    /// Responds with an error, as JSON with this status.
    pub(crate) fn reject(&self, status: u16, error: Value) -> Reply {
        let response = json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error});
        Reply::json(status, response.to_string())
    }

    /// Returns the result of a successful tool call.
    pub(crate) fn done(&self) -> Value {
        json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]})
    }
}

/// One HTTP response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// The response is not sent before this gate opens.
    pub(crate) gate: Option<Arc<Notify>>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) ending: Ending,
}

/// A part of a response body.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    Wait(Arc<Notify>),
}

/// How a response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The body is complete.
    Complete,
    /// The body is not complete, and the connection stays open.
    Open,
    /// The server closes the connection before the body is complete.
    Cut,
    /// The server resets the connection before the body is complete, as if its process was killed.
    Reset,
    /// The server closes the connection without a response.
    NoResponse,
}

impl Reply {
    /// Creates a response without a body.
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            gate: None,
            pieces: Vec::new(),
            ending: Ending::Complete,
        }
    }

    /// Creates a JSON response.
    pub(crate) fn json(status: u16, body: impl Into<String>) -> Self {
        Self::status(status)
            .with_header("content-type", "application/json")
            .with(body.into())
    }

    /// Creates a complete event stream.
    pub(crate) fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200)
            .with_header("content-type", "text/event-stream")
            .with(body)
    }

    pub(crate) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Appends bytes to the body.
    pub(crate) fn with(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.pieces.push(Piece::Bytes(bytes));
        }
        self
    }

    /// Waits for the gate at this position of the body.
    pub(crate) fn wait(mut self, gate: &Arc<Notify>) -> Self {
        self.pieces.push(Piece::Wait(Arc::clone(gate)));
        self
    }

    /// Waits for the gate before the response starts.
    pub(crate) fn gated_by(mut self, gate: &Arc<Notify>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }

    /// Creates a response that is never sent.
    pub(crate) fn never() -> Self {
        Self::status(200).gated_by(&Arc::default())
    }

    /// Closes the connection without a response.
    pub(crate) fn closed() -> Self {
        let mut reply = Self::status(200);
        reply.ending = Ending::NoResponse;
        reply
    }

    /// Leaves the response incomplete and the connection open.
    pub(crate) fn left_open(mut self) -> Self {
        self.ending = Ending::Open;
        self
    }

    /// Closes the connection before the response is complete.
    pub(crate) fn cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    /// Resets the connection before the response is complete.
    pub(crate) fn reset(mut self) -> Self {
        self.ending = Ending::Reset;
        self
    }

    /// Sends each byte of the body separately.
    pub(crate) fn byte_by_byte(mut self) -> Self {
        let pieces = std::mem::take(&mut self.pieces).into_iter();
        self.pieces = pieces
            .flat_map(|piece| match piece {
                Piece::Bytes(bytes) => bytes.into_iter().map(|b| Piece::Bytes(vec![b])).collect(),
                wait @ Piece::Wait(_) => vec![wait],
            })
            .collect();
        self
    }
}

/// Returns one event of a stream.
pub(crate) fn event(data: impl AsRef<str>) -> String {
    format!("data: {}\n\n", data.as_ref())
}

/// Returns the result of `server/discover` of a modern server.
pub(crate) fn discovered() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// The script of a modern server whose tool calls succeed.
pub(crate) fn modern(request: &RecordedRequest) -> Reply {
    match (&*request.http_method, request.method()) {
        ("POST", "server/discover") => request.respond(discovered()),
        ("POST", "tools/list") => {
            request.respond(json!({"resultType": "complete", "tools": [], "ttlMs": 0}))
        }
        ("POST", "tools/call") => request.respond(request.done()),
        ("POST", "initialize") => {
            request.reject(404, json!({"code": -32601, "message": "method not found"}))
        }
        ("POST", _) => Reply::status(202),
        _ => Reply::status(405),
    }
}

/// The script of a legacy server with sessions whose tool calls succeed. The first session has number 1.
pub(crate) fn legacy(request: &RecordedRequest) -> Reply {
    match (&*request.http_method, request.method()) {
        ("POST", "server/discover") => Reply::status(400),
        ("POST", "initialize") => request
            .respond(initialized(request))
            .with_header("mcp-session-id", format!("session-{}", request.nth + 1)),
        ("POST", "tools/list") => request.respond(json!({"tools": []})),
        ("POST", "tools/call") => request.respond(request.done()),
        ("POST", _) => Reply::status(202),
        ("DELETE", _) => Reply::status(200),
        _ => Reply::status(405),
    }
}

/// Returns the result of `initialize` of a legacy server that accepts the requested version.
pub(crate) fn initialized(request: &RecordedRequest) -> Value {
    json!({
        "protocolVersion": request.body["params"]["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "made up", "version": "1"},
    })
}

/// All requests that a test server received.
#[derive(Debug, Clone)]
pub(crate) struct Record(watch::Sender<Vec<RecordedRequest>>);

impl Record {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }

    /// Records a request.
    pub(crate) fn note(
        &self,
        connection: usize,
        http_method: &str,
        target: &str,
        headers: HashMap<String, String>,
        body: &[u8],
    ) -> RecordedRequest {
        let mut request = RecordedRequest {
            at: Instant::now(),
            connection,
            nth: 0,
            http_method: http_method.to_owned(),
            target: target.to_owned(),
            headers,
            body: serde_json::from_slice(body).unwrap_or_default(),
        };
        self.0.send_modify(|all| {
            let earlier = all
                .iter()
                .filter(|other| other.is(http_method, request.method()));
            request.nth = earlier.count();
            all.push(request.clone());
        });
        request
    }

    /// Returns all requests.
    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        self.0.borrow().clone()
    }

    /// Returns the requests with this HTTP method and JSON-RPC method.
    pub(crate) fn of(&self, http_method: &str, method: &str) -> Vec<RecordedRequest> {
        let mut all = self.all();
        all.retain(|request| request.is(http_method, method));
        all
    }

    /// Waits for the n-th request with this HTTP method and JSON-RPC method. The first has number 0.
    pub(crate) async fn nth(&self, http_method: &str, method: &str, nth: usize) -> RecordedRequest {
        let mut receiver = self.0.subscribe();
        let received = within(receiver.wait_for(|all| {
            all.iter()
                .any(|request| request.is(http_method, method) && request.nth == nth)
        }));
        let all = received.await.expect("a record");
        let mut matching = all.iter().filter(|request| request.is(http_method, method));
        matching.nth(nth).expect("a received request").clone()
    }
}
