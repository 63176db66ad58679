//! Sends the tasks of a stream whenever they change.
//!
//! A notification contains the whole task, which is loaded when it is sent. Changes that arrive meanwhile are merged, so
//! a slow client gets the latest state, and always the final one.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use toolwire_types::SubscriptionFilter;

use crate::engine::Principal;
use crate::server::Server;
use crate::server::tasks::{TaskRuntime, notification};
use crate::sync::lock;
use crate::transport::listen::ListenState;

/// How often the feed looks whether a client that does not read has begun to read.
const FULL_QUEUE_PAUSE: Duration = Duration::from_millis(50);

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
        accepted: SubscriptionFilter,
        principal: Principal,
    ) -> Result<RunningFeed, SubscriptionFilter> {
        let has_tasks = accepted
            .task_ids
            .as_ref()
            .is_some_and(|ids| !ids.is_empty());
        let runtime = server.snapshot().tasks.clone();
        let Some(runtime) = runtime.filter(|_| has_tasks) else {
            return Err(accepted);
        };
        let feed = Feed {
            stream: Arc::downgrade(stream),
            runtime,
            principal,
            sent: HashMap::new(),
        };
        let running = tokio::spawn(feed.run(accepted));
        Ok(RunningFeed(running.abort_handle()))
    }

    /// Waits for a changed task. Returns `None` when the time is over.
    async fn next(&self, timeout: Option<Duration>) -> Option<String> {
        loop {
            if let Some(id) = lock(&self.changed).pop_first() {
                return Some(id);
            }
            match timeout {
                None => self.ready.notified().await,
                Some(timeout) => {
                    let waited = tokio::time::timeout(timeout, self.ready.notified());
                    waited.await.ok()?;
                }
            }
        }
    }
}

struct Feed {
    stream: Weak<ListenState>,
    runtime: Arc<TaskRuntime>,
    principal: Principal,
    /// The revision of each task that was sent last.
    sent: HashMap<String, u64>,
}

impl Feed {
    async fn run(mut self, mut accepted: SubscriptionFilter) {
        let requested = accepted.task_ids.take().unwrap_or_default();
        let mut known = Vec::new();
        for id in requested {
            // A task that cannot be loaded at the moment may exist, and is reported as soon as it can.
            let loaded = self.runtime.load(&id, &self.principal).await;
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
        let interval = self.runtime.config.store.poll_interval();
        loop {
            let Some(stream) = self.stream.upgrade() else {
                return;
            };
            match stream.tasks.next(interval).await {
                Some(id) => self.send(&stream, &id).await,
                None => {
                    for id in &known {
                        self.send(&stream, id).await;
                    }
                }
            }
        }
    }

    /// Sends a task, unless it has not changed since it was sent.
    async fn send(&mut self, stream: &ListenState, id: &str) {
        while stream.out.is_full() {
            tokio::time::sleep(FULL_QUEUE_PAUSE).await;
        }
        let Ok(Some(stored)) = self.runtime.load(id, &self.principal).await else {
            return;
        };
        if self.sent.get(id) == Some(&stored.revision) {
            return;
        }
        if let Some(changed) = notification(&stored) {
            stream.send_task(id, changed);
            self.sent.insert(id.to_owned(), stored.revision);
        }
    }
}
