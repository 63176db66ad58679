//! A client that chooses the node of each request. It reports faults instead of hiding them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::time::sleep;
use toolwire_interop::Nodes;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::notification;

use super::events::Events;
use super::executions::Executions;
use super::ledger::Failure;

/// The newest revision with sessions.
pub(super) const LEGACY: &str = "2025-11-25";

/// The number of attempts of a request that is rejected because the engine is away.
const MAX_ATTEMPTS: usize = 3;

/// The delay between them, which is the shortest that nodes ask for.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The delay before a request is repeated that a fault has prevented.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// A part of the error if the event is lost with which a client resumes a stream.
const LOST_EVENT: &str = "the event of Last-Event-ID is not stored";

#[derive(Debug, Clone)]
pub(super) struct NodeClient {
    http: Client<HttpConnector, Full<Bytes>>,
    nodes: Arc<Nodes>,
    repeats: bool,
    sessions: Arc<Mutex<Vec<String>>>,
    pub(super) executions: Arc<Executions>,
}

impl NodeClient {
    pub(super) fn new(nodes: Arc<Nodes>) -> Self {
        let mut builder = Client::builder(TokioExecutor::new());
        // Each request has its own connection, as behind the balancer.
        builder.pool_max_idle_per_host(0);
        Self {
            http: builder.build_http(),
            nodes,
            repeats: true,
            sessions: Arc::default(),
            executions: Arc::default(),
        }
    }

    /// Returns a client for requests of 2026-07-28 that need no engine. It repeats no request, and 503 is a wrong response.
    pub(super) fn for_requests_without_engine(&self) -> Self {
        Self {
            repeats: false,
            ..self.clone()
        }
    }

    /// Returns the ids of all sessions that were opened.
    pub(super) fn sessions(&self) -> Vec<String> {
        lock(&self.sessions).clone()
    }

    /// Returns the next node.
    pub(super) fn next_node(&self) -> String {
        let nodes = self.nodes.in_turn();
        nodes.into_iter().next().expect("a fleet has nodes")
    }

    /// Returns all nodes.
    pub(super) fn nodes(&self) -> Vec<String> {
        self.nodes.in_turn()
    }

    /// Returns `true` if a node still gets requests.
    pub(super) fn has_node(&self, node: &str) -> bool {
        self.nodes.in_turn().iter().any(|other| other == node)
    }

    /// Returns a node other than this one, if there is another.
    pub(super) fn other_node(&self, node: &str) -> String {
        let nodes = self.nodes.in_turn();
        let other = nodes.into_iter().find(|other| other != node);
        other.unwrap_or_else(|| node.to_owned())
    }

    /// Sends a request to a node. Repeats it if the server asks for it with `Retry-After`: a busy machine can delay the
    /// engine for longer than the nodes wait for it.
    pub(super) async fn send(
        &self,
        node: &str,
        request: &Request,
    ) -> Result<Response<hyper::body::Incoming>, Failure> {
        let mut attempts = 1;
        loop {
            match self.send_once(node, request).await {
                Err(Failure::Unavailable(reason)) if reason.starts_with("503") && !self.repeats => {
                    return Err(Failure::Wrong(format!("needs no engine: {reason}")));
                }
                Err(Failure::Unavailable(reason))
                    if reason.starts_with("503") && attempts < MAX_ATTEMPTS =>
                {
                    attempts += 1;
                    sleep(RETRY_AFTER).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Sends a request to a node. If it accepts no connections, sends it to another one, as a balancer does.
    async fn send_once(
        &self,
        node: &str,
        request: &Request,
    ) -> Result<Response<hyper::body::Incoming>, Failure> {
        let mut node = node.to_owned();
        for _ in 0..3 {
            // A node that gets no more requests is about to shut down.
            let Some(_on_the_way) = self.nodes.start_request(&node) else {
                node = self.next_node();
                continue;
            };
            let mut request = request.to_http().map(Full::from);
            let uri = format!("http://{node}{}", request.uri());
            *request.uri_mut() = uri.parse::<Uri>().expect("a node has a valid URI");
            match self.http.request(request).await {
                Ok(response) => return accepted(response).await,
                Err(error) if error.is_connect() => {
                    node = self.next_node();
                }
                Err(error) => return Err(unavailable(error)),
            }
        }
        Err(Failure::Unavailable(
            "no node accepts connections".to_owned(),
        ))
    }

    /// Sends a request, and returns the result in its response.
    pub(super) async fn result_of(&self, node: &str, request: &Request) -> Result<Value, Failure> {
        let messages = self.messages_of(node, request).await?;
        let response = messages.into_iter().find(is_response);
        result_in(response.ok_or_else(|| Failure::Unavailable("no response".to_owned()))?)
    }

    /// Sends a request, and returns all messages in its response, which is JSON or an event stream.
    pub(super) async fn messages_of(
        &self,
        node: &str,
        request: &Request,
    ) -> Result<Vec<Value>, Failure> {
        let response = self.send(node, request).await?;
        if is_event_stream(&response) {
            let mut events = Events::of(response);
            let mut messages = Vec::new();
            while let Some(event) = events.next().await? {
                messages.push(event.message());
            }
            return Ok(messages);
        }
        let body = response.into_body().collect().await.map_err(unavailable)?;
        let body = body.to_bytes();
        if body.is_empty() {
            // The session ended, so its request was cancelled.
            return Ok(Vec::new());
        }
        let message = serde_json::from_slice(&body)
            .map_err(|error| Failure::Wrong(format!("the response is not JSON: {error}")))?;
        Ok(vec![message])
    }

    /// Sends a request whose response is an event stream.
    pub(super) async fn open(&self, node: &str, request: &Request) -> Result<Events, Failure> {
        let response = self.send(node, request).await?;
        if is_event_stream(&response) {
            Ok(Events::of(response))
        } else {
            let body = response.into_body().collect().await.map_err(unavailable)?;
            let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            Err(Failure::Unavailable(format!("not an event stream: {body}")))
        }
    }

    /// Opens an event stream, and repeats the request while a fault prevents it. The caller limits the time.
    pub(super) async fn open_when_available(&self, request: &Request) -> Result<Events, Failure> {
        loop {
            let node = self.next_node();
            match self.open(&node, request).await {
                Err(Failure::Unavailable(_)) => sleep(RETRY_DELAY).await,
                outcome => return outcome,
            }
        }
    }

    /// Opens a session of 2025-11-25 on two nodes, and returns its id.
    pub(super) async fn open_session(&self) -> Result<String, Failure> {
        let first = self.next_node();
        let response = self.send(&first, &initialize_request(LEGACY)).await?;
        let id = response.headers().get("mcp-session-id");
        let id = id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        let id = id.ok_or_else(|| Failure::Wrong("no session was opened".to_owned()))?;
        lock(&self.sessions).push(id.clone());
        let initialized = notification("notifications/initialized", json!({}));
        let second = self.other_node(&first);
        self.send(&second, &in_session(&id, &initialized)).await?;
        Ok(id)
    }
}

fn lock(sessions: &Mutex<Vec<String>>) -> MutexGuard<'_, Vec<String>> {
    sessions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a POST request with a message in a session.
pub(super) fn in_session(session: &str, message: &Value) -> Request {
    Request::post(message).in_session(session, LEGACY)
}

/// Returns the text of a tool result.
pub(super) fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// Fails unless two values are equal.
pub(super) fn expect_equal<T: PartialEq + std::fmt::Debug>(
    value: T,
    expected: T,
) -> Result<(), Failure> {
    if value == expected {
        Ok(())
    } else {
        Err(Failure::Wrong(format!("{value:?} is not {expected:?}")))
    }
}

pub(super) fn unavailable(error: impl std::error::Error) -> Failure {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    Failure::Unavailable(text)
}

/// Returns a response that is not a rejection.
async fn accepted(
    response: Response<hyper::body::Incoming>,
) -> Result<Response<hyper::body::Incoming>, Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let says_when = response.headers().contains_key("retry-after");
    let body = response.into_body().collect().await.map_err(unavailable)?;
    let reason = format!("{status}: {}", String::from_utf8_lossy(&body.to_bytes()));
    Err(match status {
        StatusCode::SERVICE_UNAVAILABLE if says_when => Failure::Unavailable(reason),
        // A message that may have been delivered, so it must not be sent again.
        StatusCode::GATEWAY_TIMEOUT if !says_when => Failure::Unavailable(reason),
        StatusCode::NOT_FOUND => Failure::Lost(reason),
        StatusCode::BAD_REQUEST if reason.contains(LOST_EVENT) => Failure::Lost(reason),
        _ => Failure::Wrong(reason),
    })
}

/// Returns the result in a response. An error is an outcome, too.
pub(super) fn result_in(mut message: Value) -> Result<Value, Failure> {
    match message.get("error") {
        None => Ok(message["result"].take()),
        Some(error) => Err(Failure::Unavailable(error.to_string())),
    }
}

/// Returns `true` if a message of the server is the response to a request.
pub(super) fn is_response(message: &Value) -> bool {
    message.get("id").is_some() && message.get("method").is_none()
}

fn is_event_stream(response: &Response<hyper::body::Incoming>) -> bool {
    let content_type = response.headers().get("content-type");
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}
