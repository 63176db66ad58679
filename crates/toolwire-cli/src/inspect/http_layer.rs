//! Logs the headers of HTTP requests and responses to the server, and adds faults on demand.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response, Uri};
use toolwire::BoxFuture;
use toolwire::transport::http_client::{
    ClientBody, HttpClient, HttpError, HttpLayer, UserInteraction,
};
use toolwire_proto::secret_names::is_secret_header;

use crate::inspect::faults::SharedFaults;
use crate::inspect::faulty_body::FaultyBody;
use crate::inspect::log::{ConnectionLog, Direction};
use crate::inspect::log_head::request_id;
use crate::inspect::recordings::Recordings;

/// The layer around the HTTP client. It is the innermost, so that it sees what is sent.
#[derive(Debug, Clone)]
pub(super) struct InspectLayer {
    log: ConnectionLog,
    faults: SharedFaults,
    recordings: Recordings,
    /// The names of headers from the command line, whose values may be secrets too.
    hidden: Arc<[String]>,
}

impl InspectLayer {
    pub(super) fn new(
        log: &ConnectionLog,
        faults: &SharedFaults,
        recordings: &Recordings,
        hidden: Vec<String>,
    ) -> Self {
        Self {
            log: log.clone(),
            faults: faults.clone(),
            recordings: recordings.clone(),
            hidden: hidden.into(),
        }
    }

    fn text(&self, start: &str, headers: &HeaderMap) -> String {
        let mut text = start.to_owned();
        for (name, value) in headers {
            let name = name.as_str();
            let mut hidden = self.hidden.iter();
            let is_secret =
                is_secret_header(name) || hidden.any(|hidden| hidden.eq_ignore_ascii_case(name));
            let value = if is_secret {
                "(hidden)".into()
            } else {
                String::from_utf8_lossy(value.as_bytes())
            };
            text.push_str(&format!("\n{name}: {value}"));
        }
        text
    }
}

impl HttpLayer for InspectLayer {
    fn layer(
        &self,
        inner: Arc<dyn HttpClient>,
        _: &Uri,
        _: &UserInteraction,
    ) -> Arc<dyn HttpClient> {
        Arc::new(InspectedClient {
            inner,
            layer: self.clone(),
        })
    }
}

#[derive(Debug)]
struct InspectedClient {
    inner: Arc<dyn HttpClient>,
    layer: InspectLayer,
}

impl HttpClient for InspectedClient {
    fn send(
        &self,
        mut request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async move {
            let faults = self.layer.faults.get();
            if faults.expired_token && request.headers().contains_key(AUTHORIZATION) {
                let expired = HeaderValue::from_static("Bearer expired");
                request.headers_mut().insert(AUTHORIZATION, expired);
            }
            // The query may contain a secret.
            let path = request.uri().path();
            let start = format!("{} {path}", request.method());
            let text = self.layer.text(&start, request.headers());
            let id = request_id(request.body());
            let log = &self.layer.log;
            log.http(Direction::Out, &text, id.as_deref());
            // A record may have started since the last request.
            let inner = self.layer.recordings.http_client(Arc::clone(&self.inner));
            let response = inner.send(request).await;
            match &response {
                Ok(response) => {
                    let start = response.status().to_string();
                    let text = self.layer.text(&start, response.headers());
                    log.http(Direction::In, &text, id.as_deref());
                }
                Err(error) => log.http_failed(&format!("HTTP failed: {error}"), id),
            }
            let response = response?;
            let is_stream = is_event_stream(response.headers());
            Ok(response.map(|body| {
                let dropped = self.layer.faults.dropped();
                let mut body = FaultyBody::new(body, dropped).with_end(faults.cut_after_bytes);
                if is_stream && faults.repeat_notifications {
                    body = body.with_repeated_notifications();
                }
                ClientBody::new(body)
            }))
        })
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;
    use toolwire::transport::http_client::HttpPhase;

    use super::*;
    use crate::inspect::log::{Log, LogLimits};

    #[test]
    fn values_of_secret_headers_are_hidden() {
        let log = Arc::new(Log::new(LogLimits::default()));
        let hidden = vec!["X-Key".to_owned()];
        let recordings = Recordings::new("http", &log);
        let connection = log.begin_connection();
        let layer = InspectLayer::new(&connection, &SharedFaults::default(), &recordings, hidden);
        let mut headers = HeaderMap::new();
        for name in ["authorization", "last-event-id", "x-key", "accept"] {
            headers.insert(name, HeaderValue::from_static("canary"));
        }
        let text = layer.text("POST /mcp", &headers);
        let expected = "POST /mcp\nauthorization: (hidden)\nlast-event-id: (hidden)\n\
             x-key: (hidden)\naccept: canary";
        assert_eq!(text, expected);
    }

    /// An HTTP client that gets a response with this status, or none.
    #[derive(Debug)]
    struct Canned(Option<u16>);

    impl HttpClient for Canned {
        fn send(
            &self,
            _: Request<Bytes>,
        ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
            let response = match self.0 {
                Some(status) => {
                    let mut response = Response::new(ClientBody::full("{}"));
                    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
                    Ok(response)
                }
                None => Err(HttpError::new(HttpPhase::Send, "closed")),
            };
            Box::pin(std::future::ready(response))
        }
    }

    #[tokio::test]
    async fn headers_have_the_id_of_their_request() {
        let check = async |status: Option<u16>, kind: &str, failed: bool| {
            let log = Arc::new(Log::new(LogLimits::default()));
            let recordings = Recordings::new("http", &log);
            let faults = SharedFaults::default();
            let connection = log.begin_connection();
            let client = InspectedClient {
                inner: Arc::new(Canned(status)),
                layer: InspectLayer::new(&connection, &faults, &recordings, Vec::new()),
            };
            let body = Bytes::from_static(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
            let request = Request::post("http://localhost/mcp").body(body);
            let response = client.send(request.expect("a request")).await;
            assert_eq!(response.is_ok(), status.is_some());
            let entries = serde_json::to_value(log.after(0, 10)).expect("JSON");
            for (entry, failed) in [(&entries[0], false), (&entries[1], failed)] {
                assert_eq!(entry["id"], "7", "{entries}");
                assert_eq!(entry["failed"] == true, failed, "{entries}");
            }
            assert_eq!(entries[1]["kind"], kind, "{entries}");
        };
        check(Some(200), "http", false).await;
        check(Some(503), "http", true).await;
        check(None, "note", true).await;
    }
}
