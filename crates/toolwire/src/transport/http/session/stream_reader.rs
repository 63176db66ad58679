//! Assigns the reader of a resumable stream.
//!
//! At most one connection reads a stream at a time. A client that resumes the stream replaces its old connection, which
//! may be lost without an error. A handler may also end the connection, so that the client resumes the stream later.
//!
//! While a connection reads, the writer waits for it, so that the bounded log does not lose entries of a slow reader.
//! While no connection reads, the log retains as many entries as its limits permit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use toolwire_proto::event_id::EventId;
use toolwire_proto::outbox::OutboxLimits;

use crate::sync::lock;

/// The control of a resumable stream: its position and its reader.
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
    /// Incremented for every reader.
    number: u64,
    released: bool,
    /// Whether the reader with this number is attached.
    attached: bool,
    /// The entries that were written since the reader attached and are not read yet.
    unread: UnreadEntries,
}

#[derive(Debug, Default)]
struct UnreadEntries {
    messages: usize,
    bytes: usize,
}

/// The reason why a reader has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DetachReason {
    /// The handler requested that the client resume the stream later.
    Released,
    /// The client resumed the stream on another connection.
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

    /// Waits until the reader has capacity for a message of `bytes` bytes. Returns at once without a reader.
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

    /// Records an entry that was written.
    pub(crate) fn record_written(&self, sequence: u64, bytes: usize) {
        self.sequence.store(sequence, Ordering::Relaxed);
        let mut reader = self.lock();
        if reader.attached {
            reader.unread.messages += 1;
            reader.unread.bytes += bytes;
        }
    }

    /// Returns the id of the next event.
    pub(crate) fn next_event_id(&self) -> Option<String> {
        let sequence = self.sequence.load(Ordering::Relaxed) + 1;
        EventId::new(&self.stream, sequence).map(|id| id.to_string())
    }

    /// Makes the caller the reader and detaches the previous reader.
    pub(crate) fn attach(self: &Arc<Self>) -> Attachment {
        let mut reader = self.lock();
        reader.number += 1;
        reader.released = false;
        reader.attached = true;
        // Only entries that are written from now on count as unread. Older entries do not slow down the writer.
        reader.unread = UnreadEntries::default();
        let number = reader.number;
        drop(reader);
        self.changed.notify_waiters();
        Attachment {
            control: Arc::clone(self),
            number,
        }
    }

    /// Detaches the reader, because the stream is read on another node now.
    pub(crate) fn hand_over(&self) {
        let mut reader = self.lock();
        reader.number += 1;
        reader.attached = false;
        drop(reader);
        self.changed.notify_waiters();
    }

    /// Detaches the reader, so that its client resumes the stream later.
    pub(crate) fn release(&self) {
        self.lock().released = true;
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, AttachedReader> {
        lock(&self.reader)
    }
}

/// The attachment of one connection to a stream. Dropping it detaches the reader.
#[derive(Debug)]
pub(crate) struct Attachment {
    control: Arc<ResumableStream>,
    number: u64,
}

impl Attachment {
    /// Waits until this reader has to stop.
    pub(crate) async fn detached(&self) -> DetachReason {
        loop {
            let changed = self.control.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is read, so that a change in between is not missed.
            changed.as_mut().enable();
            if let Some(reason) = self.detach_reason() {
                return reason;
            }
            changed.await;
        }
    }

    /// Records a message that was read.
    pub(crate) fn record_read(&self, bytes: usize) {
        let mut reader = self.control.lock();
        if reader.number == self.number {
            let unread = &mut reader.unread;
            unread.messages = unread.messages.saturating_sub(1);
            unread.bytes = unread.bytes.saturating_sub(bytes);
        }
        drop(reader);
        self.control.changed.notify_waiters();
    }

    fn detach_reason(&self) -> Option<DetachReason> {
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
    async fn latest_reader_stays_attached_until_it_is_released() {
        let control = ResumableStream::new("s".repeat(16));
        let first = control.attach();
        assert_eq!(first.detach_reason(), None);
        let second = control.attach();
        assert_eq!(first.detached().await, DetachReason::TakenOver);
        assert_eq!(second.detach_reason(), None);
        let (reason, ()) = tokio::join!(second.detached(), async { control.release() });
        assert_eq!(reason, DetachReason::Released);
        let third = control.attach();
        assert_eq!(third.detach_reason(), None, "a new reader is not released");
        control.hand_over();
        assert_eq!(third.detached().await, DetachReason::TakenOver);
    }

    #[tokio::test]
    async fn writer_waits_for_the_reader() {
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
        assert!(!is_full(1000).await, "no reader is attached");
        let reader = control.attach();
        assert!(
            !is_full(1000).await,
            "a message of any size fits into an empty queue"
        );
        control.record_written(2, 60);
        assert!(!is_full(40).await);
        assert!(is_full(41).await);
        control.record_written(3, 1);
        assert!(is_full(1).await, "two messages reach the limit");
        reader.record_read(60);
        assert!(!is_full(1).await);
        control.record_written(4, 1000);
        assert!(is_full(1).await);
        drop(reader);
        assert!(!is_full(1).await, "the reader is detached");
    }
}
