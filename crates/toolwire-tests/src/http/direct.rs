//! Sends requests to the service without a socket, optionally with a verified token. Without sockets the clock can be
//! paused.

use std::future::poll_fn;
use std::pin::Pin;

use http::{Request, Response};
use http_body::Body as _;
use serde_json::{Value, json};
use toolwire::TokenInfo;
use toolwire::transport::http::{HttpService, ServerBody};

use crate::http::session::initialize_request;
use crate::peer::{legacy, notification};

/// An in-process client of the service.
#[derive(Debug, Clone)]
pub struct InProcessClient {
    /// The service under test.
    pub service: HttpService,
    caller: Option<TokenInfo>,
}

/// A complete response.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompleteResponse {
    /// The status code.
    pub status: u16,
    /// The value of `Mcp-Session-Id`.
    pub session: Option<String>,
    /// The body.
    pub body: String,
}

impl InProcessClient {
    /// Returns a client without a token.
    pub fn new(service: &HttpService) -> Self {
        Self::with_caller(service, None)
    }

    /// Returns a client with a verified token of this issuer and subject.
    pub fn with_token(service: &HttpService, issuer: &str, subject: &str) -> Self {
        let token = TokenInfo::verified()
            .with_issuer(issuer)
            .with_subject(subject);
        Self::with_caller(service, Some(token))
    }

    /// Returns a client with this verified token, or without a token.
    pub fn with_caller(service: &HttpService, caller: Option<TokenInfo>) -> Self {
        Self {
            service: service.clone(),
            caller,
        }
    }

    /// Sends a request and returns the response, whose body is not read.
    pub async fn send(&self, request: crate::http::request::Request) -> Response<ServerBody> {
        let mut request: Request<String> = request.to_http();
        if let Some(caller) = &self.caller {
            request.extensions_mut().insert(caller.clone());
        }
        self.service.respond(request).await
    }

    /// Sends a request and returns the complete response.
    pub async fn request(&self, request: crate::http::request::Request) -> CompleteResponse {
        let response = self.send(request).await;
        let status = response.status().as_u16();
        let session = response.headers().get("mcp-session-id");
        let session = session.map(|id| id.to_str().unwrap().to_owned());
        let mut stream = Box::pin(response.into_body());
        let mut body = String::new();
        while let Some(chunk) = next_chunk(&mut stream).await {
            body += &chunk;
        }
        CompleteResponse {
            status,
            session,
            body,
        }
    }

    /// Opens a session of 2025-11-25 and returns its id.
    pub async fn open_session(&self) -> String {
        let session = self.initialize().await;
        let initialized = notification("notifications/initialized", json!({}));
        let response = self.request(in_session(&session, &initialized)).await;
        assert_eq!(response.status, 202);
        session
    }

    /// Sends `initialize` of 2025-11-25 and returns the id of the new session.
    pub async fn initialize(&self) -> String {
        let opened = self.request(initialize_request("2025-11-25")).await;
        assert_eq!(opened.status, 200, "{}", opened.body);
        opened.session.expect("a session is opened")
    }

    /// Returns the status of a ping in a session.
    pub async fn ping(&self, session: &str) -> u16 {
        let ping = legacy(1, "ping", json!({}));
        self.request(in_session(session, &ping)).await.status
    }
}

/// Returns a POST request with a message in a session of 2025-11-25.
pub fn in_session(session: &str, message: &Value) -> crate::http::request::Request {
    crate::http::request::Request::post(message).in_session(session, "2025-11-25")
}

/// Returns the next bytes of a response stream, or `None` at its end.
pub async fn next_chunk(body: &mut Pin<Box<ServerBody>>) -> Option<String> {
    let frame = poll_fn(|cx| body.as_mut().poll_frame(cx)).await?.unwrap();
    let data = frame.into_data().expect("there are no trailers");
    Some(String::from_utf8(data.to_vec()).unwrap())
}
