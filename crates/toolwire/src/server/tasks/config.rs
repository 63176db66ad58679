//! The tasks of a server: their store and their limits.

use std::sync::Arc;
use std::time::Duration;

use crate::server::tasks::store::BoundedTaskStore;
use crate::store::{MemoryTaskStore, TaskStore};

/// The time in which a call of the store has to return, unless [`Tasks::with_store_deadline`] sets another.
const STORE_DEADLINE: Duration = Duration::from_secs(10);

/// The tasks of a server: where they are stored, how long they live and how many run.
///
/// ```
/// use std::time::Duration;
/// use toolwire::tasks::Tasks;
/// use toolwire::{Server, tool};
///
/// /// Renders a scene.
/// #[tool(task)]
/// async fn render(scene: String) -> String {
///     format!("rendered {scene}")
/// }
///
/// let tasks = Tasks::in_memory().with_ttl(Duration::from_secs(7200));
/// let server = Server::new("studio", "1.0.0").with_tasks(tasks).tool(render);
/// ```
#[derive(Debug, Clone)]
pub struct Tasks {
    pub(crate) store: BoundedTaskStore,
    pub(crate) ttl: Option<Duration>,
    pub(crate) poll_interval: Duration,
    pub(crate) lease: Duration,
    pub(crate) park_after: Duration,
    pub(crate) shutdown_grace: Duration,
    pub(crate) max_running: usize,
    pub(crate) max_waiting: usize,
    pub(crate) max_outcome_bytes: usize,
    pub(crate) max_journal_bytes: usize,
    pub(crate) max_input_requests: usize,
    pub(crate) queued: bool,
}

impl Tasks {
    /// Stores tasks in the memory of this process. They end with it.
    ///
    /// Servers with clones of this value share the store. They inform each other of changes over the
    /// [`Bus`](crate::store::Bus) of their HTTP transports.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(MemoryTaskStore::default())
    }

    /// Stores tasks in a store. With a durable store they survive the process.
    ///
    /// The nodes of a service that share a store also share the keys of
    /// [`Server::with_request_state_keys`](crate::Server::with_request_state_keys). With such keys, the arguments, the
    /// input responses and the caller are sealed in a durable store. The tool, the status and its message, open input
    /// requests and the outcome are not. The store gets the principal of a task as a digest. Access tokens and header
    /// fields are never stored.
    #[must_use]
    pub fn new(store: impl TaskStore + 'static) -> Self {
        Self {
            store: BoundedTaskStore::new(Arc::new(store), STORE_DEADLINE),
            ttl: Some(Duration::from_secs(3600)),
            poll_interval: Duration::from_secs(2),
            lease: Duration::from_secs(30),
            park_after: Duration::from_secs(600),
            shutdown_grace: Duration::from_secs(5),
            max_running: 4096,
            max_waiting: 1000,
            max_outcome_bytes: 4 * 1024 * 1024,
            max_journal_bytes: 1024 * 1024,
            max_input_requests: 32,
            queued: false,
        }
    }

    /// Only stores new tasks. Other processes run them: [`Server::serve_tasks`](crate::Server::serve_tasks).
    ///
    /// Tools that become tasks after some time or on demand start in this process and stay there.
    #[must_use]
    pub fn queued(mut self) -> Self {
        self.queued = true;
        self
    }

    /// Sets how long a task exists, counted from its creation. An unfinished task then fails. Default: one hour.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets how often clients should poll. Default: every two seconds.
    #[must_use]
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets after which time another process may continue the tasks of a lost one. A process renews each of its leases
    /// three times in this time. Default: 30 s.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the time in which a call of the store has to return. A later response counts like an unavailable store: requests
    /// about tasks fail, and the outcomes of tasks are written again. Default: 10 s.
    #[must_use]
    pub fn with_store_deadline(mut self, deadline: Duration) -> Self {
        self.store.deadline = deadline;
        self
    }

    /// Sets how long a handler waits at an input request in memory. Then it ends, and starts again when the response
    /// arrives. Default: 10 min.
    #[must_use]
    pub fn with_park_after(mut self, time: Duration) -> Self {
        self.park_after = time;
        self
    }

    /// Sets how many tasks may run in this process. Another task is rejected. Default: 4,096.
    #[must_use]
    pub fn with_max_running(mut self, tasks: usize) -> Self {
        self.max_running = tasks;
        self
    }

    /// Sets how many handlers wait at input requests in memory. If another one waits, the one that has waited longest
    /// ends, and starts again when the response arrives. A handler that calls `ask` several times at once counts several
    /// times; one call of `ask_all` counts once. Default: 1,000.
    #[must_use]
    pub fn with_max_waiting(mut self, handlers: usize) -> Self {
        self.max_waiting = handlers;
        self
    }
}
