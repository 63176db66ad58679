//! A protected server behind one of the routers, with an open session of the user Ann.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;
use toolwire::{RequestContext, Server};
use toolwire_auth::documents::JwkSet;
use toolwire_auth::{DocumentFetcher, JwtVerifier};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{initialize_request, tool_call_with_token};
use toolwire_tests::peer::{notification, plain};

use super::entry_points::{Body, next_chunk};
use super::routers::{Handles, Operation, Router, VERSION};
use crate::resource::issuer::Issuer;
use crate::resource::protected_server::{
    ISSUER, RESOURCE, config, options, protected_server, with_token,
};

/// A claim of Ann's token, which other users must not see.
pub(crate) const SECRET_CLAIM: &str = "ann@private.example";

/// A panic message, which must not leave the process.
pub(crate) const SECRET_REASON: &str = "cannot open /var/lib/vault: 4711";

/// A response. Of an event stream, only the first chunk is read.
#[derive(Debug)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The body, or the first chunk of an event stream.
    pub(crate) text: String,
}

impl ReceivedResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns everything that an attacker sees, except the `Date` header.
    pub(crate) fn shape(&self) -> (u16, Vec<(String, String)>, &str) {
        let headers = self.headers.iter().filter(|(name, _)| *name != "date");
        let mut headers: Vec<_> = headers
            .map(|(name, value)| (name.to_string(), format!("{value:?}")))
            .collect();
        headers.sort();
        (self.status.as_u16(), headers, &self.text)
    }
}

/// A running server, and the handles of the user Ann.
#[derive(Debug)]
pub(crate) struct AttackFixture {
    pub(crate) router: &'static Router,
    pub(crate) endpoint: Endpoint,
    pub(crate) issuer: Issuer,
    pub(crate) ann: Handles,
    pub(crate) release: watch::Sender<bool>,
    runs: Arc<AtomicUsize>,
    /// Ann's HTTP+SSE stream, which stays open as long as the fixture.
    _stream: Option<Pin<Box<Body>>>,
}

impl AttackFixture {
    pub(crate) async fn open(router: &'static Router) -> Self {
        let issuer = Issuer::new();
        let keys = issuer.keys();
        Self::open_with(router, issuer, keys).await
    }

    /// Opens a fixture whose server trusts `keys` instead of the keys of the issuer.
    pub(crate) async fn open_with(router: &'static Router, issuer: Issuer, keys: JwkSet) -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let (release, released) = watch::channel(false);
        let server = with_test_tools(protected_server(&runs), released);
        let verifier = JwtVerifier::new(Vec::<String>::new(), &DocumentFetcher::new());
        let config = config().with_verifier(verifier.with_keys(ISSUER, keys));
        let options = (router.options)(options(config));
        let placeholder = Handles {
            session: "none".to_owned(),
            event: "none.1".to_owned(),
            address: "/message?sessionId=none".to_owned(),
        };
        let mut fixture = Self {
            router,
            endpoint: Endpoint::serve_with(&server, options).await,
            issuer,
            ann: placeholder,
            release,
            runs,
            _stream: None,
        };
        fixture.ann = fixture.open_session("ann").await;
        if fixture.has("HTTP+SSE stream") {
            let (stream, address) = fixture.http_sse_stream("ann").await;
            (fixture._stream, fixture.ann.address) = (Some(stream), address);
        }
        fixture.runs.store(0, Ordering::SeqCst);
        fixture
    }

    /// Returns how often the counting handlers ran.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = &'static Operation> {
        self.router.operations.iter().flat_map(|list| list.iter())
    }

    /// Returns `true` if the router serves the operation with this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.operations().any(|operation| operation.name == name)
    }

    /// Returns the claims of a valid token for a user.
    pub(crate) fn claims(name: &str) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        json!({
            "iss": ISSUER, "aud": RESOURCE, "sub": name, "client_id": "app",
            "exp": now.as_secs() + 600, "email": SECRET_CLAIM,
        })
    }

    pub(crate) fn token(&self, name: &str) -> String {
        self.issuer.token(&Self::claims(name))
    }

    pub(crate) fn with_token_of(&self, name: &str, request: Request) -> Request {
        with_token(request, &self.token(name))
    }

    pub(crate) async fn send(&self, request: &Request) -> http::Response<Body> {
        let Endpoint {
            service, address, ..
        } = &self.endpoint;
        self.router
            .entry_point
            .send(service, *address, request)
            .await
    }

    /// Sends a request and reads the response. Of an event stream, only the first chunk is read.
    pub(crate) async fn response_to(&self, request: &Request) -> ReceivedResponse {
        let (parts, body) = self.send(request).await.into_parts();
        let mut body = Box::pin(body);
        let is_stream = parts
            .headers
            .get("content-type")
            .is_some_and(|content_type| content_type == "text/event-stream");
        let mut text = String::new();
        while let Some(chunk) = next_chunk(&mut body).await {
            text += &chunk;
            if is_stream {
                break;
            }
        }
        ReceivedResponse {
            status: parts.status,
            headers: parts.headers,
            text,
        }
    }

    /// Opens a session with a stream for a user, if the router has sessions.
    pub(crate) async fn open_session(&self, name: &str) -> Handles {
        let mut handles = self.ann.clone();
        if !self.has("stream of a session") {
            return handles;
        }
        let response = self
            .response_to(&self.with_token_of(name, initialize_request(VERSION)))
            .await;
        handles.session = response.header("mcp-session-id").unwrap().to_owned();
        let in_session =
            |message: &Value| Request::post(message).in_session(&handles.session, VERSION);
        let initialized = notification("notifications/initialized", json!({}));
        let accepted = self
            .response_to(&self.with_token_of(name, in_session(&initialized)))
            .await;
        assert_eq!(accepted.status, 202);
        let steps = in_session(&tool_call_with_token(1, "steps", "t"));
        let stream = self
            .response_to(&self.with_token_of(name, steps))
            .await
            .text;
        let event = stream.lines().find_map(|line| line.strip_prefix("id: "));
        handles.event = event.unwrap().to_owned();
        handles
    }

    /// Opens a stream of the HTTP+SSE transport, and returns it with its message endpoint.
    pub(crate) async fn http_sse_stream(&self, name: &str) -> (Pin<Box<Body>>, String) {
        let operation = self
            .operations()
            .find(|operation| operation.name == "HTTP+SSE stream");
        let request = (operation.unwrap().request)(&self.ann);
        let response = self.send(&self.with_token_of(name, request)).await;
        assert_eq!(response.status(), 200);
        let mut stream = Box::pin(response.into_body());
        let mut text = String::new();
        loop {
            text += &next_chunk(&mut stream).await.unwrap();
            if let Some(address) = text.lines().find_map(|line| line.strip_prefix("data: ")) {
                return (stream, address.to_owned());
            }
        }
    }
}

/// Adds a tool that waits, and a tool that panics with [`SECRET_REASON`].
fn with_test_tools(server: Server, released: watch::Receiver<bool>) -> Server {
    let wait = plain("wait", move |ctx: RequestContext| {
        let mut released = released.clone();
        async move {
            ctx.report_progress(1.0, None, None);
            let _ = released.wait_for(|released| *released).await;
            "waited"
        }
    });
    let explode = plain("explode", async |_: RequestContext| -> String {
        panic!("{SECRET_REASON}")
    });
    server.tool(wait).tool(explode)
}
