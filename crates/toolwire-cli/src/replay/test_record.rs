//! Records for tests.

use serde_json::{Value, json};

use crate::record::{Header, Record, RecordedMessage};

/// Returns a record of one connection. `true` is a message of the client.
pub(super) fn record(messages: &[(bool, Value)]) -> Record {
    let header: Header = serde_json::from_value(json!({
        "format": "mcplog", "version": 1, "began": "", "tool": "", "redacted": ["x"], "target": "stdio",
    }))
    .unwrap();
    let messages = messages.iter().map(|(is_sent, body)| RecordedMessage {
        connection: 1,
        is_sent: *is_sent,
        exchange: None,
        text: body.to_string(),
        body: body.clone(),
    });
    Record {
        header,
        messages: messages.collect(),
        warning: None,
    }
}
