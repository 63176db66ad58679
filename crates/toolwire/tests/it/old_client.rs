//! A client of the 2024-11-05 transport, inside the process: a stream it reads, and an address it posts to.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::collections::VecDeque;

use bytes::Bytes;
use http::request::Builder;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use toolwire::proto::sse::{SseDecoder, SseEvent};
use toolwire::transport::http::{HttpOptions, HttpService, ServerBody};
use toolwire::{Server, TokenInfo};

use crate::peer::{legacy, notification, within};

/// A server with the old endpoints beside the new one.
pub(crate) fn service(server: Server) -> HttpService {
    HttpService::new(server, HttpOptions::new().with_http_sse())
}

/// A request of a local client.
pub(crate) fn request(method: &str, target: &str) -> Builder {
    Request::builder()
        .method(method)
        .uri(target)
        .header("host", "localhost")
}

/// A POST with a message.
pub(crate) fn post(target: &str, message: impl ToString) -> Request<Full<Bytes>> {
    request("POST", target)
        .header("content-type", "application/json")
        .body(Full::from(message.to_string()))
        .unwrap()
}

/// The whole body of an answer that is no stream.
pub(crate) async fn body_of(answer: Response<ServerBody>) -> Bytes {
    within(answer.into_body().collect())
        .await
        .unwrap()
        .to_bytes()
}

pub(crate) fn token(subject: &str) -> TokenInfo {
    let mut token = TokenInfo::default();
    token.valid = true;
    token.subject = Some(subject.to_owned());
    token
}

/// An open stream.
pub(crate) struct OldClient {
    pub(crate) service: HttpService,
    /// Where to post, as the server said.
    pub(crate) address: String,
    token: Option<TokenInfo>,
    stream: ServerBody,
    decoder: SseDecoder,
    events: VecDeque<SseEvent>,
}

impl OldClient {
    pub(crate) async fn connect(service: &HttpService) -> Self {
        Self::connect_as(service, None).await
    }

    pub(crate) async fn connect_as(service: &HttpService, token: Option<TokenInfo>) -> Self {
        let mut get = request("GET", "/sse").header("accept", "text/event-stream");
        if let Some(token) = &token {
            get = get.extension(token.clone());
        }
        let answer = service
            .respond(get.body(Full::<Bytes>::default()).unwrap())
            .await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        assert_eq!(answer.headers()["cache-control"], "no-cache");
        let mut client = Self {
            service: service.clone(),
            address: String::new(),
            token,
            stream: answer.into_body(),
            decoder: SseDecoder::new(1 << 20),
            events: VecDeque::new(),
        };
        let event = client.next_event().await.unwrap();
        assert_eq!(event.event.as_deref(), Some("endpoint"));
        client.address = event.data;
        client
    }

    /// The session id in the address.
    pub(crate) fn session(&self) -> &str {
        let (path, id) = self.address.split_once("?sessionId=").unwrap();
        assert_eq!(path, "/message");
        id
    }

    /// Posts a message and returns the answer to the POST.
    pub(crate) async fn post(&self, message: impl ToString) -> Response<ServerBody> {
        let mut post = post(&self.address, message);
        if let Some(token) = &self.token {
            post.extensions_mut().insert(token.clone());
        }
        within(self.service.respond(post)).await
    }

    /// Posts a message, which must be accepted.
    #[track_caller]
    pub(crate) fn send(&self, message: impl ToString) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let answer = self.post(message).await;
            assert_eq!(answer.status(), StatusCode::ACCEPTED, "at {caller}");
            assert_eq!(body_of(answer).await, "", "at {caller}");
        }
    }

    /// The next message on the stream.
    pub(crate) async fn receive(&mut self) -> Value {
        let event = self.next_event().await.expect("the stream has ended");
        assert!(
            matches!(event.event.as_deref(), None | Some("message")),
            "{event:?}"
        );
        serde_json::from_str(&event.data).unwrap()
    }

    /// The next message on the stream is exactly this one.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: Value) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            assert_eq!(self.receive().await, expected, "at {caller}");
        }
    }

    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next_event(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let bytes = self.next_bytes().await?;
            let mut chunk = &bytes[..];
            while let Some(event) = self.decoder.next_event(&mut chunk) {
                self.events.push_back(event.unwrap());
            }
        }
    }

    /// The next bytes of the stream; `None` at its end.
    pub(crate) async fn next_bytes(&mut self) -> Option<Bytes> {
        let frame = within(self.stream.frame()).await?.unwrap();
        Some(frame.into_data().unwrap())
    }

    /// The handshake. Returns the result of `initialize`.
    pub(crate) async fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": "2024-11-05",
            "capabilities": capabilities,
            "clientInfo": {"name": "old-client", "version": "1"},
        });
        self.send(legacy(0, "initialize", params)).await;
        let mut answer = self.receive().await;
        assert_eq!(answer["id"], 0, "{answer}");
        self.send(notification("notifications/initialized", json!({})))
            .await;
        answer["result"].take()
    }
}
