//! One server, and what it has to say to bad requests.
//!
//! After each of them the server is as before: the handler ran only if it had to, and a good request is answered, on the
//! same connection unless that had to be closed.

use serde_json::{Value, json};
use toolwire::transport::http::HttpOptions;

use crate::http::endpoint::Endpoint;
use crate::http::request::Request;
use crate::http::socket::{Answer, Wire};
use crate::http::stage::{Stage, count_call};
use crate::peer::{complete, text};

/// A server under test and a connection to it.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) stage: Stage,
    pub(crate) endpoint: Endpoint,
    wire: Wire,
}

impl Table {
    pub(crate) async fn new() -> Self {
        Self::with(HttpOptions::new()).await
    }

    pub(crate) async fn with(options: HttpOptions) -> Self {
        let stage = Stage::new();
        let endpoint = Endpoint::serve_with(&stage.server, options).await;
        let wire = endpoint.connect().await;
        Self {
            stage,
            endpoint,
            wire,
        }
    }

    /// Sends a request and looks at the answer, and at what became of the server.
    pub(crate) async fn check(&mut self, row: &str, request: Request, expected: Expected) {
        self.check_bytes(row, request.bytes(), expected).await;
    }

    pub(crate) async fn check_bytes(
        &mut self,
        row: &str,
        request: impl AsRef<[u8]>,
        expected: Expected,
    ) {
        let runs = self.stage.runs();
        self.wire.send_if_possible(request).await;
        let answer = self.wire.answer().await;
        expected.compare(row, &answer);
        let ran = self.stage.runs() - runs;
        assert_eq!(ran, usize::from(expected.runs), "{row}: the handler");
        if expected.closes {
            let fresh = self.endpoint.connect().await;
            std::mem::replace(&mut self.wire, fresh)
                .expect_close()
                .await;
        }
        self.expect_alive(row).await;
    }

    /// A good request is answered.
    pub(crate) async fn expect_alive(&mut self, row: &str) {
        let request = Request::modern(&count_call("up"));
        self.wire.send(request.bytes()).await;
        let answer = self.wire.answer().await;
        assert_eq!(answer.status(), 200, "after {row}: {}", answer.text());
        assert_eq!(
            answer.message(),
            complete("up", text("counted")),
            "after {row}"
        );
    }
}

/// What a request must be answered with.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    status: u16,
    reply: Reply,
    headers: Vec<(&'static str, &'static str)>,
    runs: bool,
    closes: bool,
}

#[derive(Debug, Clone)]
enum Reply {
    Empty,
    /// Whatever a layer below has to say.
    Anything,
    Message(Value),
    Error {
        code: i64,
        id: Option<Value>,
        data: Option<Value>,
    },
}

impl Expected {
    fn new(status: u16, reply: Reply) -> Self {
        Self {
            status,
            reply,
            headers: Vec::new(),
            runs: false,
            closes: false,
        }
    }

    /// The good answer of a tool that counts its runs.
    pub(crate) fn counted(id: impl Into<Value>) -> Self {
        let message = complete(id, text("counted"));
        Self {
            runs: true,
            ..Self::new(200, Reply::Message(message))
        }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self::new(status, Reply::Empty)
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::new(status, Reply::Anything)
    }

    /// An error without an id.
    pub(crate) fn error(status: u16, code: i64) -> Self {
        let (id, data) = (None, None);
        Self::new(status, Reply::Error { code, id, data })
    }

    pub(crate) fn with_id(mut self, echoed: impl Into<Value>) -> Self {
        if let Reply::Error { id, .. } = &mut self.reply {
            *id = Some(echoed.into());
        }
        self
    }

    pub(crate) fn with_data(mut self, expected: Value) -> Self {
        if let Reply::Error { data, .. } = &mut self.reply {
            *data = Some(expected);
        }
        self
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The connection is of no use afterwards.
    pub(crate) fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    pub(crate) fn compare(&self, row: &str, answer: &Answer) {
        let body = answer.text();
        assert_eq!(answer.status(), self.status, "{row}: {body}");
        for (name, value) in &self.headers {
            assert_eq!(answer.header(name), Some(*value), "{row}: {name}");
        }
        assert_eq!(answer.header("mcp-session-id"), None, "{row}");
        match &self.reply {
            Reply::Anything => {}
            Reply::Empty => assert_eq!(body, "", "{row}"),
            Reply::Message(message) => assert_eq!(answer.message(), *message, "{row}"),
            Reply::Error { code, id, data } => {
                let message = answer.message();
                assert_eq!(message["jsonrpc"], "2.0", "{row}: {body}");
                assert_eq!(message.get("id"), id.as_ref(), "{row}: {body}");
                let error = &message["error"];
                assert_eq!(error["code"], *code, "{row}: {body}");
                assert_ne!(error["message"], json!(""), "{row}: {body}");
                if let Some(data) = data {
                    assert_eq!(error["data"], *data, "{row}: {body}");
                }
                assert_eq!(message.get("result"), None, "{row}: {body}");
            }
        }
    }
}
