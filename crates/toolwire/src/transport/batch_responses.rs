//! The responses of a batch, until all of its requests have ended.
//!
//! They are sent as one message, so they are in memory together. A short batch can request the same long result many times,
//! so their bytes are limited. A request whose response does not fit gets an error, and the requests after it are not
//! started.

use std::fmt;
use std::sync::{Arc, Mutex};

use toolwire_proto::requests::overloaded_error;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::engine::encoding::encode_error;
use crate::sync::lock;

/// Counts the bytes of the responses of one batch. They are released on drop.
pub(crate) trait ResponseByteBudget: fmt::Debug + Send {
    /// Counts bytes. Returns `false` and counts nothing if they do not fit.
    fn try_grow(&mut self, bytes: usize) -> bool;
}

/// The responses of one batch. Its requests add them while they run.
#[derive(Debug)]
pub(crate) struct BatchResponses(Mutex<CollectedResponses>);

#[derive(Debug)]
struct CollectedResponses {
    messages: Vec<Vec<u8>>,
    budget: Box<dyn ResponseByteBudget>,
    /// Whether a response did not fit.
    is_full: bool,
}

impl BatchResponses {
    pub(crate) fn new(budget: impl ResponseByteBudget + 'static) -> Arc<Self> {
        Arc::new(Self(Mutex::new(CollectedResponses {
            messages: Vec::new(),
            budget: Box::new(budget),
            is_full: false,
        })))
    }

    /// Rejects a request that has not started if a response before did not fit.
    pub(crate) fn check_capacity(&self) -> Result<(), ErrorObject> {
        if lock(&self.0).is_full {
            Err(too_large())
        } else {
            Ok(())
        }
    }

    /// Adds the response of a request that had no handler. If it does not fit, the client may send the request again.
    pub(crate) fn add(&self, id: &RequestId, message: Vec<u8>) {
        self.add_or_error(id, message, too_large);
    }

    /// Adds the response of a handler. If it does not fit, the client learns that the request was processed.
    pub(crate) fn add_of_handler(&self, id: &RequestId, message: Vec<u8>) {
        self.add_or_error(id, message, || {
            ErrorObject::internal(
                "the request was processed, but the responses of the batch are too large together",
            )
        });
    }

    /// Adds the error of a message that was not processed. It always fits, because it is about as long as the message.
    pub(crate) fn add_error(&self, id: ResponseId, error: ErrorObject) {
        lock(&self.0).messages.push(encode_error(id, error));
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).messages.is_empty()
    }

    /// Takes the responses as one JSON array. Returns `None` if no request has a response. Its bytes are counted until
    /// `self` is dropped.
    pub(crate) fn take_array(&self) -> Option<Vec<u8>> {
        let messages = std::mem::take(&mut lock(&self.0).messages);
        (!messages.is_empty()).then(|| array(messages))
    }

    fn add_or_error(&self, id: &RequestId, message: Vec<u8>, error: impl FnOnce() -> ErrorObject) {
        let mut collected = lock(&self.0);
        if collected.budget.try_grow(message.len()) {
            return collected.messages.push(message);
        }
        collected.is_full = true;
        drop(collected);
        self.add_error(ResponseId::Id(id.clone()), error());
    }
}

fn too_large() -> ErrorObject {
    overloaded_error("the responses of the batch are too large together")
}

/// Encodes messages as one JSON array. Each message is freed once it is copied.
pub(crate) fn array(messages: Vec<Vec<u8>>) -> Vec<u8> {
    let length: usize = messages.iter().map(|message| message.len() + 1).sum();
    let mut bytes = Vec::with_capacity(length + 2);
    bytes.push(b'[');
    for (index, message) in messages.into_iter().enumerate() {
        if index > 0 {
            bytes.push(b',');
        }
        bytes.extend_from_slice(&message);
    }
    bytes.push(b']');
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A budget with this number of free bytes.
    #[derive(Debug)]
    struct FreeBytes(usize);

    impl ResponseByteBudget for FreeBytes {
        fn try_grow(&mut self, bytes: usize) -> bool {
            let left = self.0.checked_sub(bytes);
            self.0 = left.unwrap_or(self.0);
            left.is_some()
        }
    }

    fn response(id: i64) -> Vec<u8> {
        let response = json!({"jsonrpc": "2.0", "id": id, "result": {"text": "x".repeat(100)}});
        response.to_string().into_bytes()
    }

    fn taken(responses: &BatchResponses) -> Value {
        serde_json::from_slice(&responses.take_array().unwrap()).unwrap()
    }

    #[test]
    fn response_beyond_the_limit_is_an_error_with_the_id_of_its_request() {
        let length = response(1).len();
        let responses = BatchResponses::new(FreeBytes(3 * length));
        for id in 1..=3 {
            responses.add(&id.into(), response(id));
            assert!(responses.check_capacity().is_ok(), "{id}");
        }
        responses.add(&4.into(), b"{}".to_vec());
        assert!(responses.check_capacity().is_err());
        responses.add_of_handler(&"five".into(), response(5));
        responses.add_error(ResponseId::Null, ErrorObject::invalid_request("unreadable"));
        let taken = taken(&responses);
        let ids: Vec<_> = taken
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["id"])
            .collect();
        assert_eq!(json!(ids), json!([1, 2, 3, 4, "five", null]));
        assert_eq!(taken[2]["result"]["text"], "x".repeat(100));
        assert_eq!(taken[3]["error"]["data"]["reason"], "overloaded");
        // It must not be sent again without thought.
        assert_eq!(taken[4]["error"]["code"], -32603);
        assert_eq!(taken[4]["error"].get("data"), None);
        assert!(responses.is_empty());
    }

    #[test]
    fn response_one_byte_beyond_the_limit_does_not_fit() {
        let length = response(1).len();
        for (free, fits) in [(length, true), (length - 1, false)] {
            let responses = BatchResponses::new(FreeBytes(free));
            responses.add(&1.into(), response(1));
            assert_eq!(taken(&responses)[0].get("result").is_some(), fits, "{free}");
        }
    }

    #[test]
    fn array_has_exactly_the_reserved_length() {
        assert_eq!(array(vec![]), b"[]");
        let bytes = array(vec![b"1".to_vec(), b"22".to_vec()]);
        assert_eq!(bytes, b"[1,22]");
        assert!(bytes.capacity() <= bytes.len() + 1);
    }
}
