//! An upstream server over HTTP that the test plays request by request, without sockets.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use toolwire::BoxFuture;
use toolwire::relay::Upstream;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError};
use toolwire_tests::peer::within;

/// The HTTP client of the relay. It passes each POST to the test.
#[derive(Debug, Clone)]
struct RawHttp(mpsc::UnboundedSender<RawPost>);

/// The POST requests of the relay.
pub(crate) struct RawPosts(mpsc::UnboundedReceiver<RawPost>);

/// A POST request that waits for its response.
#[derive(Debug)]
pub(crate) struct RawPost {
    pub(crate) message: Value,
    /// The session id in the header.
    pub(crate) session: Option<String>,
    response: oneshot::Sender<Response<ClientBody>>,
}

/// Returns an upstream whose requests the test serves.
pub(crate) fn raw_http() -> (Upstream, RawPosts) {
    let (sender, posts) = mpsc::unbounded_channel();
    let upstream = Upstream::new(move |builder| {
        let builder = builder.with_http_client(RawHttp(sender.clone()));
        async move { builder.connect("http://made.up/mcp").await }
    });
    (upstream, RawPosts(posts))
}

impl HttpClient for RawHttp {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async move {
            if request.method() != Method::POST {
                // The server has no stream of its own.
                return Ok(response(StatusCode::METHOD_NOT_ALLOWED, None, ""));
            }
            let (sender, received) = oneshot::channel();
            let session = request.headers().get("mcp-session-id");
            let post = RawPost {
                message: serde_json::from_slice(request.body()).expect("messages are JSON"),
                session: session.map(|id| id.to_str().expect("an id is text").to_owned()),
                response: sender,
            };
            // At the end of the test, nothing is received any more.
            let _ = self.0.send(post);
            let closed = response(StatusCode::SERVICE_UNAVAILABLE, None, "");
            Ok(received.await.unwrap_or(closed))
        })
    }
}

impl RawPosts {
    /// Returns the next request of the relay.
    pub(crate) async fn next(&mut self) -> RawPost {
        within(self.0.recv()).await.expect("the relay is open")
    }

    /// Returns the next request, which must have this method.
    pub(crate) async fn expect(&mut self, method: &str) -> RawPost {
        let post = self.next().await;
        assert_eq!(post.message["method"], method, "{}", post.message);
        post
    }

    /// Serves the probe of a modern server.
    pub(crate) async fn accept_modern(&mut self) {
        let discover = self.expect("server/discover").await;
        discover.respond(json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": true}},
            "ttlMs": 0,
            "cacheScope": "public",
        }));
    }

    /// Serves the handshake of a legacy session.
    pub(crate) async fn accept_legacy(&mut self, session: &str) {
        let mut post = self.next().await;
        if post.message["method"] == "server/discover" {
            post.reject(json!({"code": -32601, "message": "unknown method"}));
            post = self.next().await;
        }
        assert_eq!(post.message["method"], "initialize");
        let result = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
            "serverInfo": {"name": "old", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": post.message["id"], "result": result});
        post.send(response(StatusCode::OK, Some(session), message.to_string()));
        let initialized = self.expect("notifications/initialized").await;
        initialized.finish(StatusCode::ACCEPTED);
    }
}

impl RawPost {
    /// Responds with a result.
    pub(crate) fn respond(self, result: Value) {
        let message = json!({"jsonrpc": "2.0", "id": self.message["id"], "result": result});
        self.send(response(StatusCode::OK, None, message.to_string()));
    }

    /// Responds with an error.
    pub(crate) fn reject(self, error: Value) {
        let message = json!({"jsonrpc": "2.0", "id": self.message["id"], "error": error});
        self.send(response(StatusCode::OK, None, message.to_string()));
    }

    /// Responds without a message.
    pub(crate) fn finish(self, status: StatusCode) {
        self.send(response(status, None, ""));
    }

    /// Responds with an event stream.
    pub(crate) fn stream(self) -> RawStream {
        let (sender, events) = mpsc::unbounded_channel();
        let id = self.message["id"].clone();
        let response = Response::builder()
            .header("content-type", "text/event-stream")
            .body(ClientBody::new(Events(events)));
        self.send(response.expect("valid headers"));
        RawStream { id, sender }
    }

    fn send(self, response: Response<ClientBody>) {
        self.response.send(response).expect("the relay waits");
    }
}

/// An event stream, which ends when this is dropped.
pub(crate) struct RawStream {
    id: Value,
    sender: mpsc::UnboundedSender<Bytes>,
}

impl RawStream {
    pub(crate) fn send(&self, message: &Value) {
        let event = format!("data: {message}\n\n");
        self.sender.send(event.into()).expect("the relay reads");
    }

    /// Sends the result of the request.
    pub(crate) fn respond(self, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "result": result}));
    }

    /// Waits until the relay closes the stream.
    pub(crate) async fn expect_end(&self) {
        within(self.sender.closed()).await;
    }
}

struct Events(mpsc::UnboundedReceiver<Bytes>);

impl Body for Events {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let event = self.0.poll_recv(context);
        event.map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

fn response(
    status: StatusCode,
    session: Option<&str>,
    body: impl Into<Bytes>,
) -> Response<ClientBody> {
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    if let Some(session) = session {
        response = response.header("mcp-session-id", session);
    }
    let (sender, body_parts) = mpsc::unbounded_channel();
    // The receiver is alive.
    let _ = sender.send(body.into());
    let response = response.body(ClientBody::new(Events(body_parts)));
    response.expect("valid headers")
}
