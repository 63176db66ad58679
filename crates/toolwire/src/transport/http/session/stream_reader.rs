//! Assigns the reader of a resumable stream.
//!
//! At most one connection reads a stream at a time. A client that resumes the stream replaces its old connection, which
//! may be lost without an error. A handler may also end the connection, so that the client resumes the stream later.
//!
//! While a connection reads, the writer waits for it, so that the bounded log does not lose entries of a slow reader.
//! While no connection reads, the log retains as many entries as its limits permit.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use toolwire_proto::event_id::EventId;
use toolwire_proto::outbox::OutboxLimits;

use crate::store::{LogEntry, LogWriter, WriterLease};
use crate::sync::lock;
use crate::transport::http::byte_budget::ByteBudget;
use crate::transport::http::session::local_events::{LocalEvents, LocalRead};
use crate::transport::http::session::writer_state::{WriterState, message_bytes};

/// The control of a resumable stream: its writer, if that is on this node, and its reader.
#[derive(Debug)]
pub(crate) struct ResumableStream {
    stream: String,
    state: Mutex<ResumableState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct ResumableState {
    /// `None` if the stream is written on another node.
    writer: Option<WriterState>,
    reader: AttachedReader,
}

#[derive(Debug, Default)]
struct AttachedReader {
    /// Incremented for every reader.
    number: u64,
    released: bool,
    broken_off: bool,
    /// Whether the reader with this number is attached.
    attached: bool,
    /// The entries that were written since the reader attached and are not read yet.
    unread: UnreadEntries,
    /// These entries, if they fit into the memory for queued messages.
    local: Option<LocalEvents>,
}

#[derive(Debug, Default)]
struct UnreadEntries {
    messages: usize,
    bytes: usize,
    /// The number of the first entry that was counted. Older entries, which the reader gets from the log, never were.
    first: Option<u64>,
}

impl UnreadEntries {
    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: usize) {
        self.messages = self.messages.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// The reason why a reader has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DetachReason {
    /// The handler requested that the client resume the stream later.
    Released,
    /// The client resumed the stream on another connection.
    TakenOver,
    /// The log fails, so that the client has to resume the stream later.
    BrokenOff,
}

impl ResumableStream {
    pub(crate) fn new(stream: String) -> Arc<Self> {
        Arc::new(Self {
            stream,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    pub(crate) fn stream(&self) -> &str {
        &self.stream
    }

    /// Makes this node the writer of the stream.
    pub(crate) fn set_writer(&self, writer: LogWriter, lease: Option<WriterLease>) {
        self.lock().writer = Some(WriterState::new(writer, lease));
    }

    /// Returns the writer, or `None` if the stream is written on another node.
    pub(crate) fn writer(&self) -> Option<LogWriter> {
        self.lock().writer.as_ref().map(|state| state.writer)
    }

    /// Returns `true` if the writer has a lease.
    pub(crate) fn has_lease(&self) -> bool {
        let state = self.lock();
        let writer = state.writer.as_ref();
        writer.is_some_and(|writer| writer.lease.is_some())
    }

    /// Records that entries may have been stored although the log failed. Their numbers must not be used again.
    pub(crate) fn set_uncertain(&self) {
        if let Some(state) = &mut self.lock().writer {
            state.is_uncertain = true;
        }
    }

    /// Returns `true` after [`set_uncertain`](Self::set_uncertain), until the stream is opened again.
    pub(crate) fn is_uncertain(&self) -> bool {
        let state = self.lock();
        let writer = state.writer.as_ref();
        writer.is_some_and(|writer| writer.is_uncertain)
    }

    /// Changes the fence of the writer, which has opened the stream again.
    pub(crate) fn set_fence(&self, fence: u64) {
        if let Some(state) = &mut self.lock().writer {
            state.writer.fence = fence;
        }
    }

    /// Returns the stored entries after number `last` that the writer retains, the number of the first one, and the lease
    /// of the writer.
    pub(crate) fn entries_after(
        &self,
        last: u64,
    ) -> Option<(u64, Vec<LogEntry>, Option<WriterLease>)> {
        let state = self.lock();
        let writer = state.writer.as_ref()?;
        let (first, entries) = writer.entries_after(last);
        Some((first, entries, writer.lease.clone()))
    }

    /// Waits until the reader has capacity for messages of `bytes` bytes together. Returns at once without a reader.
    pub(crate) async fn wait_for_capacity(
        &self,
        messages: usize,
        bytes: usize,
        limits: OutboxLimits,
    ) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is read, so that a change in between is not missed.
            changed.as_mut().enable();
            {
                let state = self.lock();
                let unread = &state.reader.unread;
                let fits = unread.messages + messages <= limits.messages
                    && unread.bytes + bytes <= limits.bytes;
                if !state.reader.attached || unread.messages == 0 || fits {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Records entries that the writer has stored, and passes them on to the reader.
    pub(crate) fn record_written(&self, entries: &[LogEntry]) {
        let mut state = self.lock();
        let ResumableState { writer, reader } = &mut *state;
        let Some(writer) = writer else {
            return;
        };
        for entry in entries {
            let number = writer.record(entry);
            if reader.attached {
                reader.unread.first.get_or_insert(number);
                reader.unread.add(message_bytes(entry));
                if let Some(local) = &mut reader.local {
                    local.push(number, entry);
                }
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Passes a change notification on to the reader, without storing it. It is dropped if no connection reads.
    pub(crate) fn send_change(&self, notification: Bytes) {
        let mut state = self.lock();
        let reader = &mut state.reader;
        if let Some(local) = reader.local.as_mut().filter(|_| reader.attached) {
            reader.unread.add(notification.len());
            local.push_change(notification);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Returns the id of the next event.
    pub(crate) fn next_event_id(&self) -> Option<String> {
        let sequence = self.writer().map_or(1, |writer| writer.next);
        EventId::new(&self.stream, sequence).map(|id| id.to_string())
    }

    /// Makes the caller the reader and detaches the previous reader. The memory of queued entries is counted in
    /// `budget`.
    pub(crate) fn attach(self: &Arc<Self>, budget: &Arc<ByteBudget>) -> Attachment {
        let mut state = self.lock();
        let next = state.writer.as_ref().map(|state| state.writer.next);
        let reader = &mut state.reader;
        reader.number += 1;
        reader.released = false;
        reader.broken_off = false;
        reader.attached = true;
        // Only entries that are written from now on count as unread. Older entries do not slow down the writer.
        reader.unread = UnreadEntries::default();
        reader.local = next.map(|next| LocalEvents::new(next, budget.reservation()));
        let number = reader.number;
        drop(state);
        self.changed.notify_waiters();
        Attachment {
            control: Arc::clone(self),
            number,
        }
    }

    /// Detaches the reader, because the stream is read and written on another node now.
    pub(crate) fn hand_over(&self) {
        let mut state = self.lock();
        state.writer = None;
        state.reader.number += 1;
        state.reader.attached = false;
        state.reader.local = None;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Lets the reader read from the log, because this node does not write to the stream any more.
    pub(crate) fn leave_to_log(&self) {
        let mut state = self.lock();
        state.writer = None;
        state.reader.local = None;
        // A later writer on this node does not wait for the entries of other nodes.
        state.reader.unread = UnreadEntries::default();
        drop(state);
        self.changed.notify_waiters();
    }

    /// Detaches the reader, so that its client resumes the stream later.
    pub(crate) fn release(&self) {
        self.lock().reader.released = true;
        self.changed.notify_waiters();
    }

    /// Breaks off the connection of the reader, because the log fails.
    pub(crate) fn break_off(&self) {
        self.lock().reader.broken_off = true;
        self.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, ResumableState> {
        lock(&self.state)
    }
}

/// The attachment of one connection to a stream. Dropping it detaches the reader.
#[derive(Debug)]
pub(crate) struct Attachment {
    control: Arc<ResumableStream>,
    number: u64,
}

impl Attachment {
    /// Returns the name of the stream.
    pub(crate) fn stream(&self) -> &str {
        self.control.stream()
    }

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

    /// Completes when the stream has changed after this call.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.control.changed.notified()
    }

    /// Takes the entries after number `after` that were written on this node since this reader attached.
    pub(crate) fn take_local(&self, after: u64) -> LocalRead {
        let mut state = self.control.lock();
        let reader = &mut state.reader;
        if reader.number != self.number {
            return LocalRead::Nothing;
        }
        match &mut reader.local {
            Some(local) => local.take(after),
            None => LocalRead::Log { before: u64::MAX },
        }
    }

    /// Records that the message of an entry was read.
    pub(crate) fn record_read(&self, number: u64, bytes: usize) {
        self.change_unread(|unread| {
            if unread.first.is_some_and(|first| number >= first) {
                unread.remove(bytes);
            }
        });
    }

    /// Records that a change notification was read.
    pub(crate) fn record_change_read(&self, bytes: usize) {
        self.change_unread(|unread| unread.remove(bytes));
    }

    fn change_unread(&self, change: impl FnOnce(&mut UnreadEntries)) {
        let mut state = self.control.lock();
        if state.reader.number == self.number {
            change(&mut state.reader.unread);
        }
        drop(state);
        self.control.changed.notify_waiters();
    }

    fn detach_reason(&self) -> Option<DetachReason> {
        let state = self.control.lock();
        let reader = &state.reader;
        if reader.number != self.number {
            Some(DetachReason::TakenOver)
        } else if reader.broken_off {
            Some(DetachReason::BrokenOff)
        } else {
            reader.released.then_some(DetachReason::Released)
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        let mut state = self.control.lock();
        if state.reader.number == self.number {
            state.reader.attached = false;
            state.reader.local = None;
        }
        drop(state);
        self.control.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn budget() -> Arc<ByteBudget> {
        ByteBudget::new(1024 * 1024, 1024)
    }

    fn message(bytes: usize) -> LogEntry {
        LogEntry::Message(Bytes::from(vec![b' '; bytes]))
    }

    /// Returns the numbers of the entries that a reader gets on this node.
    fn taken(reader: &Attachment, after: u64) -> Vec<u64> {
        match reader.take_local(after) {
            LocalRead::Next(entries, _) => entries.into_iter().map(|(number, _)| number).collect(),
            LocalRead::Nothing => Vec::new(),
            LocalRead::Log { before } => panic!("read before {before} from the log"),
        }
    }

    #[tokio::test]
    async fn latest_reader_stays_attached_until_it_is_released() {
        let control = ResumableStream::new("s".repeat(16));
        let first = control.attach(&budget());
        assert_eq!(first.detach_reason(), None);
        let second = control.attach(&budget());
        assert_eq!(first.detached().await, DetachReason::TakenOver);
        assert_eq!(second.detach_reason(), None);
        let (reason, ()) = tokio::join!(second.detached(), async { control.release() });
        assert_eq!(reason, DetachReason::Released);
        let third = control.attach(&budget());
        assert_eq!(third.detach_reason(), None, "a new reader is not released");
        control.break_off();
        assert_eq!(third.detached().await, DetachReason::BrokenOff);
        let fourth = control.attach(&budget());
        assert_eq!(
            fourth.detach_reason(),
            None,
            "a new reader is not broken off"
        );
        control.hand_over();
        assert_eq!(fourth.detached().await, DetachReason::TakenOver);
    }

    #[tokio::test]
    async fn writer_waits_for_the_reader() {
        let limits = OutboxLimits {
            messages: 2,
            bytes: 100,
        };
        let control = ResumableStream::new("s".repeat(16));
        control.set_writer(LogWriter::new(1, 1), None);
        let is_full = async |bytes| {
            timeout(Duration::ZERO, control.wait_for_capacity(1, bytes, limits))
                .await
                .is_err()
        };
        control.record_written(&[message(1000)]);
        assert!(!is_full(1000).await, "no reader is attached");
        let reader = control.attach(&budget());
        assert!(
            !is_full(1000).await,
            "a message of any size fits into an empty queue"
        );
        control.record_written(&[message(60)]);
        assert!(!is_full(40).await);
        assert!(is_full(41).await);
        control.record_written(&[message(1)]);
        assert!(is_full(1).await, "two messages reach the limit");
        reader.record_read(2, 60);
        assert!(!is_full(1).await);
        control.record_written(&[message(1000)]);
        assert!(is_full(1).await);
        drop(reader);
        assert!(!is_full(1).await, "the reader is detached");
    }

    #[tokio::test]
    async fn writer_waits_for_new_entries_while_the_reader_gets_old_ones() {
        let limits = OutboxLimits {
            messages: 2,
            bytes: 100,
        };
        let control = ResumableStream::new("s".repeat(16));
        control.set_writer(LogWriter::new(1, 1), None);
        let is_full = async || {
            timeout(Duration::ZERO, control.wait_for_capacity(1, 1, limits))
                .await
                .is_err()
        };
        control.record_written(&[message(30), message(30)]);
        let reader = control.attach(&budget());
        control.record_written(&[message(30)]);
        control.send_change(Bytes::from_static(b"change"));
        assert!(is_full().await);
        for old in [1, 2] {
            reader.record_read(old, 30);
            assert!(is_full().await, "entry {old} was not counted");
        }
        reader.record_read(3, 30);
        assert!(!is_full().await);
        control.record_written(&[message(30)]);
        assert!(is_full().await, "the change is unread");
        reader.record_change_read(6);
        assert!(!is_full().await);
        reader.record_read(4, 30);
        // Another node writes entry 6.
        control.record_written(&[message(30)]);
        control.leave_to_log();
        control.set_writer(LogWriter::new(2, 7), None);
        control.record_written(&[message(30), message(30)]);
        for old in [5, 6] {
            reader.record_read(old, 30);
            assert!(is_full().await, "entry {old} is not counted");
        }
        reader.record_read(7, 30);
        assert!(!is_full().await);
    }

    #[test]
    fn reader_gets_entries_of_this_node_without_the_log() {
        let control = ResumableStream::new("s".repeat(16));
        control.set_writer(LogWriter::new(1, 1), None);
        let reader = control.attach(&budget());
        assert!(taken(&reader, 0).is_empty());
        control.record_written(&[message(1), message(2)]);
        control.record_written(&[LogEntry::End]);
        assert_eq!(taken(&reader, 0), [1, 2, 3]);
        assert!(taken(&reader, 3).is_empty());
    }

    #[test]
    fn reader_gets_entries_before_its_attachment_from_the_log() {
        let control = ResumableStream::new("s".repeat(16));
        let elsewhere = control.attach(&budget());
        let all = LocalRead::Log { before: u64::MAX };
        assert_eq!(elsewhere.take_local(0), all, "written on another node");
        control.set_writer(LogWriter::new(1, 3), None);
        let reader = control.attach(&budget());
        control.record_written(&[message(1)]);
        assert_eq!(reader.take_local(0), LocalRead::Log { before: 3 });
        assert_eq!(reader.take_local(1), LocalRead::Log { before: 3 });
        assert_eq!(taken(&reader, 2), [3]);
        control.leave_to_log();
        assert_eq!(reader.take_local(3), all);
    }
}
