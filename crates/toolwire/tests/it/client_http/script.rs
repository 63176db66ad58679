//! What a made-up server sees, and what it answers: the words that scripts of both kinds of servers are written in.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::peer::within;

/// Decides what to answer.
pub(crate) type Script = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    /// Which connection it came on, from 1 on.
    pub(crate) connection: usize,
    /// How many requests of the same verb and method came before.
    pub(crate) nth: usize,
    pub(crate) verb: String,
    pub(crate) target: String,
    pub(crate) headers: HashMap<String, String>,
    /// The message; null when there was no body.
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The method of the message: empty for answers, and without a body.
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// True when it has this verb and this method.
    pub(crate) fn is(&self, verb: &str, method: &str) -> bool {
        self.verb == verb && self.method() == method
    }

    /// The answer to this message, as text.
    pub(crate) fn result(&self, result: Value) -> String {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result}).to_string()
    }

    /// Answers with a result, as JSON.
    pub(crate) fn answer(&self, result: Value) -> Reply {
        Reply::json(200, self.result(result))
    }

    /// Answers with an error, as JSON under this status.
    pub(crate) fn refuse(&self, status: u16, error: Value) -> Reply {
        let answer = json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error});
        Reply::json(status, answer.to_string())
    }

    /// What a tool answers that did something.
    pub(crate) fn done(&self) -> Value {
        json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]})
    }
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// What the head waits for.
    pub(crate) held: Option<Arc<Notify>>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) ending: Ending,
}

#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    Wait(Arc<Notify>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As the length or the last chunk says.
    Complete,
    /// Nothing more comes, and the connection stays.
    Open,
    /// The connection goes before the body is complete.
    Cut,
    /// As when the process is killed: the connection is reset before the body is complete.
    Reset,
}

impl Reply {
    /// A status and nothing else.
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            held: None,
            pieces: Vec::new(),
            ending: Ending::Complete,
        }
    }

    pub(crate) fn json(status: u16, body: impl Into<String>) -> Self {
        Self::status(status)
            .with_header("content-type", "application/json")
            .with(body.into())
    }

    /// A stream that consists of this and ends.
    pub(crate) fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200)
            .with_header("content-type", "text/event-stream")
            .with(body)
    }

    pub(crate) fn with_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Adds to the body.
    pub(crate) fn with(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.pieces.push(Piece::Bytes(bytes));
        }
        self
    }

    /// Waits within the body.
    pub(crate) fn wait(mut self, gate: &Arc<Notify>) -> Self {
        self.pieces.push(Piece::Wait(Arc::clone(gate)));
        self
    }

    /// Waits before anything is said.
    pub(crate) fn held(mut self, gate: &Arc<Notify>) -> Self {
        self.held = Some(Arc::clone(gate));
        self
    }

    /// Never says anything.
    pub(crate) fn never() -> Self {
        Self::status(200).held(&Arc::default())
    }

    /// Never ends.
    pub(crate) fn left_open(mut self) -> Self {
        self.ending = Ending::Open;
        self
    }

    /// Breaks off.
    pub(crate) fn cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    /// Breaks off hard.
    pub(crate) fn reset(mut self) -> Self {
        self.ending = Ending::Reset;
        self
    }

    /// Sends each byte of the body by itself.
    pub(crate) fn trickled(mut self) -> Self {
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

/// One event of a stream.
pub(crate) fn event(data: impl AsRef<str>) -> String {
    format!("data: {}\n\n", data.as_ref())
}

/// What a modern server answers to `server/discover`.
pub(crate) fn discovered() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "private",
    })
}

/// A modern server whose tools do what they should.
pub(crate) fn modern(seen: &Seen) -> Reply {
    match (&*seen.verb, seen.method()) {
        ("POST", "server/discover") => seen.answer(discovered()),
        ("POST", "tools/list") => {
            seen.answer(json!({"resultType": "complete", "tools": [], "ttlMs": 0}))
        }
        ("POST", "tools/call") => seen.answer(seen.done()),
        ("POST", "initialize") => {
            seen.refuse(404, json!({"code": -32601, "message": "method not found"}))
        }
        ("POST", _) => Reply::status(202),
        _ => Reply::status(405),
    }
}

/// A legacy server with sessions, numbered from 1 on, whose tools do what they should.
pub(crate) fn legacy(seen: &Seen) -> Reply {
    match (&*seen.verb, seen.method()) {
        ("POST", "server/discover") => Reply::status(400),
        ("POST", "initialize") => seen
            .answer(initialized(seen))
            .with_header("mcp-session-id", format!("session-{}", seen.nth + 1)),
        ("POST", "tools/list") => seen.answer(json!({"tools": []})),
        ("POST", "tools/call") => seen.answer(seen.done()),
        ("POST", _) => Reply::status(202),
        ("DELETE", _) => Reply::status(200),
        _ => Reply::status(405),
    }
}

/// What a legacy server answers to `initialize`: whatever was asked for.
pub(crate) fn initialized(seen: &Seen) -> Value {
    json!({
        "protocolVersion": seen.body["params"]["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "made up", "version": "1"},
    })
}

/// Everything a made-up server has seen so far.
#[derive(Debug, Clone)]
pub(crate) struct Record(watch::Sender<Vec<Seen>>);

impl Record {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Vec::new()))
    }

    /// Notes a request.
    pub(crate) fn note(
        &self,
        connection: usize,
        verb: &str,
        target: &str,
        headers: HashMap<String, String>,
        body: &[u8],
    ) -> Seen {
        let mut seen = Seen {
            at: Instant::now(),
            connection,
            nth: 0,
            verb: verb.to_owned(),
            target: target.to_owned(),
            headers,
            body: serde_json::from_slice(body).unwrap_or_default(),
        };
        self.0.send_modify(|all| {
            let alike = all.iter().filter(|other| other.is(verb, seen.method()));
            seen.nth = alike.count();
            all.push(seen.clone());
        });
        seen
    }

    /// All requests so far.
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.borrow().clone()
    }

    /// The requests of one kind so far.
    pub(crate) fn of(&self, verb: &str, method: &str) -> Vec<Seen> {
        let mut all = self.all();
        all.retain(|seen| seen.is(verb, method));
        all
    }

    /// The n-th request of one kind, from 0 on, once it is there.
    pub(crate) async fn nth(&self, verb: &str, method: &str, nth: usize) -> Seen {
        let mut watching = self.0.subscribe();
        let found = within(watching.wait_for(|all| {
            all.iter()
                .any(|seen| seen.is(verb, method) && seen.nth == nth)
        }));
        let all = found.await.expect("the record is still kept");
        let mut alike = all.iter().filter(|seen| seen.is(verb, method));
        alike.nth(nth).expect("it was just there").clone()
    }
}
