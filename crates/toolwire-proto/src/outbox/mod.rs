//! The queue of one outgoing stream, with a rule for each kind of message when the reader is slow.
//!
//! Responses, requests and other messages are never lost and keep their order; whoever produces them asks
//! [`Outbox::is_full`] and waits. What only reports a state is thinned out: of a token's progress the newest remains,
//! old log entries give way, and a change already announced is not announced twice. Nothing here waits or writes.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use toolwire_types::ProgressToken;

/// How much longer a message is with its frame, whatever the transport: as an event it is `data: `, and two line ends.
const FRAME: usize = 8;

/// How much may wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a queue is measured in messages and bytes"
)]
pub struct OutboxLimits {
    /// The number of messages.
    pub messages: usize,
    /// Their bytes together.
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

/// What a message is, as far as the queue must know.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutgoingKind {
    /// An answer: always accepted, never lost.
    Response,
    /// A request: always accepted, never lost.
    Request,
    /// Progress for this token.
    Progress(ProgressToken),
    /// A log entry: the oldest give way when the queue is full.
    Log,
    /// "This list has changed": one is enough while it waits.
    ListChanged {
        /// The notification's method.
        method: Cow<'static, str>,
        /// The subscription it belongs to, if any.
        subscription: Option<String>,
    },
    /// "This resource has changed": one for each URI is enough while it waits.
    ResourceUpdated {
        /// The resource.
        uri: String,
        /// The subscription it belongs to, if any.
        subscription: Option<String>,
    },
    /// Answers that are lines already, each with its end: always accepted, never lost.
    Lines {
        /// How many there are.
        messages: usize,
    },
    /// Any other message: always accepted, never lost.
    Other,
}

impl OutgoingKind {
    /// True when one waiting message of an equal kind always stands for all.
    fn is_change(&self) -> bool {
        match self {
            Self::ListChanged { .. } | Self::ResourceUpdated { .. } => true,
            Self::Response
            | Self::Request
            | Self::Progress(_)
            | Self::Log
            | Self::Lines { .. }
            | Self::Other => false,
        }
    }

    /// How many messages there are in one of this kind.
    fn messages(&self) -> usize {
        match self {
            Self::Lines { messages } => *messages,
            _ => 1,
        }
    }
}

/// A message on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a message and what it is")]
pub struct Outgoing {
    /// What it is.
    pub kind: OutgoingKind,
    /// The encoded message, without framing.
    pub bytes: Vec<u8>,
}

impl Outgoing {
    /// A message of this kind.
    #[must_use]
    pub fn new(kind: OutgoingKind, bytes: Vec<u8>) -> Self {
        Self { kind, bytes }
    }
}

/// How many messages never left as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Dropped {
    /// Log entries that were lost.
    pub logs: u64,
    /// Progress that newer progress replaced.
    pub progress: u64,
    /// Changes that were announced together with an earlier one.
    pub changes: u64,
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
    /// The messages in order; a log entry that was dropped leaves a gap.
    slots: VecDeque<Option<Outgoing>>,
    /// The number of slots that have left at the front: slot `n` of all time is `slots[n - departed]`.
    departed: u64,
    /// The slots of waiting changes.
    changes: HashMap<OutgoingKind, u64>,
    /// The slots of waiting log entries, oldest first.
    logs: VecDeque<u64>,
    messages: usize,
    bytes: usize,
    dropped: Dropped,
}

impl Outbox {
    /// An empty queue.
    #[must_use]
    pub fn new(limits: OutboxLimits) -> Self {
        Self {
            limits,
            slots: VecDeque::new(),
            departed: 0,
            changes: HashMap::new(),
            logs: VecDeque::new(),
            messages: 0,
            bytes: 0,
            dropped: Dropped::default(),
        }
    }

    /// Adds a message, merges it with a waiting one, or drops what its kind allows to be dropped.
    pub fn push(&mut self, outgoing: Outgoing) {
        match outgoing.kind {
            OutgoingKind::Progress(_) if self.has_no_room_for(&outgoing) => {
                if self.merge(outgoing) {
                    self.dropped.progress += 1;
                }
            }
            OutgoingKind::ListChanged { .. } | OutgoingKind::ResourceUpdated { .. } => {
                if self.merge(outgoing) {
                    self.dropped.changes += 1;
                }
            }
            OutgoingKind::Log => {
                while self.has_no_room_for(&outgoing) && self.drop_oldest_log() {}
                if self.has_no_room_for(&outgoing) {
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
    }

    /// Takes the next message.
    pub fn pop(&mut self) -> Option<Outgoing> {
        while let Some(slot) = self.slots.pop_front() {
            self.departed += 1;
            let Some(outgoing) = slot else { continue };
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

    /// Takes all messages and appends them, framed by `encode` unless they are lines already; says how many there were.
    pub fn pop_all_into(
        &mut self,
        out: &mut Vec<u8>,
        mut encode: impl FnMut(&mut Vec<u8>, &[u8]),
    ) -> usize {
        let count = self.messages;
        if !self.is_only_lines() {
            out.reserve(self.bytes + count * FRAME);
        }
        self.departed += self.slots.len() as u64;
        for outgoing in self.slots.drain(..).flatten() {
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

    /// Whether nothing has to be framed any more, nor put together.
    fn is_only_lines(&self) -> bool {
        let only = match self.slots.front() {
            Some(Some(outgoing)) => matches!(outgoing.kind, OutgoingKind::Lines { .. }),
            _ => false,
        };
        only && self.slots.len() == 1
    }

    /// How much may wait.
    #[must_use]
    pub fn limits(&self) -> OutboxLimits {
        self.limits
    }

    /// True when a producer that can wait should wait.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.messages >= self.limits.messages || self.bytes >= self.limits.bytes
    }

    /// True when nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// How many messages wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages
    }

    /// How many bytes wait, without framing.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What was dropped or merged so far.
    #[must_use]
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// An empty queue has room for anything, or a message over the byte limit could never leave.
    fn has_no_room_for(&self, outgoing: &Outgoing) -> bool {
        !self.is_empty()
            && (self.messages >= self.limits.messages
                || self.bytes.saturating_add(outgoing.bytes.len()) > self.limits.bytes)
    }

    /// Puts the message in the place of the latest waiting one of its kind, or at the end; true when it was merged.
    /// Replacing the latest, and not an earlier one, keeps the progress of a token in order.
    fn merge(&mut self, outgoing: Outgoing) -> bool {
        let Some(waiting) = self.latest_waiting(&outgoing.kind) else {
            self.append(outgoing);
            return false;
        };
        let replaced = std::mem::replace(&mut waiting.bytes, outgoing.bytes);
        let added = waiting.bytes.len();
        self.bytes = self.bytes - replaced.len() + added;
        true
    }

    fn latest_waiting(&mut self, kind: &OutgoingKind) -> Option<&mut Outgoing> {
        if kind.is_change() {
            let number = *self.changes.get(kind)?;
            return self.slot(number)?.as_mut();
        }
        // Progress is merged only when there is no room, and then what it replaces is near the end: it is looked for
        // rather than remembered, which would cost every notice that has room.
        let mut from_the_end = self.slots.iter_mut().rev().flatten();
        from_the_end.find(|outgoing| outgoing.kind == *kind)
    }

    fn slot(&mut self, number: u64) -> Option<&mut Option<Outgoing>> {
        let index = usize::try_from(number.checked_sub(self.departed)?).ok()?;
        self.slots.get_mut(index)
    }

    fn append(&mut self, outgoing: Outgoing) {
        let number = self.departed + self.slots.len() as u64;
        self.messages += outgoing.kind.messages();
        self.bytes += outgoing.bytes.len();
        if outgoing.kind == OutgoingKind::Log {
            self.logs.push_back(number);
        } else if outgoing.kind.is_change() {
            self.changes.insert(outgoing.kind.clone(), number);
        }
        self.slots.push_back(Some(outgoing));
    }

    fn drop_oldest_log(&mut self) -> bool {
        let Some(number) = self.logs.pop_front() else {
            return false;
        };
        if let Some(log) = self.slot(number).and_then(Option::take) {
            self.messages -= 1;
            self.bytes -= log.bytes.len();
            self.dropped.logs += 1;
        }
        self.close_gaps();
        true
    }

    /// Keeps the gaps in proportion to the messages, so that a reader that stands still cannot make them pile up.
    fn close_gaps(&mut self) {
        const GAPS_TO_SPARE: usize = 64;
        if self.slots.len() <= 2 * self.messages + GAPS_TO_SPARE {
            return;
        }
        let slots = std::mem::take(&mut self.slots);
        self.changes.clear();
        self.logs.clear();
        self.messages = 0;
        self.bytes = 0;
        for outgoing in slots.into_iter().flatten() {
            self.append(outgoing);
        }
    }
}
