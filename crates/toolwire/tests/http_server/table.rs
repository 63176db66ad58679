//! Sends invalid requests to one server and compares the responses.
//!
//! After each request the server must work as before: the handler ran only if expected, and a valid request is served.
//! The same connection is used, unless the server had to close it.

use serde_json::{Value, json};
use toolwire::transport::http::HttpOptions;
use toolwire_test_support::http::endpoint::Endpoint;
use toolwire_test_support::http::fixture::{Fixture, count_call};
use toolwire_test_support::http::request::Request;
use toolwire_test_support::http::socket::{Connection, Response};
use toolwire_test_support::peer::{complete, text};

/// A server under test and a connection to it.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) fixture: Fixture,
    pub(crate) endpoint: Endpoint,
    connection: Connection,
}

impl Table {
    pub(crate) async fn new() -> Self {
        Self::with(HttpOptions::new()).await
    }

    pub(crate) async fn with(options: HttpOptions) -> Self {
        let fixture = Fixture::new();
        let endpoint = Endpoint::serve_with(&fixture.server, options).await;
        let connection = endpoint.connect().await;
        Self {
            fixture,
            endpoint,
            connection,
        }
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
        let runs = self.fixture.runs();
        self.connection.send_if_possible(request).await;
        let response = self.connection.response().await;
        expected.compare(row, &response);
        let ran = self.fixture.runs() - runs;
        assert_eq!(ran, usize::from(expected.runs), "{row}: the handler");
        if expected.closes {
            let fresh = self.endpoint.connect().await;
            std::mem::replace(&mut self.connection, fresh)
                .expect_close()
                .await;
        }
        self.expect_alive(row).await;
    }

    /// Expects that a valid request is served.
    pub(crate) async fn expect_alive(&mut self, row: &str) {
        let request = Request::modern(&count_call("up"));
        self.connection.send(request.bytes()).await;
        let response = self.connection.response().await;
        assert_eq!(response.status(), 200, "after {row}: {}", response.text());
        assert_eq!(
            response.message(),
            complete("up", text("counted")),
            "after {row}"
        );
    }
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
