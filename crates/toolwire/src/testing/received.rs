//! A message that a scripted peer received, and the wait for it.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use serde_json::Value;

/// How long a script waits for the next message before the test fails: 10 s.
pub(super) const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// A request or notification that a scripted peer received.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReceivedMessage {
    /// The id of a request, or `null` for a notification.
    pub id: Value,
    /// The method of the message.
    pub method: String,
    /// The parameters with `_meta`, or `null` if the message has no parameters.
    pub params: Value,
    /// The message as received.
    pub text: String,
}

impl ReceivedMessage {
    /// Returns a member of `_meta`, or `null` if the member is missing.
    #[must_use]
    pub fn meta(&self, key: &str) -> &Value {
        &self.params["_meta"][key]
    }

    /// Reads a message, which must be a request, or a notification without an id, of this method.
    pub(super) fn read(text: String, method: &str, is_request: bool, at: &Location<'_>) -> Self {
        let kind = if is_request {
            "request"
        } else {
            "notification"
        };
        let mut message = parse(&text, at);
        let matches = message["method"] == method && message.get("id").is_some() == is_request;
        assert!(
            matches,
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
        Err(error) => panic!("received a message that is not JSON ({error}) at {at}:\n{text}"),
    }
}

/// Returns the result or the error object of a response.
pub(super) fn outcome(text: &str, id: &Value, at: &Location<'_>) -> Result<Value, Value> {
    let mut message = parse(text, at);
    assert!(
        message["id"] == *id && message.get("method").is_none(),
        "expected the response to {id} at {at}, but received:\n{text}"
    );
    match message.get_mut("error") {
        Some(error) => Err(error.take()),
        None => Ok(message["result"].take()),
    }
}

/// Waits for a message. Fails the test if none arrives in time.
pub(super) async fn receive_in_time(
    timeout: Duration,
    at: &Location<'_>,
    message: impl Future<Output = Option<String>>,
) -> String {
    match tokio::time::timeout(timeout, message).await {
        Ok(Some(message)) => message,
        Ok(None) => panic!("expected a message at {at}, but the peer disconnected"),
        Err(_) => panic!("expected a message at {at}, but nothing arrived within {timeout:?}"),
    }
}
