//! The values of the server under comparison that stand for those of the record.

use std::collections::HashMap;

use serde_json::Value;

use crate::record::is_redacted;
use crate::replay::server_values::{ServerValue, created, sent_back};

/// The values of a server by their recorded text. `None` stands for a value that the server did not create.
#[derive(Debug, Default)]
pub(super) struct LiveValues(HashMap<(ServerValue, String), Option<Value>>);

/// A message sends back a value that the server does not have.
#[derive(Debug, PartialEq)]
pub(super) struct MissingValue;

impl LiveValues {
    /// Stores what the server created instead of the values of the record. `received` is its response, if it sent one.
    pub(super) fn store(&mut self, recorded: &Value, received: Option<&Value>) {
        for value in created(recorded) {
            let live = received.and_then(|response| response.pointer(value.pointer));
            let key = (value.kind, value.text.to_owned());
            match live.filter(|live| live.is_string()) {
                Some(live) => {
                    self.0.insert(key, Some(live.clone()));
                }
                None => {
                    self.0.entry(key).or_insert(None);
                }
            }
        }
    }

    /// Replaces the recorded values in a message of the client. A value from outside the record stays.
    ///
    /// # Errors
    /// Returns an error if the server did not create a value, or if the value was redacted.
    pub(super) fn replace_in(&self, message: &mut Value) -> Result<(), MissingValue> {
        let mut replaced = Vec::new();
        for value in sent_back(message) {
            match self.0.get(&(value.kind, value.text.to_owned())) {
                Some(Some(live)) => replaced.push((value.pointer, live.clone())),
                Some(None) => return Err(MissingValue),
                None if is_redacted(value.text) => return Err(MissingValue),
                None => {}
            }
        }
        for (pointer, live) in replaced {
            if let Some(place) = message.pointer_mut(pointer) {
                *place = live;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_the_record_are_replaced() {
        let mut values = LiveValues::default();
        let created = |id: &str| json!({"result": {"task": {"taskId": id}, "nextCursor": id}});
        values.store(&created("recorded"), Some(&created("live")));
        let request = |task: &str, cursor: &str| json!({"method": "tasks/get", "params": {"taskId": task, "cursor": cursor, "arguments": {"cursor": "recorded"}}});
        let mut sent = request("recorded", "recorded");
        values.replace_in(&mut sent).unwrap();
        assert_eq!(sent, request("live", "live"));
        // An id from outside the record stays.
        let mut sent = request("other", "recorded");
        values.replace_in(&mut sent).unwrap();
        assert_eq!(sent, request("other", "live"));
        // A later response without the value changes nothing.
        values.store(&created("recorded"), Some(&json!({"error": {}})));
        values
            .replace_in(&mut request("recorded", "recorded"))
            .unwrap();
    }

    #[test]
    fn value_that_the_server_did_not_create_is_missing() {
        let mut values = LiveValues::default();
        values.store(&json!({"result": {"taskId": "recorded"}}), None);
        let mut request = json!({"params": {"taskId": "recorded"}});
        assert_eq!(values.replace_in(&mut request), Err(MissingValue));
        let mut request = json!({"params": {"requestState": "[redacted 1 bytes sha256:aaaa]"}});
        assert_eq!(values.replace_in(&mut request), Err(MissingValue));
    }
}
