//! The way out of one connection: many producers, one writer.
//!
//! Messages wait in a bounded queue whose policy lives in `toolwire_proto::outbox`. The writer takes everything that is
//! ready at once, so that a burst of answers leaves in one write.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolwire_proto::framing::encode_line;
use toolwire_proto::outbox::{Outbox, OutboxLimits, Outgoing, OutgoingKind};

use crate::engine::Cancellation;
use crate::transport::outlet::MessageSink;

#[derive(Debug)]
pub(crate) struct OutgoingQueue {
    queue: Mutex<QueuedMessages>,
    /// Wakes a writer thread.
    ready: Condvar,
    /// Wakes a writer task.
    ready_async: Notify,
    /// Wakes producers that wait for room.
    room: Notify,
    broken: Cancellation,
    /// The writer takes lines, so that several messages may wait as one.
    takes_lines: bool,
}

/// How much more may wait in a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
struct QueuedMessages {
    outbox: Outbox,
    closed: bool,
    /// A writer thread sleeps. Waking one that does not costs a system call for every message.
    writer_sleeps: bool,
}

impl MessageSink for OutgoingQueue {
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>) {
        self.queue(Outgoing::new(kind, bytes));
        self.wake_writer();
    }
}

impl OutgoingQueue {
    /// A queue whose messages are taken one by one.
    pub(crate) fn new(limits: OutboxLimits) -> Self {
        Self {
            queue: Mutex::new(QueuedMessages {
                outbox: Outbox::new(limits),
                closed: false,
                writer_sleeps: false,
            }),
            ready: Condvar::new(),
            ready_async: Notify::new(),
            room: Notify::new(),
            broken: Cancellation::new(),
            takes_lines: false,
        }
    }

    /// A queue whose messages are taken as lines.
    pub(crate) fn of_lines(limits: OutboxLimits) -> Self {
        Self {
            takes_lines: true,
            ..Self::new(limits)
        }
    }

    /// Queues an answer that the writer need not hear of before [`announce`](Self::announce): for whoever has more to say
    /// at once.
    pub(crate) fn push_silent(&self, bytes: Vec<u8>) {
        self.queue(Outgoing::new(OutgoingKind::Response, bytes));
    }

    /// The same for many answers, each a line that ends there.
    pub(crate) fn push_lines(&self, lines: Vec<u8>, ends: impl ExactSizeIterator<Item = usize>) {
        if self.takes_lines {
            let messages = ends.len();
            return self.queue(Outgoing::new(OutgoingKind::Lines { messages }, lines));
        }
        let mut start = 0;
        for end in ends {
            let line = &lines[start..end];
            self.push_silent(line.strip_suffix(b"\n").unwrap_or(line).to_vec());
            start = end;
        }
    }

    fn queue(&self, outgoing: Outgoing) {
        let mut queue = self.lock();
        if !queue.closed {
            queue.outbox.push(outgoing);
        }
    }

    /// Wakes the writer if there is something for it.
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

    /// Queues an answer once there is room: answers are never dropped, so whoever makes them waits.
    pub(crate) async fn push_response(&self, bytes: Vec<u8>) {
        self.has_room().await;
        self.push(OutgoingKind::Response, bytes);
    }

    /// Waits until the queue is below its limit, or nobody will ever read it.
    pub(crate) async fn has_room(&self) {
        while !self.has_room_now() {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before the queue is looked at, so that room made in between is not missed.
            room.as_mut().enable();
            if self.has_room_now() {
                return;
            }
            room.await;
        }
    }

    /// Whether nobody has to wait: the queue is below its limit, or nobody will ever read it.
    pub(crate) fn has_room_now(&self) -> bool {
        let queue = self.lock();
        queue.closed || !queue.outbox.is_full()
    }

    /// How much can be queued before anybody has to wait; endless when nobody will ever read it.
    pub(crate) fn room(&self) -> Capacity {
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

    /// Whether answers have to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().outbox.is_full()
    }

    /// For a writer thread: waits for messages and appends them all, each ended by a newline. False at the end.
    pub(crate) fn take_blocking(&self, buffer: &mut Vec<u8>) -> bool {
        let mut queue = self.lock();
        loop {
            if !queue.outbox.is_empty() {
                queue.outbox.pop_all_into(buffer, encode_line);
                drop(queue);
                self.room.notify_waiters();
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

    /// For a reader in process: waits for the next message. `None` at the end.
    pub(crate) async fn next(&self) -> Option<Vec<u8>> {
        loop {
            let ready = self.ready_async.notified();
            tokio::pin!(ready);
            ready.as_mut().enable();
            {
                let mut queue = self.lock();
                if let Some(outgoing) = queue.outbox.pop() {
                    drop(queue);
                    self.room.notify_waiters();
                    return Some(outgoing.bytes);
                }
                if queue.closed {
                    return None;
                }
            }
            ready.await;
        }
    }

    /// No more messages will come; the writer finishes what is queued.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_all();
        self.ready_async.notify_waiters();
        self.ready_async.notify_one();
        self.room.notify_waiters();
    }

    /// The peer does not read any more.
    pub(crate) fn fail(&self) {
        self.close();
        self.broken.cancel();
    }

    /// Raised when the peer does not read any more.
    pub(crate) fn closed_signal(&self) -> &Cancellation {
        &self.broken
    }

    fn lock(&self) -> MutexGuard<'_, QueuedMessages> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
