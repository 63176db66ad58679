//! A protected server behind one of the routers, with somebody inside.

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

use super::routers::{Entrance, Handles, Router, VERSION};
use super::ways::{Body, next_chunk};
use crate::auth::guarded::{ISSUER, RESOURCE, config, options, protected_server, with_token};
use crate::auth::issuer::Issuer;
use crate::http::endpoint::Endpoint;
use crate::http::request::Request;
use crate::http::session::{initialize_request, tool_call_with_token};
use crate::peer::{notification, plain};

/// What must not be seen by anybody but Ann.
pub(crate) const SECRET_CLAIM: &str = "ann@private.example";

/// What must not leave the process.
pub(crate) const SECRET_REASON: &str = "the vault at /var/lib/vault is open: 4711";

/// An answer, as far as it is there.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Of a stream, what comes first.
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Everything an attacker sees, except the time.
    pub(crate) fn shape(&self) -> (u16, Vec<(String, String)>, &str) {
        let headers = self.headers.iter().filter(|(name, _)| *name != "date");
        let mut headers: Vec<_> = headers
            .map(|(name, value)| (name.to_string(), format!("{value:?}")))
            .collect();
        headers.sort();
        (self.status.as_u16(), headers, &self.text)
    }
}

/// A server, and Ann's handles.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) router: &'static Router,
    pub(crate) endpoint: Endpoint,
    pub(crate) issuer: Issuer,
    pub(crate) ann: Handles,
    pub(crate) release: watch::Sender<bool>,
    runs: Arc<AtomicUsize>,
    /// Keeps Ann's stream open.
    _stream: Option<Pin<Box<Body>>>,
}

impl House {
    pub(crate) async fn open(router: &'static Router) -> Self {
        let issuer = Issuer::new();
        let keys = issuer.keys();
        Self::open_with(router, issuer, keys).await
    }

    /// With other keys than those of the issuer.
    pub(crate) async fn open_with(router: &'static Router, issuer: Issuer, keys: JwkSet) -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let (release, released) = watch::channel(false);
        let server = with_traps(protected_server(&runs), released);
        let verifier = JwtVerifier::new(Vec::<String>::new(), &DocumentFetcher::new());
        let config = config().with_verifier(verifier.with_keys(ISSUER, keys));
        let options = (router.options)(options(config));
        let nobodys = Handles {
            session: "none".to_owned(),
            event: "none.1".to_owned(),
            address: "/message?sessionId=none".to_owned(),
        };
        let mut house = Self {
            router,
            endpoint: Endpoint::serve_with(&server, options).await,
            issuer,
            ann: nobodys,
            release,
            runs,
            _stream: None,
        };
        house.ann = house.settle("ann").await;
        if house.has("old stream") {
            let (stream, address) = house.old_stream("ann").await;
            (house._stream, house.ann.address) = (Some(stream), address);
        }
        house.runs.store(0, Ordering::SeqCst);
        house
    }

    /// How often a handler ran that counts.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    pub(crate) fn entrances(&self) -> impl Iterator<Item = &'static Entrance> {
        self.router.entrances.iter().flat_map(|list| list.iter())
    }

    pub(crate) fn has(&self, entrance: &str) -> bool {
        self.entrances().any(|one| one.name == entrance)
    }

    /// The claims of a good token of somebody.
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

    pub(crate) fn by(&self, name: &str, request: Request) -> Request {
        with_token(request, &self.token(name))
    }

    pub(crate) async fn send(&self, request: &Request) -> http::Response<Body> {
        let Endpoint {
            service, address, ..
        } = &self.endpoint;
        self.router.way.send(service, *address, request).await
    }

    /// Sends a request; of a stream only the beginning is read.
    pub(crate) async fn ask(&self, request: &Request) -> Reply {
        let (head, body) = self.send(request).await.into_parts();
        let mut body = Box::pin(body);
        let is_stream = head
            .headers
            .get("content-type")
            .is_some_and(|kind| kind == "text/event-stream");
        let mut text = String::new();
        while let Some(chunk) = next_chunk(&mut body).await {
            text += &chunk;
            if is_stream {
                break;
            }
        }
        Reply {
            status: head.status,
            headers: head.headers,
            text,
        }
    }

    /// Opens a session and a stream in it, where there are sessions.
    pub(crate) async fn settle(&self, name: &str) -> Handles {
        let mut handles = self.ann.clone();
        if !self.has("stream of a session") {
            return handles;
        }
        let opened = self.ask(&self.by(name, initialize_request(VERSION))).await;
        handles.session = opened.header("mcp-session-id").unwrap().to_owned();
        let in_session =
            |message: &Value| Request::post(message).in_session(&handles.session, VERSION);
        let initialized = notification("notifications/initialized", json!({}));
        let told = self.ask(&self.by(name, in_session(&initialized))).await;
        assert_eq!(told.status, 202);
        let steps = in_session(&tool_call_with_token(1, "steps", "t"));
        let stream = self.ask(&self.by(name, steps)).await.text;
        let event = stream.lines().find_map(|line| line.strip_prefix("id: "));
        handles.event = event.unwrap().to_owned();
        handles
    }

    /// A stream of the 2024-11-05 transport, and where its messages go.
    pub(crate) async fn old_stream(&self, name: &str) -> (Pin<Box<Body>>, String) {
        let entrance = self.entrances().find(|one| one.name == "old stream");
        let request = (entrance.unwrap().request)(&self.ann);
        let answer = self.send(&self.by(name, request)).await;
        assert_eq!(answer.status(), 200);
        let mut stream = Box::pin(answer.into_body());
        let mut text = String::new();
        loop {
            text += &next_chunk(&mut stream).await.unwrap();
            if let Some(address) = text.lines().find_map(|line| line.strip_prefix("data: ")) {
                return (stream, address.to_owned());
            }
        }
    }
}

/// Tools that wait, and tools that fail with what nobody should see.
fn with_traps(server: Server, released: watch::Receiver<bool>) -> Server {
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
