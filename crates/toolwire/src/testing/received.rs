//! One message a scripted peer received, and the wait for it.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use serde_json::Value;

/// How long a script waits for the next message before the test fails. 10 s.
pub(super) const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// A request or notification that a scripted peer received.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReceivedMessage {
    /// The id of a request; `null` for a notification.
    pub id: Value,
    /// The method.
    pub method: String,
    /// The parameters with their `_meta`; `null` when there are none.
    pub params: Value,
    /// The message as it came over the wire.
    pub text: String,
}

impl ReceivedMessage {
    /// A member of `_meta`; `null` when there is none.
    #[must_use]
    pub fn meta(&self, key: &str) -> &Value {
        &self.params["_meta"][key]
    }

    /// Reads a message that must be a request (or, without an id, a notification) of this method.
    pub(super) fn read(text: String, method: &str, is_request: bool, at: &Location<'_>) -> Self {
        let kind = match is_request {
            true => "request",
            false => "notification",
        };
        let mut message = parse(&text, at);
        let fits = message["method"] == method && message.get("id").is_some() == is_request;
        assert!(
            fits,
            "expected the {kind} {method:?} at {at}, but received:\n{text}"
        );
        Self {
            id: message["id"].take(),
            method: method.to_owned(),
            params: message["params"].take(),
            text,
        }
    }
}

impl fmt::Display for ReceivedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(super) fn parse(text: &str, at: &Location<'_>) -> Value {
    match serde_json::from_str(text) {
        Ok(message) => message,
        Err(error) => panic!("a message that is no JSON ({error}) at {at}:\n{text}"),
    }
}

/// Takes an answer apart: the result, or the error object.
pub(super) fn outcome(text: &str, id: &Value, at: &Location<'_>) -> Result<Value, Value> {
    let mut message = parse(text, at);
    assert!(
        message["id"] == *id && message.get("method").is_none(),
        "expected the answer to {id} at {at}, but received:\n{text}"
    );
    match message.get_mut("error") {
        Some(error) => Err(error.take()),
        None => Ok(message["result"].take()),
    }
}

/// Waits for a message; the test fails when none comes.
pub(super) async fn receive_in_time(
    patience: Duration,
    at: &Location<'_>,
    message: impl Future<Output = Option<String>>,
) -> String {
    match tokio::time::timeout(patience, message).await {
        Ok(Some(message)) => message,
        Ok(None) => panic!("expected a message at {at}, but the other side hung up"),
        Err(_) => panic!("expected a message at {at}, but nothing came within {patience:?}"),
    }
}
