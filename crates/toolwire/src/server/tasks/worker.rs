//! Leases: this process keeps those of its tasks, and takes over the tasks of lost processes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use toolwire_proto::subscriptions::Change;
use toolwire_proto::task_rules::has_ended;
use toolwire_types::ErrorObject;

use crate::error::Error;
use crate::server::Server;
use crate::server::hub::ChangeListener;
use crate::server::tasks::call::run_stored;
use crate::server::tasks::ending::{Ending, now_ms};
use crate::server::tasks::runtime::{RecordChange, TaskRuntime};
use crate::server::tool::ToolEntry;
use crate::store::StoredTask;

/// How often a handler is started again after its process was lost.
const MAX_RESTARTS: u32 = 3;

/// How many tasks are claimed at once.
const CLAIM_LIMIT: usize = 64;

/// The options of a worker process: [`Server::serve_tasks`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TaskWorkerOptions {
    tools: Option<Vec<String>>,
    max_running: Option<usize>,
}

impl TaskWorkerOptions {
    /// Creates the options of a worker that runs the tasks of all tools of its server.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs only the tasks of these tools.
    #[must_use]
    pub fn with_tools<S: Into<String>>(mut self, tools: impl IntoIterator<Item = S>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Sets how many tasks run at the same time. Default: that of the server's [`Tasks`](crate::tasks::Tasks).
    #[must_use]
    pub fn with_max_running(mut self, tasks: usize) -> Self {
        self.max_running = Some(tasks);
        self
    }
}

impl Server {
    /// Runs stored tasks until the server shuts down, without serving clients. Several processes can share the work;
    /// see [`Tasks::queued`](crate::tasks::Tasks::queued).
    ///
    /// # Errors
    /// Returns an error if the server has no tasks.
    pub async fn serve_tasks(self, options: TaskWorkerOptions) -> Result<(), Error> {
        let snapshot = self.snapshot();
        let Some(runtime) = &snapshot.tasks else {
            return Err(ErrorObject::internal(
                "this server has no tasks; add them with `Server::with_tasks`",
            )
            .into());
        };
        runtime.start_maintenance();
        let shutdown = self.shutdown_signal();
        let claiming = claim_forever(runtime, &options);
        let _ = shutdown.unless_cancelled(claiming).await;
        runtime.stop_running(runtime.config.shutdown_grace).await;
        Ok(())
    }
}

/// Informs a runtime of changes that other nodes made.
struct ChangeWaker(Weak<TaskRuntime>);

impl ChangeListener for ChangeWaker {
    fn deliver(&self, change: &Change) -> bool {
        if let (Change::Task(id), Some(runtime)) = (change, self.0.upgrade()) {
            runtime.wake(id);
        }
        false
    }

    #[cfg(feature = "http-server")]
    fn resync(&self) {
        if let Some(runtime) = self.0.upgrade() {
            for task in runtime.running() {
                runtime.wake(&task.id);
            }
        }
    }
}

impl TaskRuntime {
    /// Starts to keep leases and to take over tasks, unless it has started, or outside of a Tokio runtime.
    pub(crate) fn start_maintenance(self: &Arc<Self>) {
        if self.maintenance.get().is_some() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let Some(server) = self.server() else {
            return;
        };
        self.maintenance.get_or_init(|| {
            tokio::spawn(maintain(Arc::downgrade(self), Arc::clone(&self.claimable)));
            let waker = ChangeWaker(Arc::downgrade(self));
            server.hub().listen(Arc::new(waker))
        });
    }

    /// Returns `true` if this process gives its tasks to others.
    fn is_stopping(&self) -> bool {
        let is_shut_down = |server: Server| server.shutdown_signal().is_cancelled();
        self.stopping.load(Ordering::Acquire) > 0 || self.server().is_none_or(is_shut_down)
    }

    /// Returns the tools of the server whose calls may become tasks.
    fn task_tools(&self) -> Vec<String> {
        let Some(server) = self.server() else {
            return Vec::new();
        };
        let snapshot = server.snapshot();
        let tools = snapshot.tools.values();
        tools
            .filter(|tool| tool.task.is_some())
            .map(|tool| tool.descriptor.name.clone())
            .collect()
    }

    /// Claims tasks and runs them. Returns the number of claimed tasks.
    async fn claim(self: &Arc<Self>, tools: Vec<String>, max_running: usize) -> usize {
        let free = max_running.saturating_sub(self.running_count());
        let limit = free.min(CLAIM_LIMIT);
        if limit == 0 || tools.is_empty() || self.is_stopping() {
            return 0;
        }
        let worker = self.worker(tools);
        let lease = self.config.lease;
        match self.config.store.claim(&worker, lease, limit).await {
            Ok(claimed) => {
                let count = claimed.len();
                for stored in claimed {
                    // The lease of a run in this process had ended. The run continues with the new lease.
                    if !self.is_running(&stored.id) {
                        self.take_over(stored).await;
                    }
                }
                count
            }
            Err(error) => {
                tracing::warn!(%error, "the task store failed; tasks of lost processes wait");
                0
            }
        }
    }

    /// Continues a claimed task, or ends it if it must not run again.
    async fn take_over(self: &Arc<Self>, stored: StoredTask) {
        let outcome = self.try_take_over(&stored).await;
        if let Err(error) = outcome {
            tracing::error!(tool = stored.record.tool, %error, "a stored task cannot run");
            let ending = Ending::Failed(error);
            if let Err(error) = self.end(&stored.id, &stored.principal, ending).await {
                tracing::error!(%error, "the failure of a task could not be stored");
            }
        }
    }

    async fn try_take_over(self: &Arc<Self>, stored: &StoredTask) -> Result<(), ErrorObject> {
        let (id, principal) = (&stored.id, &stored.principal);
        let record = &stored.record;
        if has_ended(record.ttl_ms, record.created_at_ms, now_ms()) {
            self.end(id, principal, Ending::expired()).await?;
            return Ok(());
        }
        let tool = self.server().and_then(|server| {
            let snapshot = server.snapshot();
            snapshot.tools.get(&record.tool).cloned()
        });
        let Some(tool) = tool else {
            return Err(ErrorObject::internal(
                "the tool of the task does not exist any more",
            ));
        };
        if !may_run(&tool, stored) {
            self.end(id, principal, Ending::lost()).await?;
            return Ok(());
        }
        let changed = self
            .update(id, principal, |stored, record| {
                if record.is_final() || !self.is_owner(stored) {
                    return Ok(RecordChange::Keep);
                }
                record.restarts += u32::from(!record.restartable);
                record.restartable = false;
                Ok(RecordChange::Write)
            })
            .await?;
        let Some(stored) = changed.filter(|stored| self.is_owner(stored)) else {
            return Ok(());
        };
        let call = self.call(&stored)?;
        run_stored(self, &stored, &tool, call, None)
    }
}

/// Returns `true` if the handler of a claimed task may start (again).
fn may_run(tool: &ToolEntry, stored: &StoredTask) -> bool {
    let resumes = tool.task.as_ref().is_some_and(|options| options.resume);
    let record = &stored.record;
    record.restartable || (resumes && record.restarts < MAX_RESTARTS)
}

/// Keeps the leases of running tasks, and takes over the tasks of lost processes, as long as the server exists.
async fn maintain(runtime: Weak<TaskRuntime>, claimable: Arc<Notify>) {
    loop {
        let pause = {
            let Some(runtime) = runtime.upgrade() else {
                return;
            };
            if runtime.server().is_none() {
                return;
            }
            renew_leases(&runtime).await;
            if !runtime.config.queued {
                let tools = runtime.task_tools();
                runtime.claim(tools, runtime.config.max_running).await;
            }
            let third = runtime.config.lease / 3;
            let poll = runtime.config.store.poll_interval().unwrap_or(third);
            third.min(poll.max(Duration::from_millis(100)))
        };
        // An error means that the time is over.
        let _ = tokio::time::timeout(pause, claimable.notified()).await;
    }
}

/// Renews the leases of running tasks.
async fn renew_leases(runtime: &TaskRuntime) {
    let worker = runtime.worker(Vec::new());
    for task in runtime.running() {
        let lease = runtime.config.lease;
        match runtime.config.store.renew(&task.id, &worker, lease).await {
            Ok(true) => {}
            // The run finds out why it lost the task.
            Ok(false) => runtime.wake(&task.id),
            Err(error) => tracing::warn!(%error, "a lease of a task could not be renewed"),
        }
    }
}

/// Claims and runs tasks for ever.
async fn claim_forever(runtime: &Arc<TaskRuntime>, options: &TaskWorkerOptions) {
    let max_running = options.max_running.unwrap_or(runtime.config.max_running);
    let interval = runtime.config.store.poll_interval();
    let interval = interval.unwrap_or(Duration::from_secs(1));
    loop {
        let mut tools = runtime.task_tools();
        if let Some(wanted) = &options.tools {
            tools.retain(|tool| wanted.contains(tool));
        }
        if runtime.claim(tools, max_running).await == 0 {
            tokio::time::sleep(interval).await;
        }
    }
}
