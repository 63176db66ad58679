//! Which messages of its mailbox a node has.

use std::collections::HashSet;

use crate::mailboxes::commands::{MessageCount, MessageId, message_id};
use crate::subscriber::WakeUpMessage;

/// Which messages of its mailbox a node has.
#[derive(Debug)]
pub(super) struct Position {
    /// The number of the next message.
    next: u64,
    /// The id of the last message that this node has.
    last_id: Option<MessageId>,
    /// The messages that this node has since the last read began, and that the engine stores until the next read.
    taken: MessageCount,
    /// Their ids.
    taken_ids: HashSet<MessageId>,
}

/// What the message of a wake-up is for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeUpKind {
    /// The next message.
    Next,
    /// A message that the node has already, because a read was faster than the wake-up.
    Taken,
    /// Messages before this one were not received, or a failover has lost some of them.
    Other,
}

impl Position {
    pub(super) fn new() -> Self {
        Self {
            next: 1,
            last_id: None,
            taken: MessageCount::default(),
            taken_ids: HashSet::new(),
        }
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn last_id(&self) -> Option<&MessageId> {
        self.last_id.as_ref()
    }

    pub(super) fn taken(&self) -> MessageCount {
        self.taken
    }

    pub(super) fn kind_of(&self, wake_up: &WakeUpMessage) -> WakeUpKind {
        let is_taken = || {
            let id = message_id(&wake_up.stored);
            id.is_some_and(|id| self.taken_ids.contains(&id))
        };
        if wake_up.number < self.next && is_taken() {
            return WakeUpKind::Taken;
        }
        // After a failover, the number alone can be that of another message: some before it were lost, and others added.
        let last_id = self.last_id.as_ref().map_or(&[][..], |id| id);
        if wake_up.number == self.next && wake_up.previous_id == last_id {
            WakeUpKind::Next
        } else {
            WakeUpKind::Other
        }
    }

    /// Notes that a read has succeeded, which has removed the messages from the engine.
    pub(super) fn begin_read(&mut self) {
        self.taken = MessageCount::default();
        self.taken_ids.clear();
    }

    /// Notes that this node has the next message.
    pub(super) fn take(&mut self, stored: &[u8]) {
        self.taken.messages += 1;
        self.taken.bytes += stored.len();
        self.next += 1;
        self.last_id = message_id(stored);
        self.taken_ids.extend(self.last_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a stored message whose id consists of this letter.
    fn stored(id: u8) -> Vec<u8> {
        [&[id; 16][..], b"message"].concat()
    }

    fn wake_up(number: u64, previous: Option<u8>, id: u8) -> WakeUpMessage {
        WakeUpMessage {
            number,
            previous_id: previous.map(|id| vec![id; 16]).unwrap_or_default(),
            stored: stored(id),
        }
    }

    #[test]
    fn wake_ups_are_compared_with_the_last_message() {
        let mut position = Position::new();
        let first = wake_up(1, None, b'a');
        assert_eq!(position.kind_of(&first), WakeUpKind::Next);
        assert_eq!(
            position.kind_of(&wake_up(1, Some(b'x'), b'a')),
            WakeUpKind::Other
        );
        position.take(&first.stored);
        for (wake_up, expected) in [
            (first, WakeUpKind::Taken),
            (wake_up(2, Some(b'a'), b'b'), WakeUpKind::Next),
            // One message was lost.
            (wake_up(3, Some(b'b'), b'c'), WakeUpKind::Other),
            // A failover has lost the first message, and others have its number and the next one.
            (wake_up(1, None, b'x'), WakeUpKind::Other),
            (wake_up(2, Some(b'x'), b'b'), WakeUpKind::Other),
        ] {
            assert_eq!(position.kind_of(&wake_up), expected, "{wake_up:?}");
        }
    }

    #[test]
    fn read_messages_are_known_until_the_next_read() {
        let mut position = Position::new();
        position.begin_read();
        position.take(&stored(b'a'));
        position.take(&stored(b'b'));
        let late = wake_up(1, None, b'a');
        assert_eq!(position.kind_of(&late), WakeUpKind::Taken);
        assert_eq!(position.taken().messages, 2);
        position.begin_read();
        assert_eq!(position.kind_of(&late), WakeUpKind::Other);
        assert_eq!(position.taken().messages, 0);
    }
}
