//! Logs the headers of HTTP requests and responses to the server, and adds faults on demand.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use hyper::{Request, Response, Uri};
use toolwire::BoxFuture;
use toolwire::transport::http_client::{
    ClientBody, HttpClient, HttpError, HttpLayer, HttpPhase, UserInteraction,
};

use crate::inspect::faults::SharedFaults;
use crate::inspect::log::{Direction, Log};

/// Headers whose values are secrets.
const SECRET_HEADERS: [&str; 6] = [
    "authorization",
    "cookie",
    "dpop",
    "mcp-session-id",
    "proxy-authorization",
    "set-cookie",
];

/// The layer around the HTTP client. It is the innermost, so that it sees what is sent.
#[derive(Debug, Clone)]
pub(super) struct InspectLayer {
    log: Arc<Log>,
    faults: SharedFaults,
    /// The names of headers from the command line, whose values may be secrets too.
    hidden: Arc<[String]>,
}

impl InspectLayer {
    pub(super) fn new(log: &Arc<Log>, faults: &SharedFaults, hidden: Vec<String>) -> Self {
        Self {
            log: Arc::clone(log),
            faults: faults.clone(),
            hidden: hidden.into(),
        }
    }

    fn text(&self, start: &str, headers: &HeaderMap) -> String {
        let mut text = start.to_owned();
        for (name, value) in headers {
            let name = name.as_str();
            let mut hidden = self.hidden.iter();
            let is_secret = SECRET_HEADERS.contains(&name)
                || hidden.any(|hidden| hidden.eq_ignore_ascii_case(name));
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
            self.layer.log.http(Direction::Out, &text);
            let response = self.inner.send(request).await;
            match &response {
                Ok(response) => {
                    let start = response.status().to_string();
                    let text = self.layer.text(&start, response.headers());
                    self.layer.log.http(Direction::In, &text);
                }
                Err(error) => self.layer.log.note(&format!("HTTP failed: {error}")),
            }
            let response = response?;
            Ok(match faults.cut_after_bytes {
                Some(left) => response.map(|body| ClientBody::new(CutBody { body, left })),
                None => response,
            })
        })
    }
}

/// A body that fails after some bytes.
struct CutBody {
    body: ClientBody,
    left: usize,
}

impl Body for CutBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if self.left == 0 {
            let cut = HttpError::new(HttpPhase::Receive, "a fault of the inspector cut the body");
            return Poll::Ready(Some(Err(cut)));
        }
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(match frame {
            Some(Ok(frame)) => Some(Ok(match frame.into_data() {
                Ok(mut data) => {
                    data.truncate(self.left);
                    self.left -= data.len();
                    Frame::data(data)
                }
                Err(frame) => frame,
            })),
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[test]
    fn values_of_secret_headers_are_hidden() {
        let log = Arc::new(Log::new(crate::inspect::log::LogLimits::default()));
        let hidden = vec!["X-Key".to_owned()];
        let layer = InspectLayer::new(&log, &SharedFaults::default(), hidden);
        let mut headers = HeaderMap::new();
        for name in ["authorization", "x-key", "accept"] {
            headers.insert(name, HeaderValue::from_static("canary"));
        }
        let text = layer.text("POST /mcp", &headers);
        let expected = "POST /mcp\nauthorization: (hidden)\nx-key: (hidden)\naccept: canary";
        assert_eq!(text, expected);
    }

    #[tokio::test]
    async fn cut_body_fails_after_its_bytes() {
        let mut body = CutBody {
            body: ClientBody::full("abcdef"),
            left: 4,
        };
        let frame = body.frame().await.expect("a frame").expect("no error yet");
        assert_eq!(frame.into_data().expect("data"), "abcd");
        assert!(body.frame().await.expect("a frame").is_err());
    }
}
