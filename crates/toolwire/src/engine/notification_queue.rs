//! Runs the handlers of the notifications that one client sends, one after the other, in the order of arrival.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::engine::{BoxFuture, CatchPanic};
use crate::sync::lock;

/// The maximum number of notifications of one client that wait for their handler.
const MAX_WAITING: usize = 256;

/// The maximum size of these notifications together, in bytes. A single notification may have any size.
const MAX_WAITING_BYTES: usize = 4 * 1024 * 1024;

/// The notifications of one client whose handlers have not finished.
#[derive(Clone, Default)]
pub(crate) struct NotificationQueue {
    state: Arc<Mutex<QueueState>>,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<QueuedHandler>,
    bytes: usize,
    is_running: bool,
}

/// The queue is full, so the notification is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFull;

struct QueuedHandler {
    bytes: usize,
    work: BoxFuture<'static, ()>,
}

impl NotificationQueue {
    /// Adds the work of a handler for a notification of this size.
    ///
    /// Returns the task that runs the queue, unless it is running already. The caller has to spawn it. If the task is
    /// dropped before its end, all handlers that wait are dropped, too.
    ///
    /// # Errors
    /// Returns an error, and drops the notification, if the queue is full.
    pub(crate) fn push(
        &self,
        bytes: usize,
        work: BoxFuture<'static, ()>,
    ) -> Result<Option<BoxFuture<'static, ()>>, QueueFull> {
        let mut state = self.lock();
        let is_too_large = state.bytes > 0 && state.bytes.saturating_add(bytes) > MAX_WAITING_BYTES;
        if state.waiting.len() >= MAX_WAITING || is_too_large {
            tracing::warn!("dropped a notification, because the handlers of earlier ones are slow");
            return Err(QueueFull);
        }
        state.bytes += bytes;
        state.waiting.push_back(QueuedHandler { bytes, work });
        if state.is_running {
            return Ok(None);
        }
        state.is_running = true;
        drop(state);
        let running = RunningQueue {
            queue: self.clone(),
            has_ended: false,
        };
        Ok(Some(Box::pin(running.run())))
    }

    /// Returns the next handler. Without a next handler, the queue is no longer running.
    fn next(&self) -> Option<QueuedHandler> {
        let mut state = self.lock();
        let next = state.waiting.pop_front();
        state.is_running = next.is_some();
        next
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }
}

/// The queue while its task runs.
struct RunningQueue {
    queue: NotificationQueue,
    has_ended: bool,
}

impl RunningQueue {
    async fn run(mut self) {
        while let Some(QueuedHandler { bytes, work }) = self.queue.next() {
            if CatchPanic::new(work).await.is_err() {
                tracing::error!("the handler of a notification panicked");
            }
            self.queue.lock().bytes -= bytes;
        }
        self.has_ended = true;
    }
}

impl Drop for RunningQueue {
    /// Drops the handlers that wait, because nothing runs them any more. They may refer to the session that has this queue,
    /// and would keep it in memory.
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let abandoned = std::mem::take(&mut *self.queue.lock());
        // Dropped after the lock is released, because a handler may refer to the queue.
        drop(abandoned);
    }
}

impl fmt::Debug for NotificationQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotificationQueue")
            .field("waiting", &self.lock().waiting.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Adds the work, and returns the task that runs the queue, which was idle.
    fn start(
        queue: &NotificationQueue,
        bytes: usize,
        work: BoxFuture<'static, ()>,
    ) -> BoxFuture<'static, ()> {
        let started = queue.push(bytes, work).expect("the queue is not full");
        started.expect("nothing runs yet")
    }

    fn count(counter: &Arc<AtomicUsize>) -> BoxFuture<'static, ()> {
        let counter = Arc::clone(counter);
        Box::pin(async move {
            tokio::task::yield_now().await;
            counter.fetch_add(1, Ordering::Relaxed);
        })
    }

    #[tokio::test]
    async fn handlers_run_in_order_and_a_panic_ends_only_its_own() {
        let queue = NotificationQueue::default();
        let order = Arc::new(Mutex::new(Vec::new()));
        let handler = |number: usize| -> BoxFuture<'static, ()> {
            let order = Arc::clone(&order);
            Box::pin(async move {
                tokio::task::yield_now().await;
                assert_ne!(number, 1, "this handler panics");
                order.lock().unwrap().push(number);
            })
        };
        let task = start(&queue, 1, handler(0));
        assert!(matches!(queue.push(1, handler(1)), Ok(None)));
        assert!(matches!(queue.push(1, handler(2)), Ok(None)));
        task.await;
        assert_eq!(*order.lock().unwrap(), [0, 2]);
        start(&queue, 1, handler(3)).await;
        assert_eq!(*order.lock().unwrap(), [0, 2, 3]);
    }

    #[tokio::test]
    async fn dropped_task_drops_the_handlers_that_wait() {
        // A task that was not polled, and one that runs its first handler.
        for polls in [0, 1] {
            let queue = NotificationQueue::default();
            let counter = Arc::default();
            let task = start(&queue, 1, count(&counter));
            assert!(matches!(queue.push(1, count(&counter)), Ok(None)));
            assert_eq!(Arc::strong_count(&counter), 3);
            let mut task = Some(task);
            std::future::poll_fn(|cx| {
                for _ in 0..polls {
                    let task = task.as_mut().expect("it was not dropped");
                    assert!(task.as_mut().poll(cx).is_pending());
                }
                task = None;
                std::task::Poll::Ready(())
            })
            .await;
            assert_eq!(Arc::strong_count(&counter), 1, "after {polls} polls");
            start(&queue, MAX_WAITING_BYTES, count(&counter)).await;
            assert_eq!(counter.load(Ordering::Relaxed), 1);
        }
    }

    #[tokio::test]
    async fn waiting_notifications_are_limited_in_count() {
        let queue = NotificationQueue::default();
        let counter = Arc::default();
        let task = start(&queue, 0, count(&counter));
        for _ in 1..MAX_WAITING {
            assert!(matches!(queue.push(0, count(&counter)), Ok(None)));
        }
        assert!(matches!(queue.push(0, count(&counter)), Err(QueueFull)));
        task.await;
        assert_eq!(counter.load(Ordering::Relaxed), MAX_WAITING);
    }

    #[tokio::test]
    async fn waiting_notifications_are_limited_in_bytes() {
        let queue = NotificationQueue::default();
        let counter = Arc::default();
        let task = start(&queue, MAX_WAITING_BYTES - 1, count(&counter));
        assert!(matches!(queue.push(2, count(&counter)), Err(QueueFull)));
        assert!(matches!(queue.push(1, count(&counter)), Ok(None)));
        task.await;
        assert_eq!(counter.load(Ordering::Relaxed), 2);
        // A single notification may have any size.
        start(&queue, MAX_WAITING_BYTES + 1, count(&counter)).await;
        assert_eq!(counter.load(Ordering::Relaxed), 3);
    }
}
