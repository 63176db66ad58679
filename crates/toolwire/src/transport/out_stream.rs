//! The way out of one connection: many producers, one writer.
//!
//! Messages wait in a bounded queue whose policy lives in `toolwire_proto::outbox`. The writer takes everything that is
//! ready at once, so that a burst of answers leaves in one write.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use toolwire_proto::framing::encode_line;
use toolwire_proto::outbox::{Outbox, OutboxLimits, Outgoing, OutgoingKind};

use crate::engine::Cancellation;
use crate::transport::outlet::Outlet;

#[derive(Debug)]
pub(crate) struct OutStream {
    queue: Mutex<Queue>,
    /// Wakes a writer thread.
    ready: Condvar,
    /// Wakes a writer task.
    ready_async: Notify,
    /// Wakes producers that wait for room.
    room: Notify,
    broken: Cancellation,
}

#[derive(Debug)]
struct Queue {
    outbox: Outbox,
    closed: bool,
    /// A writer thread sleeps. Waking one that does not costs a system call for every message.
    writer_sleeps: bool,
}

impl Outlet for OutStream {
    fn push(&self, kind: OutgoingKind, bytes: Vec<u8>) {
        self.push_unannounced(kind, bytes);
        self.announce();
    }
}

impl OutStream {
    pub(crate) fn new(limits: OutboxLimits) -> Self {
        Self {
            queue: Mutex::new(Queue {
                outbox: Outbox::new(limits),
                closed: false,
                writer_sleeps: false,
            }),
            ready: Condvar::new(),
            ready_async: Notify::new(),
            room: Notify::new(),
            broken: Cancellation::new(),
        }
    }

    /// Queues a message that the writer need not hear of before [`announce`](Self::announce): for whoever has more to say
    /// at once.
    pub(crate) fn push_unannounced(&self, kind: OutgoingKind, bytes: Vec<u8>) {
        let mut queue = self.lock();
        if !queue.closed {
            queue.outbox.push(Outgoing::new(kind, bytes));
        }
    }

    /// Wakes the writer if there is something for it.
    pub(crate) fn announce(&self) {
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
    pub(crate) fn broken(&self) -> &Cancellation {
        &self.broken
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
