//! Collects the responses of the requests that were read together, so that they are written together.

use toolwire_proto::framing::encode_line;
use toolwire_types::RequestId;

use crate::transport::outgoing_queue::{Capacity, OutgoingQueue};

/// The size at which buffered responses are queued, even if more requests of the chunk follow.
const FLUSH_BYTES: usize = 32 * 1024;

/// The responses to requests of the current chunk.
#[derive(Debug, Default)]
pub(super) struct ResponseBuffer {
    /// One line per response.
    lines: Vec<u8>,
    /// The id of each response, and the end of its line.
    responses: Vec<(RequestId, usize)>,
    /// The remaining capacity of the queue.
    capacity: Capacity,
    /// The usual size of the lines, to reserve memory.
    usual_bytes: usize,
}

impl ResponseBuffer {
    /// Returns `true` if one more response can be buffered or queued. Returns `false` until the capacity is set.
    pub(super) fn has_capacity(&self) -> bool {
        self.capacity.messages > 0 && self.lines.len() < self.capacity.bytes.min(FLUSH_BYTES)
    }

    /// Sets the remaining capacity of the queue.
    pub(super) fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    pub(super) fn push(&mut self, id: RequestId, message: &[u8]) {
        if self.lines.is_empty() {
            self.lines.reserve(self.usual_bytes);
        }
        encode_line(&mut self.lines, message);
        self.responses.push((id, self.lines.len()));
        self.capacity.messages = self.capacity.messages.saturating_sub(1);
    }

    /// Removes the responses to requests with this id, which was cancelled before they were written.
    pub(super) fn remove(&mut self, id: &RequestId) {
        if !self.responses.iter().any(|(other, _)| other == id) {
            return;
        }
        let lines = std::mem::take(&mut self.lines);
        let mut start = 0;
        for (other, end) in std::mem::take(&mut self.responses) {
            if other != *id {
                self.lines.extend_from_slice(&lines[start..end]);
                self.responses.push((other, self.lines.len()));
            }
            start = end;
        }
    }

    /// Queues the buffered responses without waking the writer.
    pub(super) fn flush_to(&mut self, out: &OutgoingQueue) {
        if self.responses.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut self.lines);
        self.usual_bytes = lines.len().max(self.usual_bytes / 2);
        self.capacity.bytes = self.capacity.bytes.saturating_sub(lines.len());
        out.push_lines(lines, self.responses.drain(..).map(|(_, end)| end));
    }

    /// Queues a message after the buffered responses without waking the writer.
    pub(super) fn flush_and_push(&mut self, out: &OutgoingQueue, message: Vec<u8>) {
        self.flush_to(out);
        self.capacity.messages = self.capacity.messages.saturating_sub(1);
        self.capacity.bytes = self.capacity.bytes.saturating_sub(message.len());
        out.push_without_wake(message);
    }
}

#[cfg(test)]
mod tests {
    use toolwire_proto::outbox::OutboxLimits;

    use super::*;

    #[tokio::test]
    async fn removed_response_leaves_the_others() {
        let mut buffer = ResponseBuffer::default();
        for (id, message) in [(1, "one"), (2, "two"), (1, "one more"), (3, "three")] {
            buffer.push(id.into(), message.as_bytes());
        }
        buffer.remove(&1.into());
        buffer.remove(&7.into());
        let out = OutgoingQueue::new(OutboxLimits::default());
        buffer.flush_to(&out);
        out.close();
        assert_eq!(out.next().await.unwrap(), b"two");
        assert_eq!(out.next().await.unwrap(), b"three");
        assert_eq!(out.next().await, None);
    }

    #[test]
    fn buffer_respects_the_capacity_of_the_queue() {
        let mut buffer = ResponseBuffer::default();
        assert!(!buffer.has_capacity());
        let (messages, bytes) = (2, 100);
        buffer.set_capacity(Capacity { messages, bytes });
        buffer.push(1.into(), b"small");
        assert!(buffer.has_capacity());
        buffer.push(2.into(), b"small");
        assert!(!buffer.has_capacity());

        let (messages, bytes) = (9, usize::MAX);
        buffer.set_capacity(Capacity { messages, bytes });
        assert!(buffer.has_capacity());
        buffer.push(3.into(), &vec![b'x'; FLUSH_BYTES]);
        assert!(!buffer.has_capacity());

        buffer.set_capacity(Capacity {
            messages,
            bytes: 50,
        });
        let out = OutgoingQueue::new(OutboxLimits::default());
        buffer.flush_and_push(&out, vec![b'x'; 49]);
        assert!(!buffer.has_capacity());
    }
}
