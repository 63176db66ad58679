//! The hyper service: a JSON response for results, an event stream for the rest.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use serde_json::value::RawValue;

use super::message::{Call, Message, discovered, initialized, text_result};
use super::progress::{ProgressBody, event};
use super::streams::{StreamBody, Streams};
use super::tools::ToolList;

const SESSION: &str = "mcp-session-id";

pub(super) type AnyBody = Either<Full<Bytes>, Either<ProgressBody, StreamBody>>;

/// The state that all connections share.
pub(super) struct Limit {
    tools: ToolList,
    sessions: Mutex<HashSet<String>>,
    streams: Mutex<Streams>,
}

impl Limit {
    pub(super) fn new(tools: usize) -> Self {
        Self {
            tools: ToolList::new(tools),
            sessions: Mutex::default(),
            streams: Mutex::default(),
        }
    }

    pub(super) async fn respond(&self, request: Request<Incoming>) -> Response<AnyBody> {
        let (head, body) = request.into_parts();
        if head.method == Method::GET && self.has_session(&head.headers) {
            return stream(Either::Right(lock(&self.streams).open(None)));
        }
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => Bytes::new(),
        };
        self.process(&body, &head.headers).unwrap_or_else(|| {
            let mut rejected = Response::new(Either::Left(Full::default()));
            *rejected.status_mut() = StatusCode::BAD_REQUEST;
            rejected
        })
    }

    /// Returns the response to one message, or `None` if the message is not supported.
    fn process(&self, body: &[u8], headers: &HeaderMap) -> Option<Response<AnyBody>> {
        let message: Message<'_> = serde_json::from_slice(body).ok()?;
        if message.method == "initialize" {
            return self.begin_session(message.id?);
        }
        let is_expected = match message.version() {
            Some(version) => headers_match(&message, version, headers),
            None => self.has_session(headers),
        };
        if !is_expected {
            return None;
        }
        let Some(id) = message.id else {
            let mut accepted = Response::new(Either::Left(Full::default()));
            *accepted.status_mut() = StatusCode::ACCEPTED;
            return Some(accepted);
        };
        match &*message.method {
            "tools/call" => self.call(id, message.call()?),
            "server/discover" => Some(json(discovered(id))),
            "tools/list" => Some(json(self.tools.response(id))),
            "subscriptions/listen" => {
                let first = subscription_event("notifications/subscriptions/acknowledged", id);
                let body = lock(&self.streams).open(Some(first));
                Some(stream(Either::Right(body)))
            }
            _ => None,
        }
    }

    fn call(&self, id: &RawValue, call: Call<'_>) -> Option<Response<AnyBody>> {
        match call {
            Call::Echo(text) => text_result(id, &text).map(json),
            Call::Big(length) => text_result(id, &"x".repeat(length)).map(json),
            Call::Progress(token, count) => {
                let last = text_result(id, "done")?;
                let body = ProgressBody::new(&token, count, &last)?;
                Some(stream(Either::Left(body)))
            }
            Call::Change => {
                // Every stream of the load has the same id as this call.
                let changed = subscription_event("notifications/tools/list_changed", id);
                lock(&self.streams).send_to_all(&changed);
                text_result(id, "changed").map(json)
            }
        }
    }

    fn begin_session(&self, id: &RawValue) -> Option<Response<AnyBody>> {
        let mut sessions = lock(&self.sessions);
        let session = format!("session-{:035}", sessions.len());
        let value = HeaderValue::from_str(&session).ok()?;
        sessions.insert(session);
        let mut response = json(initialized(id));
        response.headers_mut().insert(SESSION, value);
        Some(response)
    }

    fn has_session(&self, headers: &HeaderMap) -> bool {
        headers
            .get(SESSION)
            .and_then(|session| session.to_str().ok())
            .is_some_and(|session| lock(&self.sessions).contains(session))
    }
}

/// Returns `true` if the headers match the body.
fn headers_match(message: &Message<'_>, version: &str, headers: &HeaderMap) -> bool {
    let has = |name: &str, value: &str| {
        headers
            .get(name)
            .is_some_and(|header| header.as_bytes() == value.as_bytes())
    };
    has("mcp-protocol-version", version)
        && has("mcp-method", &message.method)
        && message.tool().is_none_or(|tool| has("mcp-name", tool))
}

fn json(bytes: Vec<u8>) -> Response<AnyBody> {
    let mut response = Response::new(Either::Left(Full::from(bytes)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn stream(body: Either<ProgressBody, StreamBody>) -> Response<AnyBody> {
    let mut response = Response::new(Either::Right(body));
    let events = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, events);
    response
}

fn subscription_event(method: &str, id: &RawValue) -> Bytes {
    let message = format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    );
    event(message.as_bytes())
}

/// The stored data is consistent even if a thread panics.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
