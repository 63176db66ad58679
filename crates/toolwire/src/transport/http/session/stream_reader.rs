//! Who reads a stream that can be resumed.
//!
//! At most one connection reads a stream at a time. A client that comes back takes over from its old connection, which
//! may be dead without anybody knowing; a handler may send the client away, to come back later.
//!
//! While somebody reads, whoever writes waits for him, so that a log within bounds loses nothing a slow reader still
//! wants. While nobody reads, the log keeps what it can.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolwire_proto::event_id::EventId;
use toolwire_proto::outbox::OutboxLimits;

#[derive(Debug)]
pub(crate) struct ResumableStream {
    stream: String,
    /// The number of the last entry.
    sequence: AtomicU64,
    reader: Mutex<AttachedReader>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct AttachedReader {
    /// Grows with every reader.
    number: u64,
    released: bool,
    /// Whether the reader of that number is still there.
    attached: bool,
    /// What was written since somebody reads, and not read yet.
    unread: UnreadEntries,
}

#[derive(Debug, Default)]
struct UnreadEntries {
    messages: usize,
    bytes: usize,
}

/// Why a reader has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DetachReason {
    /// The client is to come back.
    Released,
    /// The client has come back already.
    TakenOver,
}

impl ResumableStream {
    pub(crate) fn new(stream: String) -> Arc<Self> {
        Arc::new(Self {
            stream,
            sequence: AtomicU64::new(0),
            reader: Mutex::default(),
            changed: Notify::new(),
        })
    }

    pub(crate) fn stream(&self) -> &str {
        &self.stream
    }

    /// Waits until the reader, if there is one, has room for a message of that size.
    pub(crate) async fn wait_for_capacity(&self, bytes: usize, limits: OutboxLimits) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is read, so that a change in between is not missed.
            changed.as_mut().enable();
            {
                let reader = self.lock();
                let UnreadEntries {
                    messages,
                    bytes: unread,
                } = reader.unread;
                let fits = messages < limits.messages && unread + bytes <= limits.bytes;
                if !reader.attached || messages == 0 || fits {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Notes an entry that was written.
    pub(crate) fn record_written(&self, sequence: u64, bytes: usize) {
        self.sequence.store(sequence, Ordering::Relaxed);
        let mut reader = self.lock();
        if reader.attached {
            reader.unread.messages += 1;
            reader.unread.bytes += bytes;
        }
    }

    /// The id the next event will get.
    pub(crate) fn next_event_id(&self) -> Option<String> {
        let sequence = self.sequence.load(Ordering::Relaxed) + 1;
        EventId::new(&self.stream, sequence).map(|id| id.to_string())
    }

    /// Makes the caller the reader.
    pub(crate) fn attach(self: &Arc<Self>) -> Attachment {
        let mut reader = self.lock();
        reader.number += 1;
        reader.released = false;
        reader.attached = true;
        // The past is read as fast as it goes; what counts is what comes from now on.
        reader.unread = UnreadEntries::default();
        let number = reader.number;
        drop(reader);
        self.changed.notify_waiters();
        Attachment {
            control: Arc::clone(self),
            number,
        }
    }

    /// Ends the reader, because another node has one now.
    pub(crate) fn hand_over(&self) {
        let mut reader = self.lock();
        reader.number += 1;
        reader.attached = false;
        drop(reader);
        self.changed.notify_waiters();
    }

    /// Sends the reader away.
    pub(crate) fn release(&self) {
        self.lock().released = true;
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, AttachedReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection's claim to a stream.
#[derive(Debug)]
pub(crate) struct Attachment {
    control: Arc<ResumableStream>,
    number: u64,
}

impl Attachment {
    /// Waits until this reader has to stop.
    pub(crate) async fn ended(&self) -> DetachReason {
        loop {
            let changed = self.control.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is read, so that a change in between is not missed.
            changed.as_mut().enable();
            if let Some(ending) = self.ending() {
                return ending;
            }
            changed.await;
        }
    }

    /// Notes a message that was read.
    pub(crate) fn note_read(&self, bytes: usize) {
        let mut reader = self.control.lock();
        if reader.number == self.number {
            let unread = &mut reader.unread;
            unread.messages = unread.messages.saturating_sub(1);
            unread.bytes = unread.bytes.saturating_sub(bytes);
        }
        drop(reader);
        self.control.changed.notify_waiters();
    }

    fn ending(&self) -> Option<DetachReason> {
        let reader = self.control.lock();
        if reader.number != self.number {
            return Some(DetachReason::TakenOver);
        }
        reader.released.then_some(DetachReason::Released)
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut reader = self.control.lock();
        if reader.number == self.number {
            reader.attached = false;
        }
        drop(reader);
        self.control.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn the_latest_reader_wins_until_it_is_sent_away() {
        let control = ResumableStream::new("s".repeat(16));
        let first = control.attach();
        assert_eq!(first.ending(), None);
        let second = control.attach();
        assert_eq!(first.ended().await, DetachReason::TakenOver);
        assert_eq!(second.ending(), None);
        let (ending, ()) = tokio::join!(second.ended(), async { control.release() });
        assert_eq!(ending, DetachReason::Released);
        let third = control.attach();
        assert_eq!(third.ending(), None, "a new reader is not sent away");
        control.hand_over();
        assert_eq!(third.ended().await, DetachReason::TakenOver);
    }
    #[tokio::test]
    async fn whoever_writes_waits_for_whoever_reads() {
        let limits = OutboxLimits {
            messages: 2,
            bytes: 100,
        };
        let control = ResumableStream::new("s".repeat(16));
        let is_full = async |bytes| {
            timeout(Duration::ZERO, control.wait_for_capacity(bytes, limits))
                .await
                .is_err()
        };
        control.record_written(1, 1000);
        assert!(!is_full(1000).await, "nobody reads");
        let reader = control.attach();
        assert!(!is_full(1000).await, "a message of any size has its turn");
        control.record_written(2, 60);
        assert!(!is_full(40).await);
        assert!(is_full(41).await);
        control.record_written(3, 1);
        assert!(is_full(1).await, "two messages are enough");
        reader.note_read(60);
        assert!(!is_full(1).await);
        control.record_written(4, 1000);
        assert!(is_full(1).await);
        drop(reader);
        assert!(!is_full(1).await, "nobody reads any more");
    }
}
