//! Requests that came together, and their first turns.
//!
//! Most handlers are done at their first turn, so a burst of requests is worked off by one task and not by one for each.
//! A handler that has to wait goes on in a task of its own. One that holds its thread holds up those behind it only for
//! a moment: then another task works off the rest.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::transport::duplex::running::RunningRequest;
use crate::transport::out_stream::OutStream;

/// How often the queue is looked at while somebody waits in it.
const PATIENCE: Duration = Duration::from_millis(2);

/// Fewer turns than this between two looks mean that handlers need their threads for long.
const BRISK: u64 = 4;

/// After so many turns the writer is woken, though more are to come.
const ANSWERS_TOGETHER: usize = 64;

/// Those who wait for their first turn.
pub(super) struct Turns {
    out: Arc<OutStream>,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<RunningRequest>,
    /// How many have had their turn.
    taken: u64,
    /// How many tasks take from the queue.
    takers: usize,
    watched: bool,
}

impl Turns {
    pub(super) fn new(out: Arc<OutStream>) -> Arc<Self> {
        Arc::new(Self {
            out,
            queue: Mutex::default(),
        })
    }

    /// Lets all of these have their turn, in this order, by tasks among the given ones.
    pub(super) fn give(
        self: &Arc<Self>,
        requests: impl IntoIterator<Item = RunningRequest>,
        tasks: &mut JoinSet<()>,
    ) {
        let mut queue = self.lock();
        queue.waiting.extend(requests);
        let needs_taker = queue.takers == 0;
        if needs_taker {
            queue.takers = 1;
        }
        let needs_watch = !std::mem::replace(&mut queue.watched, true);
        drop(queue);
        if needs_taker {
            tasks.spawn(Taker::new(self).take_all());
        }
        if needs_watch {
            tasks.spawn(Arc::clone(self).watch());
        }
    }

    /// Starts another taker whenever the queue moves too slowly, until it is empty.
    async fn watch(self: Arc<Self>) {
        let mut more = JoinSet::new();
        let mut seen = self.lock().taken;
        loop {
            tokio::time::sleep(PATIENCE).await;
            // A handler that holds its thread must not keep the answers of those before it.
            self.out.announce();
            let mut queue = self.lock();
            if queue.waiting.is_empty() {
                queue.watched = false;
                break;
            }
            if queue.taken - seen < BRISK {
                queue.takers += 1;
                more.spawn(Taker::new(&self).take_all());
            }
            seen = queue.taken;
        }
        while more.join_next().await.is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of those who take, and is counted among them.
struct Taker {
    turns: Arc<Turns>,
    is_counted: bool,
}

impl Taker {
    fn new(turns: &Arc<Turns>) -> Self {
        Self {
            turns: Arc::clone(turns),
            is_counted: true,
        }
    }

    /// Works off the queue, and then waits for those that were not done at their first turn.
    async fn take_all(mut self) {
        let out = Arc::clone(&self.turns.out);
        let mut longer = JoinSet::new();
        let mut turns = 0_usize;
        while let Some(mut request) = self.next() {
            let turn = poll_fn(|cx| Poll::Ready(request.poll_turn(cx))).await;
            match turn {
                Poll::Ready(answer) if answer.is_none() || out.has_room_now() => {
                    request.deliver_unannounced(answer, &out);
                }
                Poll::Ready(answer) => {
                    let out = Arc::clone(&out);
                    longer.spawn(async move { request.deliver(answer, &out).await });
                }
                Poll::Pending => {
                    longer.spawn(request.answer_to(Arc::clone(&out)));
                }
            }
            turns += 1;
            if turns.is_multiple_of(ANSWERS_TOGETHER) {
                out.announce();
            }
            // Everybody else on this thread has a right to it as well.
            tokio::task::consume_budget().await;
        }
        out.announce();
        while longer.join_next().await.is_some() {}
    }

    /// The next who waits. Whoever finds nobody is not counted any more from that moment: those who come later need
    /// another taker.
    fn next(&mut self) -> Option<RunningRequest> {
        let mut queue = self.turns.lock();
        let Some(request) = queue.waiting.pop_front() else {
            queue.takers -= 1;
            self.is_counted = false;
            return None;
        };
        queue.taken += 1;
        Some(request)
    }
}

impl Drop for Taker {
    /// One that panics must not be waited for.
    fn drop(&mut self) {
        if self.is_counted {
            self.turns.lock().takers -= 1;
        }
    }
}
