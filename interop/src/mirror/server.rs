//! The server: what it sends for each message, on any transport.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mirror::results::{created_task, error, input_required, input_required_of, result};
use crate::mirror::revision::{ALL, MODERN, Revision};
use crate::mirror::server_requests::server_request;

/// Far longer than any step takes, even on a busy machine.
const STEP_TIMEOUT: Duration = Duration::from_secs(120);

/// Sends the text of a message.
pub(crate) type Send<'a> = dyn Fn(&str) + Sync + 'a;

/// A message of JSON-RPC, as text.
#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Message<'_> {
    /// Returns the method, or an empty text for a response.
    pub(crate) fn method(&self) -> &str {
        self.method
            .map_or("", |method| method.get().trim_matches('"'))
    }

    /// Returns the text of a member of the parameters.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        let params: HashMap<String, &RawValue> = serde_json::from_str(self.params?.get()).ok()?;
        Some(params.get(name)?.get().to_owned())
    }
}

/// One session, or all modern requests.
pub(crate) struct Session {
    revision: Revision,
    /// Sends messages that belong to no request.
    outside: Box<dyn Fn(&str) + std::marker::Send + Sync>,
    state: Mutex<State>,
    changed: Condvar,
    /// Whether a client cancels a request by closing its stream, instead of a notification.
    is_cancelled_by_disconnection: bool,
}

#[derive(Default)]
struct State {
    last_id: u64,
    /// The requests to the client that wait for a response, by id.
    waiting: HashMap<String, Sender<String>>,
    /// The notifications of the client, without cancellations.
    received: Vec<String>,
    cancellations: usize,
    /// The ids of the modern subscriptions, as text. The last one is in use.
    subscriptions: Vec<String>,
}

/// What follows after a message is handled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum After {
    Done,
    /// The request is a subscription: its stream stays open.
    Subscribed,
    /// The request waits until its client closes the stream.
    WaitsForDisconnection,
}

impl Session {
    pub(crate) fn new(
        revision: Revision,
        outside: impl Fn(&str) + std::marker::Send + Sync + 'static,
    ) -> Self {
        Self {
            revision,
            outside: Box::new(outside),
            state: Mutex::default(),
            changed: Condvar::new(),
            is_cancelled_by_disconnection: false,
        }
    }

    /// Returns a session whose client cancels a request by closing its stream.
    pub(crate) fn cancelled_by_disconnection(mut self) -> Self {
        self.is_cancelled_by_disconnection = true;
        self
    }

    /// Counts a request whose client has closed its stream.
    pub(crate) fn disconnected(&self) {
        self.state().cancellations += 1;
        self.changed.notify_all();
    }

    /// Handles a message. `send` sends messages that belong to it.
    pub(crate) fn handle(&self, text: &str, send: &Send<'_>) -> After {
        let Ok(message) = serde_json::from_str::<Message<'_>>(text) else {
            return After::Done;
        };
        match (message.method(), message.id) {
            ("", id) => {
                let id = id.map_or("", RawValue::get);
                let waiting = self.state().waiting.remove(id);
                let response = message.result.or(message.error);
                if let (Some(waiting), Some(response)) = (waiting, response) {
                    let _ = waiting.send(response.get().to_owned());
                }
            }
            (method, None) => self.notified(method, &message),
            ("subscriptions/listen", Some(id)) if self.revision.is_modern() => {
                self.state().subscriptions.push(id.get().to_owned());
                let filter = message.param("notifications").unwrap_or_default();
                let params = self.subscribed_params(&[("notifications", &filter)]);
                send(&notification(
                    "notifications/subscriptions/acknowledged",
                    &params,
                ));
                return After::Subscribed;
            }
            (method, Some(id)) => {
                if let Some(outcome) = self.respond(method, &message, send) {
                    let (name, value) = match &outcome {
                        Ok(result) => ("result", result),
                        Err(error) => ("error", error),
                    };
                    let id = id.get();
                    send(&format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"{name}":{value}}}"#
                    ));
                } else if self.is_cancelled_by_disconnection {
                    return After::WaitsForDisconnection;
                }
            }
        }
        After::Done
    }

    fn notified(&self, method: &str, message: &Message<'_>) {
        let mut state = self.state();
        if method == "notifications/cancelled" {
            // The end of a subscription is not counted.
            let id = message.param("requestId");
            if id.is_none_or(|id| !state.subscriptions.contains(&id)) {
                state.cancellations += 1;
            }
        } else {
            let params = message.params.map_or("", RawValue::get);
            state.received.push(format!("{method} {params}"));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Returns the outcome of a request, or `None` if it was cancelled, or waits for its cancellation.
    fn respond(
        &self,
        method: &str,
        message: &Message<'_>,
        send: &Send<'_>,
    ) -> Option<Result<String, String>> {
        let revision = self.revision;
        let echo = echo(message);
        let Some(result) = result(revision, method, &echo) else {
            return Some(Err(error(revision, -32601)));
        };
        let asks = revision.is_modern() && message.param("x-ask").is_some();
        if asks && message.param("inputResponses").is_none() {
            return Some(Ok(input_required(revision, &echo)));
        }
        if method != "tools/call" {
            return Some(Ok(result));
        }
        if message.param("task").is_some() {
            return Some(Ok(created_task(revision, &echo)));
        }
        let name = message.param("name").unwrap_or_default();
        let name = name.trim_matches('"');
        match name {
            "all" => self.report(message, send),
            "change" => self.change(),
            "fail" => return Some(Err(error(revision, -31999))),
            "url_required" => return Some(Err(error(revision, -32042))),
            "wait" => {
                // The client may cancel the call from now on.
                send(&notification("com.example/event", &self.params(&[])));
                if self.is_cancelled_by_disconnection {
                    return None;
                }
                drop(self.wait_for(|state| state.cancellations > 0));
                return None;
            }
            "cancellations" => {
                let count = self.wait_for(|state| state.cancellations > 0).cancellations;
                return Some(Ok(revision.object(&[(ALL, "x-count", &count.to_string())])));
            }
            "received" => {
                let count = message
                    .param("x-count")
                    .and_then(|count| count.parse().ok());
                let count = count.unwrap_or(0);
                let received = self.wait_for(|state| state.received.len() >= count);
                let received = serde_json::to_string(&received.received).unwrap_or_default();
                return Some(Ok(revision.object(&[(ALL, "x-received", &received)])));
            }
            _ => {}
        }
        if let Some((method, params)) = server_request(revision, name) {
            let mut response = if revision.is_modern() {
                match message.param("inputResponses") {
                    Some(responses) => response_of(&responses),
                    None => return Some(Ok(input_required_of(revision, &echo, name))),
                }
            } else {
                self.ask(method, &params, send)
            };
            if method == "ping" && response.starts_with('{') {
                // A ping checks one connection, so a proxy may respond by itself.
                response = "true".to_owned();
            }
            return Some(Ok(revision.object(&[
                (ALL, "x-response", &response),
                (ALL, "content", "[]"),
                (MODERN, "resultType", r#""complete""#),
            ])));
        }
        Some(Ok(result))
    }

    /// Sends progress, a log message and an unknown notification within a call.
    fn report(&self, message: &Message<'_>, send: &Send<'_>) {
        let token = progress_token(message).unwrap_or_default();
        for progress in ["0.0", "1e0"] {
            let params = self.params(&[
                ("total", "2.0"),
                ("message", r#""m é""#),
                ("progress", progress),
                ("progressToken", &token),
            ]);
            send(&notification("notifications/progress", &params));
        }
        let data = self.revision.object(&[]);
        let params = self.params(&[
            ("data", &data),
            ("logger", r#""l""#),
            ("level", r#""info""#),
        ]);
        send(&notification("notifications/message", &params));
        send(&notification("com.example/event", &self.params(&[])));
    }

    /// Sends every notification that belongs to no call.
    fn change(&self) {
        let revision = self.revision;
        for list in ["tools", "prompts", "resources"] {
            let method = format!("notifications/{list}/list_changed");
            (self.outside)(&notification(&method, &self.subscribed_params(&[])));
        }
        let uri = self.subscribed_params(&[("uri", r#""file:///a%20b""#)]);
        (self.outside)(&notification("notifications/resources/updated", &uri));
        if revision.is_in(&(3..=3)) {
            let task = crate::mirror::objects::task(revision, "completed");
            (self.outside)(&notification("notifications/tasks/status", &task));
            let id = self.params(&[("elicitationId", r#""e-1""#)]);
            (self.outside)(&notification("notifications/elicitation/complete", &id));
        }
        if !revision.is_modern() {
            let method = "com.example/session-event";
            (self.outside)(&notification(method, &self.params(&[])));
        }
    }

    /// Sends a request to the client and returns the text of its response.
    fn ask(&self, method: &str, params: &str, send: &Send<'_>) -> String {
        let (sender, response) = channel();
        let id = {
            let mut state = self.state();
            state.last_id += 1;
            let id = format!(r#""request-{}""#, state.last_id);
            state.waiting.insert(id.clone(), sender);
            id
        };
        send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        let response = response.recv_timeout(STEP_TIMEOUT);
        response.unwrap_or_else(|_| r#""no response""#.to_owned())
    }

    /// Returns the parameters of a notification.
    fn params(&self, members: &[(&str, &str)]) -> String {
        self.params_with(&self.revision.meta(), members)
    }

    /// Returns the parameters of a notification of the subscription, if there is one.
    fn subscribed_params(&self, members: &[(&str, &str)]) -> String {
        let subscription = self.state().subscriptions.last().cloned();
        let Some(subscription) = subscription else {
            return self.params(members);
        };
        let key = "io.modelcontextprotocol/subscriptionId";
        let meta = self.revision.object(&[
            (MODERN, key, &subscription),
            (ALL, "com.example/trace", r#""a/b""#),
        ]);
        self.params_with(&meta, members)
    }

    fn params_with(&self, meta: &str, members: &[(&str, &str)]) -> String {
        let members = members.iter().map(|(name, value)| (ALL, *name, *value));
        let mut members: Vec<_> = members.collect();
        members.insert(0, (ALL, "_meta", meta));
        self.revision.object(&members)
    }

    /// Waits until the state has changed as expected.
    fn wait_for(&self, is_ready: impl Fn(&State) -> bool) -> std::sync::MutexGuard<'_, State> {
        let waiting = self
            .changed
            .wait_timeout_while(self.state(), STEP_TIMEOUT, |state| !is_ready(state));
        waiting.unwrap_or_else(PoisonError::into_inner).0
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves on lines of text until the end of the input. Each request has a thread of its own.
pub fn serve_lines(
    revision: Revision,
    input: impl BufRead,
    output: impl Write + std::marker::Send + 'static,
) {
    let output = Arc::new(Mutex::new(output));
    let send = move |text: &str| {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        // The reader of the output may be gone.
        let _ = writeln!(output, "{text}");
        let _ = output.flush();
    };
    let session = Arc::new(Session::new(revision, send.clone()));
    for line in input.lines().map_while(Result::ok) {
        if !is_request(&line) {
            // Notifications keep their order.
            session.handle(&line, &send);
            continue;
        }
        let (session, send) = (Arc::clone(&session), send.clone());
        std::thread::spawn(move || session.handle(&line, &send));
    }
}

/// Returns `true` if a message needs a response.
pub(crate) fn is_request(text: &str) -> bool {
    let message: Result<Message<'_>, _> = serde_json::from_str(text);
    message.is_ok_and(|message| message.id.is_some() && message.method.is_some())
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

fn progress_token(message: &Message<'_>) -> Option<String> {
    let meta = message.param("_meta")?;
    let meta: HashMap<String, &RawValue> = serde_json::from_str(&meta).ok()?;
    Some(meta.get("progressToken")?.get().to_owned())
}

/// Returns the response to the only input request.
fn response_of(responses: &str) -> String {
    let responses: HashMap<String, &RawValue> = serde_json::from_str(responses).unwrap_or_default();
    let response = responses.into_values().next();
    response.map_or_else(|| "null".to_owned(), |response| response.get().to_owned())
}

/// Returns the parameters of a request. A proxy may replace a progress token by another one of the same type.
fn echo(message: &Message<'_>) -> String {
    let params = message.params.map_or("null", RawValue::get).to_owned();
    let Some(token) = progress_token(message) else {
        return params;
    };
    let kind = if token.starts_with('"') {
        "a text"
    } else {
        "a number"
    };
    params.replace(
        &format!(r#""progressToken":{token}"#),
        &format!(r#""progressToken":"{kind}""#),
    )
}
