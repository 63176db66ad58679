//! An in-process client of the 2024-11-05 HTTP+SSE transport.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::collections::VecDeque;

use bytes::Bytes;
use http::request::Builder;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use toolwire::transport::http::{HttpOptions, HttpService, ServerBody};
use toolwire::{Server, TokenInfo};
use toolwire_proto::sse::{SseDecoder, SseEvent};
use toolwire_tests::peer::{legacy, notification, within};

/// Returns a service with the endpoints of 2024-11-05 in addition to the newer one.
pub(crate) fn service(server: Server) -> HttpService {
    HttpService::new(server, HttpOptions::new().with_http_sse())
}

/// Returns a request builder with the host `localhost`.
pub(crate) fn request(method: &str, target: &str) -> Builder {
    Request::builder()
        .method(method)
        .uri(target)
        .header("host", "localhost")
}

/// Returns a POST request with a message.
pub(crate) fn post(target: &str, message: impl ToString) -> Request<Full<Bytes>> {
    request("POST", target)
        .header("content-type", "application/json")
        .body(Full::from(message.to_string()))
        .unwrap()
}

/// Returns the complete body of a response.
pub(crate) async fn body_of(response: Response<ServerBody>) -> Bytes {
    within(response.into_body().collect())
        .await
        .unwrap()
        .to_bytes()
}

pub(crate) fn token(subject: &str) -> TokenInfo {
    TokenInfo::verified().with_subject(subject)
}

/// A client with an open event stream.
pub(crate) struct HttpSseClient {
    pub(crate) service: HttpService,
    /// The target for POST requests that the server has sent.
    pub(crate) address: String,
    token: Option<TokenInfo>,
    stream: ServerBody,
    decoder: SseDecoder,
    events: VecDeque<SseEvent>,
}

impl HttpSseClient {
    pub(crate) async fn connect(service: &HttpService) -> Self {
        Self::connect_as(service, None).await
    }

    pub(crate) async fn connect_as(service: &HttpService, token: Option<TokenInfo>) -> Self {
        let mut get = request("GET", "/sse").header("accept", "text/event-stream");
        if let Some(token) = &token {
            get = get.extension(token.clone());
        }
        let response = service
            .respond(get.body(Full::<Bytes>::default()).unwrap())
            .await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        let mut client = Self {
            service: service.clone(),
            address: String::new(),
            token,
            stream: response.into_body(),
            decoder: SseDecoder::new(1 << 20),
            events: VecDeque::new(),
        };
        let event = client.next_event().await.unwrap();
        assert_eq!(event.event.as_deref(), Some("endpoint"));
        client.address = event.data;
        client
    }

    /// Returns the session id in the address.
    pub(crate) fn session(&self) -> &str {
        let (path, id) = self.address.split_once("?sessionId=").unwrap();
        assert_eq!(path, "/message");
        id
    }

    /// Posts a message and returns the response to the POST.
    pub(crate) async fn post(&self, message: impl ToString) -> Response<ServerBody> {
        let mut post = post(&self.address, message);
        if let Some(token) = &self.token {
            post.extensions_mut().insert(token.clone());
        }
        within(self.service.respond(post)).await
    }

    /// Posts a message and expects that the server accepts it.
    #[track_caller]
    pub(crate) fn send(&self, message: impl ToString) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let response = self.post(message).await;
            assert_eq!(response.status(), StatusCode::ACCEPTED, "at {caller}");
            assert_eq!(body_of(response).await, "", "at {caller}");
        }
    }

    /// Returns the next message on the stream.
    pub(crate) async fn receive(&mut self) -> Value {
        let event = self.next_event().await.expect("the stream has ended");
        assert!(
            matches!(event.event.as_deref(), None | Some("message")),
            "{event:?}"
        );
        serde_json::from_str(&event.data).unwrap()
    }

    /// Expects that the next message on the stream equals `expected`.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: Value) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            assert_eq!(self.receive().await, expected, "at {caller}");
        }
    }

    /// Returns the next event, or `None` at the end of the stream.
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

    /// Returns the next bytes of the stream, or `None` at its end.
    pub(crate) async fn next_bytes(&mut self) -> Option<Bytes> {
        let frame = within(self.stream.frame()).await?.unwrap();
        Some(frame.into_data().unwrap())
    }

    /// Performs the handshake and returns the result of `initialize`.
    pub(crate) async fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": "2024-11-05",
            "capabilities": capabilities,
            "clientInfo": {"name": "old-client", "version": "1"},
        });
        self.send(legacy(0, "initialize", params)).await;
        let mut response = self.receive().await;
        assert_eq!(response["id"], 0, "{response}");
        self.send(notification("notifications/initialized", json!({})))
            .await;
        response["result"].take()
    }
}
