//! Answers that leave together: those of the requests that were read in one go.

use toolwire_proto::framing::encode_line;
use toolwire_types::RequestId;

use crate::transport::out_stream::{Capacity, OutgoingQueue};

/// So many bytes are not held back any longer, though more are to come.
const FLUSH_BYTES: usize = 32 * 1024;

/// Answers that wait for the end of what is being read.
#[derive(Debug, Default)]
pub(super) struct ResponseBuffer {
    /// One line for each.
    lines: Vec<u8>,
    /// Whose they are, and where they end.
    answers: Vec<(RequestId, usize)>,
    /// What the queue has room for.
    room: Capacity,
    /// About how long the lines are in the end.
    usual: usize,
}

impl ResponseBuffer {
    /// Whether one more answer can be held, or pushed past them. False until somebody has looked at the queue.
    pub(super) fn has_room(&self) -> bool {
        self.room.messages > 0 && self.lines.len() < self.room.bytes.min(FLUSH_BYTES)
    }

    /// How much room the queue was found to have.
    pub(super) fn set_room(&mut self, room: Capacity) {
        self.room = room;
    }

    pub(super) fn push(&mut self, id: RequestId, message: &[u8]) {
        if self.lines.is_empty() {
            self.lines.reserve(self.usual);
        }
        encode_line(&mut self.lines, message);
        self.answers.push((id, self.lines.len()));
        self.room.messages = self.room.messages.saturating_sub(1);
    }

    /// Takes back the answers to requests with this id: it was cancelled before anybody has seen them.
    pub(super) fn remove(&mut self, id: &RequestId) {
        if !self.answers.iter().any(|(answered, _)| answered == id) {
            return;
        }
        let lines = std::mem::take(&mut self.lines);
        let mut start = 0;
        for (answered, end) in std::mem::take(&mut self.answers) {
            if answered != *id {
                self.lines.extend_from_slice(&lines[start..end]);
                self.answers.push((answered, self.lines.len()));
            }
            start = end;
        }
    }

    /// Queues what is held, without waking the writer.
    pub(super) fn flush_to(&mut self, out: &OutgoingQueue) {
        if self.answers.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut self.lines);
        self.usual = lines.len().max(self.usual / 2);
        self.room.bytes = self.room.bytes.saturating_sub(lines.len());
        out.push_lines(lines, self.answers.drain(..).map(|(_, end)| end));
    }

    /// Queues a message behind what is held, without waking the writer.
    pub(super) fn push_past(&mut self, out: &OutgoingQueue, message: Vec<u8>) {
        self.flush_to(out);
        self.room.messages = self.room.messages.saturating_sub(1);
        self.room.bytes = self.room.bytes.saturating_sub(message.len());
        out.push_silent(message);
    }
}

#[cfg(test)]
mod tests {
    use toolwire_proto::outbox::OutboxLimits;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_was_withdrawn_leaves_the_others() {
        let mut held = ResponseBuffer::default();
        for (id, message) in [(1, "one"), (2, "two"), (1, "one more"), (3, "three")] {
            held.push(id.into(), message.as_bytes());
        }
        held.remove(&1.into());
        held.remove(&7.into());
        let out = OutgoingQueue::new(OutboxLimits::default());
        held.flush_to(&out);
        out.close();
        assert_eq!(out.next().await.unwrap(), b"two");
        assert_eq!(out.next().await.unwrap(), b"three");
        assert_eq!(out.next().await, None);
    }

    #[test]
    fn no_more_is_held_than_the_queue_has_room_for() {
        let mut held = ResponseBuffer::default();
        assert!(!held.has_room());
        let (messages, bytes) = (2, 100);
        held.set_room(Capacity { messages, bytes });
        held.push(1.into(), b"small");
        assert!(held.has_room());
        held.push(2.into(), b"small");
        assert!(!held.has_room());

        let (messages, bytes) = (9, usize::MAX);
        held.set_room(Capacity { messages, bytes });
        assert!(held.has_room());
        held.push(3.into(), &vec![b'x'; FLUSH_BYTES]);
        assert!(!held.has_room());

        held.set_room(Capacity {
            messages,
            bytes: 50,
        });
        let out = OutgoingQueue::new(OutboxLimits::default());
        held.push_past(&out, vec![b'x'; 49]);
        assert!(!held.has_room());
    }
}
