//! Sends invalid requests to one server and compares the responses.
//!
//! Each request is sent to a listener with the fast path and to one without it. After each request the server must work as before: the handler ran only if expected, and a valid request is served.
//! The same connection is used, unless the server had to close it.

use serde_json::{Value, json};
use toolwire::transport::http::HttpOptions;
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, count_call};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::{Connection, Response};
use toolwire_tests::peer::{complete, text};

/// A server under test, with and without the fast path.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) fixture: Fixture,
    /// The listener with the fast path.
    pub(crate) endpoint: Endpoint,
    /// The listener on which hyper serves every connection.
    pub(crate) without_fast_path: Endpoint,
    /// A connection to each listener.
    connections: [Connection; 2],
}

impl Table {
    pub(crate) async fn new() -> Self {
        Self::with(HttpOptions::new()).await
    }

    pub(crate) async fn with(options: HttpOptions) -> Self {
        let fixture = Fixture::new();
        let endpoint = Endpoint::serve_with(&fixture.server, options.clone()).await;
        let options = options.without_fast_path();
        let without_fast_path = Endpoint::serve_with(&fixture.server, options).await;
        let connections = [endpoint.connect().await, without_fast_path.connect().await];
        Self {
            fixture,
            endpoint,
            without_fast_path,
            connections,
        }
    }

    /// Returns both listeners.
    pub(crate) fn endpoints(&self) -> [&Endpoint; 2] {
        [&self.endpoint, &self.without_fast_path]
    }

    /// Sends a request, compares the response, and checks that the server still works.
    pub(crate) async fn check(&mut self, row: &str, request: Request, expected: Expected) {
        self.check_bytes(row, request.bytes(), expected).await;
    }

    pub(crate) async fn check_bytes(
        &mut self,
        row: &str,
        request: impl AsRef<[u8]>,
        expected: Expected,
    ) {
        let endpoints = [&self.endpoint, &self.without_fast_path];
        for ((path, endpoint), connection) in PATHS.iter().zip(endpoints).zip(&mut self.connections)
        {
            let row = format!("{row} {path}");
            let runs = self.fixture.runs();
            connection.send_if_possible(&request).await;
            let response = connection.response().await;
            expected.compare(&row, &response);
            let ran = self.fixture.runs() - runs;
            assert_eq!(ran, usize::from(expected.runs), "{row}: the handler");
            if expected.closes {
                let fresh = endpoint.connect().await;
                std::mem::replace(connection, fresh).expect_close().await;
            }
            expect_served(&row, connection).await;
        }
    }

    /// Expects that both listeners serve a valid request.
    pub(crate) async fn expect_alive(&mut self, row: &str) {
        for (path, connection) in PATHS.iter().zip(&mut self.connections) {
            expect_served(&format!("{row} {path}"), connection).await;
        }
    }
}

/// The names of both listeners, for failed assertions.
const PATHS: [&str; 2] = ["with the fast path", "without the fast path"];

/// Expects that a valid request is served.
async fn expect_served(row: &str, connection: &mut Connection) {
    let request = Request::modern(&count_call("up"));
    connection.send(request.bytes()).await;
    let response = connection.response().await;
    assert_eq!(response.status(), 200, "after {row}: {}", response.text());
    assert_eq!(
        response.message(),
        complete("up", text("counted")),
        "after {row}"
    );
}

/// The expected response to a request.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    status: u16,
    body: ExpectedBody,
    headers: Vec<(&'static str, &'static str)>,
    runs: bool,
    closes: bool,
}

#[derive(Debug, Clone)]
enum ExpectedBody {
    Empty,
    /// Any body, for responses that the service does not create.
    Anything,
    Message(Value),
    Error {
        code: i64,
        id: Option<Value>,
        data: Option<Value>,
    },
}

impl Expected {
    fn new(status: u16, body: ExpectedBody) -> Self {
        Self {
            status,
            body,
            headers: Vec::new(),
            runs: false,
            closes: false,
        }
    }

    /// Returns the expected response of a counting tool.
    pub(crate) fn counted(id: impl Into<Value>) -> Self {
        let message = complete(id, text("counted"));
        Self {
            runs: true,
            ..Self::new(200, ExpectedBody::Message(message))
        }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self::new(status, ExpectedBody::Empty)
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::new(status, ExpectedBody::Anything)
    }

    /// Returns an expected error without an id.
    pub(crate) fn error(status: u16, code: i64) -> Self {
        let (id, data) = (None, None);
        Self::new(status, ExpectedBody::Error { code, id, data })
    }

    pub(crate) fn with_id(mut self, echoed: impl Into<Value>) -> Self {
        if let ExpectedBody::Error { id, .. } = &mut self.body {
            *id = Some(echoed.into());
        }
        self
    }

    pub(crate) fn with_data(mut self, expected: Value) -> Self {
        if let ExpectedBody::Error { data, .. } = &mut self.body {
            *data = Some(expected);
        }
        self
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Expects that the server closes the connection after the response.
    pub(crate) fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    pub(crate) fn compare(&self, row: &str, response: &Response) {
        let body = response.text();
        assert_eq!(response.status(), self.status, "{row}: {body}");
        for (name, value) in &self.headers {
            assert_eq!(response.header(name), Some(*value), "{row}: {name}");
        }
        assert_eq!(response.header("mcp-session-id"), None, "{row}");
        match &self.body {
            ExpectedBody::Anything => {}
            ExpectedBody::Empty => assert_eq!(body, "", "{row}"),
            ExpectedBody::Message(message) => assert_eq!(response.message(), *message, "{row}"),
            ExpectedBody::Error { code, id, data } => {
                let message = response.message();
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
