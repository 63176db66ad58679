//! Records the headers of HTTP requests and responses. Their bodies are recorded as messages.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{HeaderMap, Request, Response, Uri};
use serde::Deserialize;
use serde_json::{Map, Value};
use toolwire::BoxFuture;
use toolwire::transport::http_client::{
    ClientBody, HttpClient, HttpError, HttpLayer, UserInteraction,
};
use toolwire_proto::secret_names::is_secret_header;

use crate::record::event::Line;
use crate::record::recorder::Recorder;
use crate::record::redaction::{redact_text, replacement};

/// Records what passes the HTTP client of a connection.
#[derive(Debug, Clone)]
pub(super) struct HttpRecorder {
    recorder: Arc<Recorder>,
    /// The number of the connection.
    connection: u64,
}

impl HttpRecorder {
    pub(super) fn new(recorder: &Arc<Recorder>, connection: u64) -> Self {
        Self {
            recorder: Arc::clone(recorder),
            connection,
        }
    }

    /// Returns a client that records what passes it.
    pub(super) fn client(&self, inner: Arc<dyn HttpClient>) -> Arc<dyn HttpClient> {
        Arc::new(RecordingClient {
            inner,
            http: self.clone(),
        })
    }

    fn line(&self, is_sent: bool, headers: &HeaderMap, exchange: Option<Value>) -> Line<'static> {
        let mut line = Line::new(self.connection, "http").with_direction(is_sent);
        line.exchange = exchange;
        line.headers = Some(recorded_headers(headers, self.recorder.redacts()));
        line
    }
}

impl HttpLayer for HttpRecorder {
    fn layer(
        &self,
        inner: Arc<dyn HttpClient>,
        _endpoint: &Uri,
        _user: &UserInteraction,
    ) -> Arc<dyn HttpClient> {
        self.client(inner)
    }
}

#[derive(Debug)]
struct RecordingClient {
    inner: Arc<dyn HttpClient>,
    http: HttpRecorder,
}

impl HttpClient for RecordingClient {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        let exchange = id_of(request.body());
        let mut line = self.http.line(true, request.headers(), exchange.clone());
        line.method = Some(request.method().to_string());
        line.path = Some(recorded_path(request.uri(), self.http.recorder.redacts()));
        self.http.recorder.write(line);
        Box::pin(async move {
            let response = self.inner.send(request).await?;
            let mut line = self.http.line(false, response.headers(), exchange);
            line.status = Some(response.status().as_u16());
            self.http.recorder.write(line);
            Ok(response)
        })
    }
}

/// Returns the id of the message in a request.
fn id_of(body: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct MessageId {
        id: Value,
        #[serde(rename = "method")]
        _method: String,
    }
    let message = serde_json::from_slice::<MessageId>(body).ok()?;
    Some(message.id)
}

/// Returns the path of an address. The query is never recorded, because it may contain secrets.
fn recorded_path(address: &Uri, redacts: bool) -> String {
    if redacts {
        redact_text(address.path()).into_owned()
    } else {
        address.path().to_owned()
    }
}

fn recorded_headers(headers: &HeaderMap, redacts: bool) -> Map<String, Value> {
    let mut recorded = Map::new();
    for (name, value) in headers {
        let text = String::from_utf8_lossy(value.as_bytes());
        // Headers that the user gave are marked as sensitive.
        let text = if redacts && (value.is_sensitive() || is_secret_header(name.as_str())) {
            replacement(&text)
        } else if redacts {
            redact_text(&text).into_owned()
        } else {
            text.into_owned()
        };
        match recorded.get_mut(name.as_str()) {
            Some(Value::String(earlier)) => *earlier = format!("{earlier}, {text}"),
            _ => {
                recorded.insert(name.to_string(), text.into());
            }
        }
    }
    recorded
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn secret_and_sensitive_headers_are_replaced() {
        let mut headers = HeaderMap::new();
        let mut own = HeaderValue::from_static("hunter2");
        own.set_sensitive(true);
        headers.insert("x-tenant", own);
        for name in [
            "authorization",
            "cookie",
            "dpop",
            "mcp-session-id",
            "mcp-param-password",
            "mcp-param-city",
        ] {
            headers.insert(name, HeaderValue::from_static("hunter2"));
        }
        headers.append("set-cookie", HeaderValue::from_static("a=hunter2"));
        headers.append("set-cookie", HeaderValue::from_static("b=hunter2"));
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let recorded = Value::Object(recorded_headers(&headers, true)).to_string();
        assert!(!recorded.contains("hunter2"), "{recorded}");
        assert!(recorded.contains("application/json"), "{recorded}");
        let unredacted = Value::Object(recorded_headers(&headers, false)).to_string();
        assert_eq!(unredacted.matches("hunter2").count(), 9, "{unredacted}");
    }

    #[test]
    fn keys_in_a_path_are_replaced() {
        let key = format!("ghp_{}", "a".repeat(36));
        let address: Uri = format!("http://example.com/mcp/{key}?a=b").parse().unwrap();
        let recorded = recorded_path(&address, true);
        assert!(!recorded.contains(&key), "{recorded}");
        assert_eq!(recorded_path(&address, false), format!("/mcp/{key}"));
        assert_eq!(recorded_path(&Uri::from_static("/mcp"), true), "/mcp");
    }
}
