//! Sends the tasks of a stream whenever they change.
//!
//! A notification contains the whole task, which is loaded when it is sent. Changes that arrive meanwhile are merged, so
//! a slow client gets the latest state, and always the final one.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use toolwire_types::{RawJson, SubscriptionFilter};

use crate::engine::Principal;
use crate::server::Server;
use crate::server::tasks::{TaskRuntime, end_of_life, notification, owner_of, visible};
use crate::sync::lock;
use crate::transport::listen::ListenState;

/// How often the feed looks whether a client that does not read has begun to read.
const FULL_QUEUE_PAUSE: Duration = Duration::from_millis(50);

/// When the feed looks again at a task that it could not load.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two looks at all tasks, as a multiple of the store's interval.
const MAX_POLL_FACTOR: u32 = 8;

/// The changes of the tasks of one stream that were not sent yet.
#[derive(Debug, Default)]
pub(in crate::transport::listen) struct TaskFeed {
    changed: Mutex<BTreeSet<String>>,
    ready: Notify,
}

/// The feed of a stream. It ends when this value is dropped.
#[derive(Debug)]
pub(in crate::transport::listen) struct RunningFeed(AbortHandle);

impl Drop for RunningFeed {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl TaskFeed {
    /// Adds a change of a task. Returns `true`.
    pub(in crate::transport::listen) fn add(&self, id: &str) -> bool {
        lock(&self.changed).insert(id.to_owned());
        self.ready.notify_one();
        true
    }

    /// Starts the feed if the filter names tasks. The feed then acknowledges the request, as soon as it knows which tasks
    /// exist. Otherwise returns the filter.
    pub(in crate::transport::listen) fn start(
        stream: &Arc<ListenState>,
        server: &Server,
        mut accepted: SubscriptionFilter,
        principal: Principal,
    ) -> Result<RunningFeed, SubscriptionFilter> {
        let has_tasks = accepted
            .task_ids
            .as_ref()
            .is_some_and(|ids| !ids.is_empty());
        let runtime = server.snapshot().tasks.clone();
        if runtime.is_none() {
            // Changes of the tasks of mounted servers are not announced.
            accepted.task_ids = None;
        }
        let Some(runtime) = runtime.filter(|_| has_tasks) else {
            return Err(accepted);
        };
        let feed = Feed {
            stream: Arc::downgrade(stream),
            runtime,
            owner: owner_of(&principal),
            sent: HashMap::new(),
            hasher: RandomState::new(),
        };
        let running = tokio::spawn(feed.run(accepted));
        Ok(RunningFeed(running.abort_handle()))
    }

    /// Waits for a changed task. Returns `None` when the time is over.
    async fn next(&self, deadline: Option<Instant>) -> Option<String> {
        loop {
            if let Some(id) = lock(&self.changed).pop_first() {
                return Some(id);
            }
            match deadline {
                None => self.ready.notified().await,
                Some(deadline) => {
                    let waited = tokio::time::timeout_at(deadline, self.ready.notified());
                    waited.await.ok()?;
                }
            }
        }
    }
}

struct Feed {
    stream: Weak<ListenState>,
    runtime: Arc<TaskRuntime>,
    owner: Principal,
    /// What was sent last of each task.
    sent: HashMap<String, SentTask>,
    hasher: RandomState,
}

#[derive(Default)]
struct SentTask {
    /// The hash of the last notification.
    content: Option<u64>,
    /// When the feed looks at the task again, because nothing reports the end of its life.
    look_at: Option<Instant>,
    /// Set if the task has ended or is forgotten, so that it does not change any more.
    is_over: bool,
}

impl Feed {
    async fn run(mut self, mut accepted: SubscriptionFilter) {
        let requested = accepted.task_ids.take().unwrap_or_default();
        let mut known = Vec::new();
        for id in requested {
            // A task that cannot be loaded at the moment may exist, and is reported as soon as it can.
            let loaded = self.runtime.load(&id, &self.owner).await;
            if !matches!(loaded, Ok(None)) && !known.contains(&id) {
                known.push(id);
            }
        }
        accepted.task_ids = Some(known.clone());
        {
            let Some(stream) = self.stream.upgrade() else {
                return;
            };
            stream.acknowledge(accepted);
            // A change between the call and this stream must not be missed.
            for id in &known {
                stream.tasks.add(id);
            }
        }
        // Other processes may change the tasks and not report it: the feed looks at them often after a change, then more
        // rarely.
        let interval = self.runtime.config.store.poll_interval();
        let mut pause = interval;
        loop {
            let Some(stream) = self.stream.upgrade() else {
                return;
            };
            let poll = pause.filter(|_| !known.is_empty());
            let poll = poll.map(|pause| Instant::now() + pause);
            let looks = self.sent.values().filter_map(|sent| sent.look_at);
            let has_sent = match stream.tasks.next(looks.chain(poll).min()).await {
                Some(id) if known.contains(&id) => self.send(&stream, &id).await,
                // The acknowledgement did not name the task, or the task is over.
                Some(_) => continue,
                None => {
                    let mut has_sent = false;
                    for id in &known {
                        has_sent |= self.send(&stream, id).await;
                    }
                    has_sent
                }
            };
            known.retain(|id| self.sent.get(id).is_none_or(|sent| !sent.is_over));
            let longest = interval.map(|interval| interval.saturating_mul(MAX_POLL_FACTOR));
            let longer = pause.map(|pause| pause.saturating_mul(2));
            pause = if has_sent {
                interval
            } else {
                longer.min(longest)
            };
        }
    }

    /// Sends a task, unless it has not changed since it was sent. Returns whether it has.
    async fn send(&mut self, stream: &ListenState, id: &str) -> bool {
        while stream.out.is_full() {
            tokio::time::sleep(FULL_QUEUE_PAUSE).await;
        }
        let loaded = self.runtime.load(id, &self.owner).await;
        let sent = self.sent.entry(id.to_owned()).or_default();
        let stored = match loaded {
            Ok(Some(stored)) => stored,
            Ok(None) => {
                sent.look_at = None;
                sent.is_over = true;
                return false;
            }
            Err(_) => {
                sent.look_at = Some(Instant::now() + RETRY_PAUSE);
                return false;
            }
        };
        // The notification of a final task is the last one.
        sent.is_over = visible(&stored).is_final();
        sent.look_at = end_of_life(&stored).filter(|_| !sent.is_over);
        let Some(changed) = notification(&stored) else {
            return false;
        };
        let text = changed.params.as_ref().map(RawJson::get);
        let content = Some(self.hasher.hash_one(text));
        if sent.content == content {
            return false;
        }
        sent.content = content;
        stream.send_task(id, changed);
        true
    }
}
