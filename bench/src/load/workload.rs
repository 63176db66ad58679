//! The repeated request, and the check of its response.

use std::io;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use memchr::memmem;
use serde_json::{Value, json};
use toolwire_proto::features::{self, VersionFeatures as _};
use toolwire_proto::sse::SseDecoder;
use toolwire_types::{ProtocolVersion, meta_key};

use super::connection::Response;
use crate::http1::{Target, modern_headers};

/// The id of every request, because real clients repeat ids across connections.
pub(super) const REQUEST_ID: i64 = 1;

/// The longest event that is accepted.
const LONGEST_EVENT: usize = 16 * 1024 * 1024;

/// The era of the protocol: with or without sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[expect(clippy::exhaustive_enums, reason = "the protocol has two eras")]
pub enum Era {
    /// Every request is independent.
    Modern,
    /// A handshake opens a session.
    Legacy,
}

impl Era {
    /// Returns the newest revision of the era.
    #[must_use]
    pub fn version(self) -> &'static str {
        let era = match self {
            Self::Modern => features::Era::Modern,
            Self::Legacy => features::Era::Legacy,
        };
        let mut newest_first = ProtocolVersion::ALL.into_iter().rev();
        newest_first
            .find(|version| version.era() == era)
            .expect("every era has a revision")
            .as_str()
    }
}

/// The kind of a request. [`Workload::amount`] is its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum Kind {
    /// A call of `echo` with this many bytes.
    Echo,
    /// A call of `big`, whose result has this many bytes.
    Big,
    /// `tools/list` of a server with this many tools.
    List,
    /// A call of `progress`, which sends this many notifications.
    Progress,
}

/// A repeated request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workload {
    /// The era: with or without sessions.
    pub era: Era,
    /// The kind of request.
    pub kind: Kind,
    /// The size of the request, in the unit of its kind.
    pub amount: usize,
}

impl Workload {
    /// Creates a workload.
    #[must_use]
    pub const fn new(era: Era, kind: Kind, amount: usize) -> Self {
        Self { era, kind, amount }
    }

    /// Returns the JSON-RPC message.
    #[must_use]
    pub fn message(&self, id: i64) -> String {
        let mut params = match self.kind {
            Kind::Echo => json!({ "name": "echo", "arguments": { "text": self.text() } }),
            Kind::Big => json!({ "name": "big", "arguments": { "n": self.amount } }),
            Kind::List => json!({}),
            Kind::Progress => json!({
                "name": "progress",
                "arguments": { "n": self.amount },
                "_meta": { "progressToken": 1 },
            }),
        };
        if self.era == Era::Modern {
            params["_meta"][meta_key::PROTOCOL_VERSION] = self.era.version().into();
            params["_meta"][meta_key::CLIENT_CAPABILITIES] = json!({});
            params["_meta"][meta_key::CLIENT_INFO] =
                json!({ "name": "load-generator", "version": "1.0.0" });
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": self.method(), "params": params }).to_string()
    }

    fn method(&self) -> &'static str {
        match self.kind {
            Kind::List => "tools/list",
            Kind::Echo | Kind::Big | Kind::Progress => "tools/call",
        }
    }

    fn tool(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Echo => Some("echo"),
            Kind::Big => Some("big"),
            Kind::Progress => Some("progress"),
            Kind::List => None,
        }
    }

    fn text(&self) -> String {
        "x".repeat(self.amount)
    }

    /// Returns the request of HTTP/1.1.
    pub(crate) fn request(&self, target: &Target, session: Option<&str>, id: i64) -> Vec<u8> {
        let body = self.message(id);
        match self.era {
            Era::Modern => target.post(self.method(), self.tool(), &body),
            Era::Legacy => target.post_in_session(self.era.version(), session, &body),
        }
    }

    /// Returns the request of HTTP/2, without a session.
    pub(crate) fn http2_request(&self, target: &Target) -> io::Result<Request<Full<Bytes>>> {
        let body = self.message(REQUEST_ID);
        let mut request = Request::post(target.http_url());
        for (name, value) in modern_headers(self.method(), self.tool()) {
            request = request.header(name, value);
        }
        request.body(Full::from(body)).map_err(io::Error::other)
    }

    /// Returns the JSON-RPC message that opens a session.
    #[must_use]
    pub fn initialize_message() -> String {
        json!({
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": Era::Legacy.version(),
                "capabilities": {},
                "clientInfo": { "name": "load-generator", "version": "1.0.0" },
            },
        })
        .to_string()
    }

    /// Returns the JSON-RPC message that ends the handshake.
    #[must_use]
    pub fn initialized_message() -> String {
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()
    }

    pub(crate) fn initialize(target: &Target) -> Vec<u8> {
        let body = Self::initialize_message();
        target.post_in_session(Era::Legacy.version(), None, &body)
    }

    pub(crate) fn initialized(target: &Target, session: Option<&str>) -> Vec<u8> {
        let body = Self::initialized_message();
        target.post_in_session(Era::Legacy.version(), session, &body)
    }

    /// Checks a response completely.
    pub(crate) fn verify(&self, response: Response<'_>) -> Result<(), String> {
        if response.status != 200 {
            return Err(rejected(&response));
        }
        let mut messages = if response.is_event_stream {
            events(response.body)?
        } else {
            vec![response.body.to_vec()]
        };
        let last = messages.pop().ok_or("a response without a message")?;
        self.verify_result(&last)?;
        let expected = if self.kind == Kind::Progress {
            self.amount
        } else {
            0
        };
        if messages.len() != expected {
            return Err(format!(
                "{} notifications instead of {expected} before the result",
                messages.len()
            ));
        }
        Ok(())
    }

    /// Checks that this message is the expected result.
    ///
    /// # Errors
    /// Returns an error with a description if it is not.
    pub fn verify_result(&self, message: &[u8]) -> Result<(), String> {
        let message: Value =
            serde_json::from_slice(message).map_err(|error| format!("not JSON: {error}"))?;
        let is_expected = match self.kind {
            Kind::List => message
                .pointer("/result/tools")
                .and_then(Value::as_array)
                .is_some_and(|tools| tools.len() == self.amount),
            Kind::Echo | Kind::Big => text_of(&message).is_some_and(|text| text == self.text()),
            Kind::Progress => text_of(&message) == Some("done"),
        };
        if is_expected {
            return Ok(());
        }
        Err(format!("not the expected result: {message:.300}"))
    }

    /// Checks only the status and required parts of a response, because the check must not limit the load.
    pub(crate) fn quick_check(&self, response: Response<'_>) -> Result<(), String> {
        if response.status != 200 || memmem::find(response.body, b"\"result\"").is_none() {
            return Err(rejected(&response));
        }
        if self.kind == Kind::Progress {
            let notifications =
                memmem::find_iter(response.body, b"\"notifications/progress\"").count();
            if notifications != self.amount {
                return Err(format!(
                    "{notifications} notifications instead of {}",
                    self.amount
                ));
            }
        }
        if self.kind == Kind::Big && response.body.len() < self.amount {
            return Err(format!("a body of only {} bytes", response.body.len()));
        }
        Ok(())
    }
}

fn rejected(response: &Response<'_>) -> String {
    let body = String::from_utf8_lossy(response.body);
    format!(
        "the server responded with status {}: {body:.300}",
        response.status
    )
}

fn text_of(message: &Value) -> Option<&str> {
    message.pointer("/result/content/0/text")?.as_str()
}

/// Returns the messages of a stream. Events without data only have an event id.
fn events(mut body: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut decoder = SseDecoder::new(LONGEST_EVENT);
    std::iter::from_fn(|| decoder.next_event(&mut body))
        .map(|event| event.map(|event| event.data.into_bytes()))
        .filter(|data| !matches!(data, Ok(data) if data.is_empty()))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(notifications: usize, result: &str) -> String {
        let notification = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n";
        // Some servers start with an event that only has an event id.
        format!(
            "id: 0\ndata:\n\n{}data: {result}\n\n",
            notification.repeat(notifications)
        )
    }

    /// Checks whether this response passes the complete and the quick check.
    fn check(kind: Kind, status: u16, body: &str, expected: [bool; 2]) {
        let workload = Workload::new(Era::Modern, kind, 2);
        let response = || Response {
            status,
            is_event_stream: kind == Kind::Progress,
            body: body.as_bytes(),
        };
        let passed = [
            workload.verify(response()),
            workload.quick_check(response()),
        ];
        assert_eq!(passed.map(|outcome| outcome.is_ok()), expected, "{body}");
    }

    #[test]
    fn wrong_number_of_notifications_is_an_error() {
        let done = r#"{"id":1,"result":{"content":[{"type":"text","text":"done"}]}}"#;
        check(Kind::Progress, 200, &stream(2, done), [true, true]);
        check(Kind::Progress, 200, &stream(1, done), [false, false]);
        check(Kind::Progress, 200, &stream(3, done), [false, false]);
        check(Kind::Progress, 200, &stream(2, "{}"), [false, false]);
    }

    #[test]
    fn wrong_results_are_errors() {
        let result = |text| format!(r#"{{"id":1,"result":{{"content":[{{"text":"{text}"}}]}}}}"#);
        check(Kind::Echo, 200, &result("xx"), [true, true]);
        check(Kind::Echo, 500, &result("xx"), [false, false]);
        check(Kind::Echo, 200, r#"{"id":1,"error":{}}"#, [false, false]);
        // The quick check only searches for a result.
        check(Kind::Echo, 200, &result("xy"), [false, true]);
        check(
            Kind::List,
            200,
            r#"{"result":{"tools":[{},{}]}}"#,
            [true, true],
        );
        check(
            Kind::List,
            200,
            r#"{"result":{"tools":[{}]}}"#,
            [false, true],
        );
    }
}
