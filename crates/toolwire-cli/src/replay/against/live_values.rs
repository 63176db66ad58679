//! The values of the server under comparison that stand for those of the record.

use std::collections::HashMap;

use serde_json::Value;

use crate::record::is_redacted;
use crate::replay::server_values::{ServerValue, created, sent_back};

/// The values of a server by their recorded text.
///
/// Two connections may have equal recorded values, for example the cursors of different lists. A value of the connection
/// itself therefore takes precedence. A client may also send back a value of an earlier connection, such as a task id.
#[derive(Debug, Default)]
pub(super) struct LiveValues {
    /// The values of this connection.
    own: ValueMap,
    /// The values of the connections before, the latest of equal ones.
    earlier: ValueMap,
}

/// Values of a server by their recorded text. `None` stands for a value that the server did not create.
type ValueMap = HashMap<(ServerValue, String), Option<Value>>;

/// A message sends back a value that the server does not have.
#[derive(Debug, PartialEq)]
pub(super) struct MissingValue;

impl LiveValues {
    /// Returns the values for the next connection, which has none of its own yet.
    pub(super) fn for_next_connection(self) -> Self {
        let mut earlier = self.earlier;
        earlier.extend(self.own);
        Self {
            own: ValueMap::new(),
            earlier,
        }
    }

    /// Stores what the server created instead of the values of the record. `received` is its response, if it sent one.
    pub(super) fn store(&mut self, recorded: &Value, received: Option<&Value>) {
        for value in created(recorded) {
            let live = received.and_then(|response| response.pointer(value.pointer));
            let key = (value.kind, value.text.to_owned());
            match live.filter(|live| live.is_string()) {
                Some(live) => {
                    self.own.insert(key, Some(live.clone()));
                }
                None => {
                    self.own.entry(key).or_insert(None);
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
            let key = (value.kind, value.text.to_owned());
            match self.own.get(&key).or_else(|| self.earlier.get(&key)) {
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
    fn value_of_the_connection_itself_takes_precedence() {
        let created = |id: &str| json!({"result": {"taskId": id}});
        let sent = |values: &LiveValues, id: &str| {
            let mut request = json!({"params": {"taskId": id}});
            values.replace_in(&mut request).unwrap();
            request["params"]["taskId"].clone()
        };
        let mut values = LiveValues::default();
        values.store(&created("recorded"), Some(&created("first")));
        values.store(&created("other"), Some(&created("second")));
        let mut values = values.for_next_connection();
        // A task of an earlier connection is found.
        assert_eq!(sent(&values, "recorded"), "first");
        values.store(&created("recorded"), Some(&created("third")));
        assert_eq!(sent(&values, "recorded"), "third");
        assert_eq!(sent(&values, "other"), "second");
        let values = values.for_next_connection();
        assert_eq!(sent(&values, "recorded"), "third");
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
