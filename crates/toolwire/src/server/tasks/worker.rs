//! How this process takes over stored tasks: those of a queue, and those of lost processes.

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
use crate::server::tasks::leases::keep_leases;
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
            runtime.wake_all();
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
            tokio::spawn(keep_leases(Arc::downgrade(self)));
            // The workers of a queue claim its tasks.
            if !self.config.queued {
                let claimable = Arc::clone(&self.claimable);
                tokio::spawn(take_over_lost_tasks(Arc::downgrade(self), claimable));
            }
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

    /// Claims tasks and runs them. Returns the number of tasks that run or have ended now.
    async fn claim(self: &Arc<Self>, tools: Vec<String>, max_running: usize) -> usize {
        let free = max_running.saturating_sub(self.running.count());
        let limit = free.min(CLAIM_LIMIT);
        if limit == 0 || tools.is_empty() || self.is_stopping() {
            return 0;
        }
        let worker = self.worker(tools);
        let lease = self.config.lease;
        let claimed = match self.config.store.claim(&worker, lease, limit).await {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(%error, "the task store failed; tasks of lost processes wait");
                return 0;
            }
        };
        let mut taken = 0;
        for stored in claimed {
            // The lease of a run in this process had ended. The run continues with the new lease.
            if !self.running.is_running(&stored.id) && self.take_over(&stored).await {
                taken += 1;
            }
        }
        taken
    }

    /// Continues a claimed task, or ends it if it must not run again. Returns `false` if neither is possible at the
    /// moment. The task is then given back unchanged, so that this process or another one claims it later.
    async fn take_over(self: &Arc<Self>, stored: &StoredTask) -> bool {
        let taken = match self.try_take_over(stored).await {
            Err(TakeOverError::Final(error)) => {
                tracing::error!(tool = stored.record.tool, %error, "a stored task cannot run");
                let ending = Ending::Failed(error);
                let ended = self.end(&stored.id, &stored.principal, ending).await;
                ended.map(drop)
            }
            Err(TakeOverError::Temporary(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        let Err(error) = taken else { return true };
        tracing::warn!(tool = stored.record.tool, %error, "a stored task is continued later");
        let worker = self.worker(Vec::new());
        if let Err(error) = self.config.store.release(&stored.id, &worker).await {
            tracing::warn!(%error, "a task could not be given back; its lease ends by itself");
        }
        false
    }

    async fn try_take_over(self: &Arc<Self>, stored: &StoredTask) -> Result<(), TakeOverError> {
        let (id, principal) = (&stored.id, &stored.principal);
        let record = &stored.record;
        if has_ended(record.ttl_ms, record.created_at_ms, now_ms()) {
            let ended = self.end(id, principal, Ending::expired()).await;
            return ended.map(drop).map_err(TakeOverError::Temporary);
        }
        // The server must exist to the end, because it has the keys of the records.
        let Some(server) = self.server() else {
            let error = ErrorObject::internal("the server has ended");
            return Err(TakeOverError::Temporary(error));
        };
        let tool = server.snapshot().tools.get(&record.tool).cloned();
        let Some(tool) = tool else {
            let error = ErrorObject::internal("the tool of the task does not exist any more");
            return Err(TakeOverError::Final(error));
        };
        if !may_run(&tool, stored) {
            let ended = self.end(id, principal, Ending::lost()).await;
            return ended.map(drop).map_err(TakeOverError::Temporary);
        }
        let changed = match self.mark_as_started(stored).await {
            // The change may have happened. Only this process knows that the handler has not started.
            Err(_) => self.mark_as_started(stored).await,
            changed => changed,
        };
        let changed = changed.map_err(TakeOverError::Temporary)?;
        let Some(stored) = changed.filter(|stored| self.is_owner(stored)) else {
            return Ok(());
        };
        let call = self.call(&stored).map_err(TakeOverError::Final)?;
        run_stored(self, &stored, &tool, call, None, None).map_err(TakeOverError::Final)
    }

    /// Writes that the handler of a claimed task starts. Returns the new state, or `None` if the task does not exist.
    async fn mark_as_started(
        &self,
        claimed: &StoredTask,
    ) -> Result<Option<StoredTask>, ErrorObject> {
        let restarts = claimed.record.restarts + u32::from(!claimed.record.restartable);
        self.update(&claimed.id, &claimed.principal, |stored, record| {
            if record.is_final() || !self.is_owner(stored) {
                return Ok(RecordChange::Keep);
            }
            record.restarts = restarts;
            record.restartable = false;
            Ok(RecordChange::Write)
        })
        .await
    }
}

/// Why a claimed task was not continued.
enum TakeOverError {
    /// No process with the same keys and tools can continue it.
    Final(ErrorObject),
    /// It can be continued later.
    Temporary(ErrorObject),
}

/// Returns `true` if the handler of a claimed task may start (again).
fn may_run(tool: &ToolEntry, stored: &StoredTask) -> bool {
    let resumes = tool.task.as_ref().is_some_and(|options| options.resume);
    let record = &stored.record;
    record.restartable || (resumes && record.restarts < MAX_RESTARTS)
}

/// Takes over the tasks of lost processes, as long as the server exists.
async fn take_over_lost_tasks(runtime: Weak<TaskRuntime>, claimable: Arc<Notify>) {
    loop {
        let pause = {
            let Some(runtime) = runtime.upgrade() else {
                return;
            };
            if runtime.server().is_none() {
                return;
            }
            let tools = runtime.task_tools();
            runtime.claim(tools, runtime.config.max_running).await;
            let third = runtime.config.lease / 3;
            let poll = runtime.config.store.poll_interval().unwrap_or(third);
            third.min(poll.max(Duration::from_millis(100)))
        };
        // An error means that the time is over.
        let _ = tokio::time::timeout(pause, claimable.notified()).await;
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
