//! Values that a server creates and the client sends back: states, cursors and task ids. Each run has its own.

use serde_json::Value;

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ServerValue {
    State,
    Cursor,
    TaskId,
}

/// The places of new values in the response of a server, as JSON pointers.
const CREATED: [(&str, ServerValue); 4] = [
    ("/result/requestState", ServerValue::State),
    ("/result/nextCursor", ServerValue::Cursor),
    // In 2026-07-28.
    ("/result/taskId", ServerValue::TaskId),
    // In 2025-11-25.
    ("/result/task/taskId", ServerValue::TaskId),
];

/// The places of such values in the messages of a client.
const SENT_BACK: [(&str, ServerValue); 5] = [
    ("/params/requestState", ServerValue::State),
    ("/params/cursor", ServerValue::Cursor),
    ("/params/taskId", ServerValue::TaskId),
    (
        "/params/_meta/io.modelcontextprotocol~1related-task/taskId",
        ServerValue::TaskId,
    ),
    (
        "/result/_meta/io.modelcontextprotocol~1related-task/taskId",
        ServerValue::TaskId,
    ),
];

/// A value in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlacedValue<'a> {
    pub(super) kind: ServerValue,
    /// The place as a JSON pointer.
    pub(super) pointer: &'static str,
    pub(super) text: &'a str,
}

/// Returns the values that a response of a server creates.
pub(super) fn created(response: &Value) -> impl Iterator<Item = PlacedValue<'_>> {
    placed(&CREATED, response)
}

/// Returns the values that a message of a client sends back.
pub(super) fn sent_back(message: &Value) -> impl Iterator<Item = PlacedValue<'_>> {
    placed(&SENT_BACK, message)
}

fn placed<'a>(
    places: &'static [(&'static str, ServerValue)],
    message: &'a Value,
) -> impl Iterator<Item = PlacedValue<'a>> {
    places.iter().filter_map(|(pointer, kind)| {
        let text = message.pointer(pointer)?.as_str()?;
        Some(PlacedValue {
            kind: *kind,
            pointer,
            text,
        })
    })
}

/// Returns `true` for the status of a task that has not ended and waits for nothing. How often a client sees it depends on
/// the time.
pub(super) fn is_working(response: &Value) -> bool {
    response["result"]["status"] == "working"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_at_places_of_the_protocol_only() {
        let result = json!({"result": {
            "task": {"taskId": "a"},
            "nextCursor": "b",
            "structuredContent": {"taskId": "c", "nextCursor": "d"},
        }});
        let found: Vec<&str> = created(&result).map(|value| value.text).collect();
        assert_eq!(found, ["b", "a"]);
        let request = json!({"params": {"cursor": "b", "arguments": {"cursor": "e"}}});
        let found: Vec<PlacedValue<'_>> = sent_back(&request).collect();
        let expected = PlacedValue {
            kind: ServerValue::Cursor,
            pointer: "/params/cursor",
            text: "b",
        };
        assert_eq!(found, [expected]);
    }
}
