//! The messages and other items that wait for the host page.

use serde_json::{Value, json};
use toolwire::RawJson;

/// The maximum number of items that wait for the host page. A page that does not fetch them is closed.
const MAX_ITEMS: usize = 1024;

/// The maximum size in bytes of all messages that wait for the host page.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// A queue of items for the host page.
#[derive(Debug)]
pub(super) struct ItemQueue {
    items: Vec<Value>,
    /// The size of the messages among the items.
    bytes: usize,
    max_items: usize,
    max_bytes: usize,
}

impl ItemQueue {
    pub(super) fn new() -> Self {
        Self::within(MAX_ITEMS, MAX_BYTES)
    }

    fn within(max_items: usize, max_bytes: usize) -> Self {
        Self {
            items: Vec::new(),
            bytes: 0,
            max_items,
            max_bytes,
        }
    }

    /// Adds a message for the view.
    pub(super) fn push_message(&mut self, message: &RawJson) {
        self.bytes += message.get().len();
        let message = message.to_value().unwrap_or_default();
        self.push(json!({ "message": message }));
    }

    /// Adds an item for the host page itself.
    pub(super) fn push(&mut self, item: Value) {
        self.items.push(item);
    }

    /// Returns `true` if the page has not fetched its items for too long.
    pub(super) fn is_over_limit(&self) -> bool {
        self.items.len() > self.max_items || self.bytes > self.max_bytes
    }

    /// Removes all items and returns them.
    pub(super) fn take(&mut self) -> Vec<Value> {
        self.bytes = 0;
        std::mem::take(&mut self.items)
    }

    pub(super) fn clear(&mut self) {
        drop(self.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a message of this many bytes.
    fn message(bytes: usize) -> RawJson {
        let text = format!("\"{}\"", "a".repeat(bytes - 2));
        RawJson::from_string(text).expect("a string is JSON")
    }

    #[test]
    fn number_of_items_is_limited() {
        let mut queue = ItemQueue::new();
        for height in 0..MAX_ITEMS {
            queue.push(json!({ "height": height }));
        }
        assert!(!queue.is_over_limit());
        queue.push(json!({ "link": "https://example.com" }));
        assert!(queue.is_over_limit());
        assert_eq!(queue.take().len(), MAX_ITEMS + 1);
        assert!(!queue.is_over_limit());
    }

    #[test]
    fn bytes_of_messages_are_limited() {
        let mut queue = ItemQueue::within(MAX_ITEMS, 100);
        queue.push_message(&message(60));
        queue.push_message(&message(40));
        // Other items are small, and limited by their number.
        queue.push(json!({ "height": 1 }));
        assert!(!queue.is_over_limit());
        queue.push_message(&message(2));
        assert!(queue.is_over_limit());
        queue.clear();
        queue.push_message(&message(100));
        assert!(!queue.is_over_limit());
        assert_eq!(queue.take().len(), 1);
        queue.push_message(&message(101));
        assert!(queue.is_over_limit());
        // The default limit is that of the documentation.
        assert_eq!(ItemQueue::new().max_bytes, 64 * 1024 * 1024);
    }
}
