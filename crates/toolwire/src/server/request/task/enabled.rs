//! The task of a request. The trait keeps the code of tasks out of programs that have none.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::engine::{BoxFuture, Cancellation};
use crate::error::Error;
use crate::server::RequestContext;
use crate::server::ask::PendingAsk;
use crate::server::tasks::RunningTask;

/// What the handler of a task does through its task instead of its request.
pub(crate) trait TaskScope: Send + Sync + fmt::Debug {
    /// Returns the id of the task.
    fn id(&self) -> &str;

    /// Returns the task in this process.
    fn running(&self) -> &Arc<RunningTask>;

    /// Returns the cancellation flag of the task.
    fn cancellation(&self) -> &Cancellation;

    /// Sets the status message, without waiting. Of several messages in a short time the last one counts.
    fn set_message(&self, message: String);

    /// Puts input requests into the task, waits until all have a response, and stores the responses in the journal.
    fn ask<'a>(
        &'a self,
        context: &'a RequestContext,
        asks: Vec<&'a PendingAsk>,
    ) -> BoxFuture<'a, Result<(), Error>>;

    /// Stores the journal in the task.
    fn save_journal<'a>(&'a self, context: &'a RequestContext) -> BoxFuture<'a, Result<(), Error>>;
}

/// The task of a request. A request without one may become a task while its handler runs.
#[derive(Debug, Default)]
pub(crate) struct RequestTask {
    task: OnceLock<Arc<dyn TaskScope>>,
    /// Set while the task is created.
    is_starting: AtomicBool,
}

impl RequestTask {
    /// Returns the slot of a request that is a task from the start.
    pub(crate) fn of(task: Arc<dyn TaskScope>) -> Self {
        Self {
            task: OnceLock::from(task),
            is_starting: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&dyn TaskScope> {
        self.task.get().map(|task| &**task)
    }

    /// Returns `true` while a task is created for the request.
    pub(crate) fn is_starting(&self) -> bool {
        self.is_starting.load(Ordering::Acquire)
    }

    /// Marks the request as one that becomes a task, until the returned value is dropped. Returns `None` if it is
    /// marked already: a request becomes one task.
    pub(crate) fn start(&self) -> Option<TaskStarting<'_>> {
        let was_starting = self.is_starting.swap(true, Ordering::AcqRel);
        (!was_starting).then_some(TaskStarting(&self.is_starting))
    }

    /// Turns the request into a task. Only the first call has an effect.
    pub(crate) fn set(&self, task: Arc<dyn TaskScope>) {
        let _ = self.task.set(task);
    }
}

impl Clone for RequestTask {
    fn clone(&self) -> Self {
        Self {
            task: self.task.clone(),
            is_starting: AtomicBool::new(false),
        }
    }
}

/// The time in which a request becomes a task.
pub(crate) struct TaskStarting<'a>(&'a AtomicBool);

impl Drop for TaskStarting<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
