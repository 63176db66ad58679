//! The queue of outgoing messages of one connection: many producers, one writer.
//!
//! The queue is bounded. Its policy is defined by `toolwire_proto::outbox`. The writer takes all ready messages at
//! once, so that a burst of responses is written together. Other queues, such as that of an HTTP response stream,
//! implement [`MessageSink`] as well.

use std::fmt;
use std::hint::black_box;
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};

use tokio::sync::Notify;
use toolwire_proto::framing::encode_line;
use toolwire_proto::outbox::{Outbox, OutboxLimits, Outgoing, OutgoingKind};
use toolwire_types::{Notification, RawJson, Request, RequestId};

use crate::engine::encoding::encode;
use crate::engine::{Cancellation, ClientRequests};
use crate::error::Error;
use crate::server::Server;
use crate::sync::lock;
use crate::transport::drop_reporter::DropReporter;

/// The outgoing messages of one connection.
#[derive(Debug)]
pub(crate) struct OutgoingQueue {
    queue: Mutex<QueuedMessages>,
    /// Wakes a writer thread.
    ready: Condvar,
    /// Wakes a writer task.
    ready_async: Notify,
    /// Wakes producers that wait for capacity.
    capacity: Notify,
    closed_signal: Cancellation,
    /// Whether the writer takes lines, so that several messages can be queued as one.
    takes_lines: bool,
    drops: DropReporter,
}

/// A bounded queue of outgoing messages. Its methods do not wait; a full queue treats each message by its kind.
pub(crate) trait MessageSink: Send + Sync + fmt::Debug {
    /// Queues an encoded message.
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>);

    /// Returns `true` if a producer that can wait should wait.
    #[cfg(any(
        feature = "tasks",
        all(feature = "http-server", any(feature = "events", feature = "relay"))
    ))]
    fn is_full(&self) -> bool {
        false
    }

    /// Queues a notification.
    fn notify(&self, notification: &Notification, kind: OutgoingKind) {
        match encode(notification) {
            Ok(bytes) => self.push(kind, bytes),
            Err(error) => tracing::warn!(%error, "a notification could not be encoded"),
        }
    }
}

/// The remaining capacity of a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
struct QueuedMessages {
    outbox: Outbox,
    closed: bool,
    /// Whether a writer thread sleeps. Waking one that does not sleep costs a system call for every message.
    writer_sleeps: bool,
}

impl MessageSink for OutgoingQueue {
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>) {
        self.queue(Outgoing::new(kind, bytes));
        self.wake_writer();
    }

    #[cfg(any(
        feature = "tasks",
        all(feature = "http-server", any(feature = "events", feature = "relay"))
    ))]
    fn is_full(&self) -> bool {
        !self.has_capacity()
    }
}

impl OutgoingQueue {
    /// Creates a queue whose messages are taken one by one.
    pub(crate) fn new(limits: OutboxLimits) -> Self {
        Self {
            queue: Mutex::new(QueuedMessages {
                outbox: Outbox::new(limits),
                closed: false,
                writer_sleeps: false,
            }),
            ready: Condvar::new(),
            ready_async: Notify::new(),
            capacity: Notify::new(),
            closed_signal: Cancellation::new(),
            takes_lines: false,
            drops: DropReporter::default(),
        }
    }

    /// Creates a queue whose messages are taken as lines.
    pub(crate) fn of_lines(limits: OutboxLimits) -> Self {
        Self {
            takes_lines: true,
            ..Self::new(limits)
        }
    }

    /// Reports dropped notifications to the middleware of a server.
    #[must_use]
    pub(crate) fn reporting_to(mut self, server: &Server) -> Self {
        self.drops = DropReporter::new(server);
        self
    }

    /// Returns what reports dropped notifications.
    #[cfg(feature = "relay")]
    pub(crate) fn drops(&self) -> &DropReporter {
        &self.drops
    }

    /// Queues a response without waking the writer. The caller has to call [`wake_writer`](Self::wake_writer) after its
    /// last message.
    pub(crate) fn push_without_wake(&self, bytes: Vec<u8>) {
        self.queue(Outgoing::new(OutgoingKind::Response, bytes));
    }

    /// Queues many responses without waking the writer. `ends` contains the end of each line.
    pub(crate) fn push_lines(&self, lines: Vec<u8>, ends: impl ExactSizeIterator<Item = usize>) {
        if self.takes_lines {
            let messages = ends.len();
            return self.queue(Outgoing::new(OutgoingKind::Lines { messages }, lines));
        }
        let mut start = 0;
        for end in ends {
            let line = &lines[start..end];
            self.push_without_wake(line.strip_suffix(b"\n").unwrap_or(line).to_vec());
            start = end;
        }
    }

    fn queue(&self, outgoing: Outgoing) {
        let mut queue = self.lock();
        if !queue.closed {
            let lost = queue.outbox.push(outgoing);
            drop(queue);
            self.drops.report(lost);
        }
    }

    /// Wakes the writer if a message is queued.
    pub(crate) fn wake_writer(&self) {
        let mut queue = self.lock();
        if queue.outbox.is_empty() {
            return;
        }
        let writer_sleeps = std::mem::take(&mut queue.writer_sleeps);
        drop(queue);
        if writer_sleeps {
            self.ready.notify_one();
        }
        self.ready_async.notify_one();
    }

    /// Waits for capacity and queues a response. Responses are never dropped, so their producers wait.
    pub(crate) async fn push_response(&self, bytes: Vec<u8>) {
        self.wait_for_capacity().await;
        self.push(OutgoingKind::Response, bytes);
    }

    /// Waits until the queue is below its limit or closed.
    pub(crate) async fn wait_for_capacity(&self) {
        while !self.has_capacity() {
            let capacity = self.capacity.notified();
            tokio::pin!(capacity);
            // Registered before the queue is checked, so that no wake-up is missed.
            capacity.as_mut().enable();
            if self.has_capacity() {
                return;
            }
            capacity.await;
        }
    }

    /// Returns `true` if a producer need not wait: the queue is below its limit or closed.
    pub(crate) fn has_capacity(&self) -> bool {
        let queue = self.lock();
        queue.closed || !queue.outbox.is_full()
    }

    /// Returns the remaining capacity. It is unlimited if the queue is closed.
    pub(crate) fn remaining_capacity(&self) -> Capacity {
        let queue = self.lock();
        if queue.closed {
            let (messages, bytes) = (usize::MAX, usize::MAX);
            return Capacity { messages, bytes };
        }
        let limits = queue.outbox.limits();
        Capacity {
            messages: limits.messages.saturating_sub(queue.outbox.len()),
            bytes: limits.bytes.saturating_sub(queue.outbox.bytes()),
        }
    }

    /// Returns the number of messages that wait for the writer.
    pub(crate) fn len(&self) -> usize {
        self.lock().outbox.len()
    }

    /// Returns `true` if responses have to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().outbox.is_full()
    }

    /// Waits for messages and appends them all, each with a newline. For a writer thread. Returns `false` at the end.
    pub(crate) fn take_blocking(&self, buffer: &mut Vec<u8>) -> bool {
        let mut queue = self.lock();
        loop {
            if !queue.outbox.is_empty() {
                queue.outbox.pop_all_into(buffer, encode_line);
                drop(queue);
                self.capacity.notify_waiters();
                return true;
            }
            if queue.closed {
                return false;
            }
            queue.writer_sleeps = true;
            queue = self
                .ready
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the next message. For a reader in the same process. Returns `None` at the end.
    pub(crate) async fn next(&self) -> Option<Vec<u8>> {
        loop {
            let ready = self.ready_async.notified();
            tokio::pin!(ready);
            ready.as_mut().enable();
            {
                let mut queue = self.lock();
                if let Some(outgoing) = queue.outbox.pop() {
                    drop(queue);
                    self.capacity.notify_waiters();
                    return Some(outgoing.bytes);
                }
                if queue.closed {
                    return None;
                }
            }
            ready.await;
        }
    }

    /// Closes the queue for new messages. The writer finishes what is queued.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_all();
        self.ready_async.notify_waiters();
        self.ready_async.notify_one();
        self.capacity.notify_waiters();
    }

    /// Closes the queue, because the peer does not read any more.
    pub(crate) fn fail(&self) {
        self.close();
        self.closed_signal.cancel();
    }

    /// Returns the signal that is set when the peer does not read any more.
    pub(crate) fn closed_signal(&self) -> &Cancellation {
        &self.closed_signal
    }

    fn lock(&self) -> MutexGuard<'_, QueuedMessages> {
        lock(&self.queue)
    }
}

/// Sends a request to the client and waits for its response. If the future is dropped, it sends a cancellation.
pub(crate) async fn send_request(
    sink: &dyn MessageSink,
    client_requests: &ClientRequests,
    method: &str,
    params: RawJson,
) -> Result<RawJson, Error> {
    // `null` stands for a request without parameters, which a relay may have to send.
    let params = Some(params).filter(|params| !params.is_null());
    let request = |id: &RequestId| {
        let mut request = Request::new(id.clone(), method.to_owned(), RawJson::empty_object());
        request.params = params;
        request
    };
    let send = |id: &RequestId| match encode(&request(id)) {
        Ok(bytes) => sink.push(OutgoingKind::Request, bytes),
        Err(error) => tracing::warn!(%error, "a request could not be encoded"),
    };
    let cancel = |id: &RequestId| {
        let params = RawJson::from_value(&serde_json::json!({ "requestId": id }));
        let cancelled = Notification::new("notifications/cancelled", Some(params));
        sink.notify(&cancelled, OutgoingKind::Other);
    };
    client_requests.call(send, cancel).await
}

/// The size of most long messages, with everything that is allocated for them.
const LONG_MESSAGE: usize = 512 * 1024;

/// Makes the allocator retain the memory of a long message for the next one.
///
/// The GNU C library returns freed memory to the system as soon as 128 KiB are free at the end of a heap. The next
/// allocation requests it again page by page. Messages of about that size cause this every time, and it costs as much
/// as the rest of the request. After an allocation of a larger block was freed, the library retains twice its size.
/// This function frees one such block. Nothing is written to it, so it uses no memory. Other allocators are not
/// affected.
pub(crate) fn retain_heap() {
    static RETAINED: Once = Once::new();
    RETAINED.call_once(|| drop(black_box(Vec::<u8>::with_capacity(LONG_MESSAGE))));
}
