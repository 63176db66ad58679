//! The queue of one outgoing stream, with a rule for each kind of message when the reader is slow.
//!
//! Responses, requests and other messages are never dropped and stay in order. Their producer checks
//! [`Outbox::is_full`] and waits. Notifications that report a state are reduced: only the newest progress of a token
//! remains, old log entries are dropped, and a pending change is not queued twice. This module does not wait or write.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use toolwire_types::ProgressToken;

/// The bytes that framing adds to a message. As an event these are `data: ` and two line ends.
const FRAME: usize = 8;

/// The limits of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a queue is measured in messages and bytes"
)]
pub struct OutboxLimits {
    /// The maximum number of messages.
    pub messages: usize,
    /// The maximum number of bytes of all messages.
    pub bytes: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self {
            messages: 256,
            bytes: 1024 * 1024,
        }
    }
}

/// The kind of an outgoing message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutgoingKind {
    /// A response: always accepted, never dropped.
    Response,
    /// A request: always accepted, never dropped.
    Request,
    /// Progress for this token.
    Progress(ProgressToken),
    /// A log entry. The oldest entries are dropped when the queue is full.
    Log,
    /// A list change. At most one per method and subscription is queued.
    ListChanged {
        /// The notification's method.
        method: Cow<'static, str>,
        /// The subscription it belongs to, if any.
        subscription: Option<String>,
    },
    /// A resource update. At most one per URI and subscription is queued.
    ResourceUpdated {
        /// The resource.
        uri: String,
        /// The subscription it belongs to, if any.
        subscription: Option<String>,
    },
    /// The state of a task. Only the latest per task and subscription is queued.
    TaskChanged {
        /// The id of the task.
        task: String,
        /// The subscription it belongs to, if any.
        subscription: Option<String>,
    },
    /// Responses that are already framed as lines: always accepted, never dropped.
    Lines {
        /// The number of responses.
        messages: usize,
    },
    /// Any other message: always accepted, never dropped.
    Other,
}

impl OutgoingKind {
    /// Returns `true` if one queued message of this kind stands for all.
    fn is_change(&self) -> bool {
        match self {
            Self::ListChanged { .. } | Self::ResourceUpdated { .. } | Self::TaskChanged { .. } => {
                true
            }
            Self::Response
            | Self::Request
            | Self::Progress(_)
            | Self::Log
            | Self::Lines { .. }
            | Self::Other => false,
        }
    }

    /// Returns the number of messages in one of this kind.
    fn messages(&self) -> usize {
        match self {
            Self::Lines { messages } => *messages,
            _ => 1,
        }
    }
}

/// An outgoing message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a message and its kind")]
pub struct Outgoing {
    /// The kind of the message.
    pub kind: OutgoingKind,
    /// The encoded message, without framing.
    pub bytes: Vec<u8>,
}

impl Outgoing {
    /// Creates a message of this kind.
    #[must_use]
    pub fn new(kind: OutgoingKind, bytes: Vec<u8>) -> Self {
        Self { kind, bytes }
    }
}

/// The numbers of messages that were dropped or merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Dropped {
    /// Log entries that were dropped.
    pub logs: u64,
    /// Progress that newer progress replaced.
    pub progress: u64,
    /// Changes that were merged with an earlier one.
    pub changes: u64,
}

impl Dropped {
    /// Returns the number of notifications that the reader does not get.
    fn lost(self) -> u64 {
        self.logs + self.progress
    }
}

/// The queue of one outgoing stream.
///
/// ```
/// use toolwire_proto::framing::encode_line;
/// use toolwire_proto::outbox::{Outbox, OutboxLimits, Outgoing, OutgoingKind};
///
/// let mut outbox = Outbox::new(OutboxLimits::default());
/// outbox.push(Outgoing::new(OutgoingKind::Response, b"{}".to_vec()));
/// let mut written = Vec::new();
/// assert_eq!(outbox.pop_all_into(&mut written, encode_line), 1);
/// assert_eq!(written, b"{}\n");
/// ```
#[derive(Debug)]
pub struct Outbox {
    limits: OutboxLimits,
    /// The messages in order. A dropped log entry leaves a gap.
    entries: VecDeque<Option<Outgoing>>,
    /// The number of entries removed from the front. Entry `n`, counted from the start, is `entries[n - removed]`.
    removed: u64,
    /// The entry numbers of queued changes.
    changes: HashMap<OutgoingKind, u64>,
    /// The entry numbers of queued log entries, oldest first.
    logs: VecDeque<u64>,
    messages: usize,
    bytes: usize,
    dropped: Dropped,
}

impl Outbox {
    /// Creates an empty queue.
    #[must_use]
    pub fn new(limits: OutboxLimits) -> Self {
        Self {
            limits,
            entries: VecDeque::new(),
            removed: 0,
            changes: HashMap::new(),
            logs: VecDeque::new(),
            messages: 0,
            bytes: 0,
            dropped: Dropped::default(),
        }
    }

    /// Adds a message, merges it with a queued one, or drops messages if its kind permits. Returns the number of
    /// notifications that the reader does not get because of it. Merged changes do not count.
    pub fn push(&mut self, outgoing: Outgoing) -> u64 {
        let lost = self.dropped.lost();
        match outgoing.kind {
            OutgoingKind::Progress(_) if self.exceeds_limits(&outgoing) => {
                if self.merge(outgoing) {
                    self.dropped.progress += 1;
                }
            }
            OutgoingKind::ListChanged { .. }
            | OutgoingKind::ResourceUpdated { .. }
            | OutgoingKind::TaskChanged { .. } => {
                if self.merge(outgoing) {
                    self.dropped.changes += 1;
                }
            }
            OutgoingKind::Log => {
                while self.exceeds_limits(&outgoing) && self.drop_oldest_log() {}
                if self.exceeds_limits(&outgoing) {
                    self.dropped.logs += 1;
                } else {
                    self.append(outgoing);
                }
            }
            OutgoingKind::Progress(_)
            | OutgoingKind::Response
            | OutgoingKind::Request
            | OutgoingKind::Lines { .. }
            | OutgoingKind::Other => self.append(outgoing),
        }
        self.dropped.lost() - lost
    }

    /// Removes and returns the next message.
    pub fn pop(&mut self) -> Option<Outgoing> {
        while let Some(entry) = self.entries.pop_front() {
            self.removed += 1;
            let Some(outgoing) = entry else { continue };
            self.messages -= outgoing.kind.messages();
            self.bytes -= outgoing.bytes.len();
            if outgoing.kind == OutgoingKind::Log {
                self.logs.pop_front();
            } else if outgoing.kind.is_change() {
                self.changes.remove(&outgoing.kind);
            }
            return Some(outgoing);
        }
        None
    }

    /// Removes all messages and appends them to `out`, framed by `encode` unless they are lines. Returns the number of
    /// messages.
    pub fn pop_all_into(
        &mut self,
        out: &mut Vec<u8>,
        mut encode: impl FnMut(&mut Vec<u8>, &[u8]),
    ) -> usize {
        let count = self.messages;
        if !self.is_only_lines() {
            out.reserve(self.bytes + count * FRAME);
        }
        self.removed += self.entries.len() as u64;
        for outgoing in self.entries.drain(..).flatten() {
            match outgoing.kind {
                OutgoingKind::Lines { .. } if out.is_empty() => *out = outgoing.bytes,
                OutgoingKind::Lines { .. } => out.extend_from_slice(&outgoing.bytes),
                _ => encode(out, &outgoing.bytes),
            }
        }
        self.changes.clear();
        self.logs.clear();
        self.messages = 0;
        self.bytes = 0;
        count
    }

    /// Returns `true` if the queue contains exactly one entry, which is already framed.
    fn is_only_lines(&self) -> bool {
        let only = match self.entries.front() {
            Some(Some(outgoing)) => matches!(outgoing.kind, OutgoingKind::Lines { .. }),
            _ => false,
        };
        only && self.entries.len() == 1
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> OutboxLimits {
        self.limits
    }

    /// Returns `true` if a producer that can wait should wait.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.messages >= self.limits.messages || self.bytes >= self.limits.bytes
    }

    /// Returns `true` if the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Returns the number of queued messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages
    }

    /// Returns the number of queued bytes, without framing.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns how many messages were dropped or merged so far.
    #[must_use]
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Returns `true` if the message exceeds the limits. An empty queue accepts any message, so that one over the byte
    /// limit can be sent.
    fn exceeds_limits(&self, outgoing: &Outgoing) -> bool {
        !self.is_empty()
            && (self.messages >= self.limits.messages
                || self.bytes.saturating_add(outgoing.bytes.len()) > self.limits.bytes)
    }

    /// Replaces the latest queued message of this kind, or appends the message. Returns `true` if it was merged.
    ///
    /// Replacing the latest message keeps the progress of a token in order.
    fn merge(&mut self, outgoing: Outgoing) -> bool {
        let Some(queued) = self.latest_queued(&outgoing.kind) else {
            self.append(outgoing);
            return false;
        };
        let replaced = std::mem::replace(&mut queued.bytes, outgoing.bytes);
        let added = queued.bytes.len();
        self.bytes = self.bytes - replaced.len() + added;
        true
    }

    fn latest_queued(&mut self, kind: &OutgoingKind) -> Option<&mut Outgoing> {
        if kind.is_change() {
            let number = *self.changes.get(kind)?;
            return self.entry(number)?.as_mut();
        }
        // Progress is merged only when the queue is full, and the replaced message is then near the end. A search is
        // cheaper than an index, which every notification would have to update.
        let mut from_the_end = self.entries.iter_mut().rev().flatten();
        from_the_end.find(|outgoing| outgoing.kind == *kind)
    }

    fn entry(&mut self, number: u64) -> Option<&mut Option<Outgoing>> {
        let index = usize::try_from(number.checked_sub(self.removed)?).ok()?;
        self.entries.get_mut(index)
    }

    fn append(&mut self, outgoing: Outgoing) {
        let number = self.removed + self.entries.len() as u64;
        self.messages += outgoing.kind.messages();
        self.bytes += outgoing.bytes.len();
        if outgoing.kind == OutgoingKind::Log {
            self.logs.push_back(number);
        } else if outgoing.kind.is_change() {
            self.changes.insert(outgoing.kind.clone(), number);
        }
        self.entries.push_back(Some(outgoing));
    }

    fn drop_oldest_log(&mut self) -> bool {
        let Some(number) = self.logs.pop_front() else {
            return false;
        };
        if let Some(log) = self.entry(number).and_then(Option::take) {
            self.messages -= 1;
            self.bytes -= log.bytes.len();
            self.dropped.logs += 1;
        }
        self.close_gaps();
        true
    }

    /// Limits the number of gaps in proportion to the messages, so that a stalled reader does not make them accumulate.
    fn close_gaps(&mut self) {
        const SPARE_GAPS: usize = 64;
        if self.entries.len() <= 2 * self.messages + SPARE_GAPS {
            return;
        }
        let entries = std::mem::take(&mut self.entries);
        self.changes.clear();
        self.logs.clear();
        self.messages = 0;
        self.bytes = 0;
        for outgoing in entries.into_iter().flatten() {
            self.append(outgoing);
        }
    }
}
