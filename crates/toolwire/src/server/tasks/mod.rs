//! Tasks: tool calls that outlive their request.
//!
//! A call becomes a task by the decision of `call`. Its record is stored first (`runtime`), then its handler runs in
//! the background (`run`), and only then does the client get the task. From there on, everything that a response about
//! the task needs is in the record, and every node can respond (`methods`). `leases` keeps the leases of running tasks,
//! and `worker` continues the tasks of lost processes. What handlers do with their task is in `context` and `running`.

mod call;
mod client_support;
mod config;
mod context;
mod ending;
mod handle;
mod leases;
mod methods;
mod open_requests;
mod options;
mod owner;
mod record;
mod registrations;
mod run;
mod running;
mod runtime;
mod store;
mod store_retries;
mod transport;
mod waiting;
mod wire;
mod worker;

use std::sync::Arc;

pub use config::Tasks;
pub use handle::ServerTask;
pub use options::TaskOptions;
pub(crate) use owner::owner_of;
pub(crate) use running::RunningTask;
use runtime::TaskFunctions;
pub(crate) use runtime::TaskRuntime;
pub(crate) use wire::{end_of_life, notification, visible};
pub use worker::TaskWorkerOptions;

use crate::server::Server;

impl Server {
    /// Lets calls of tools with `#[tool(task)]` become tasks, which outlive their request.
    ///
    /// The guide page [`tasks`](crate::guide::tasks) describes them.
    #[must_use]
    pub fn with_tasks(self, tasks: Tasks) -> Self {
        let runtime = Arc::new(TaskRuntime::new(
            tasks,
            &self,
            TaskFunctions {
                call_as_task: call::call_as_task,
                respond_with_task: handle::respond_with_task,
                start: TaskRuntime::start_maintenance,
            },
        ));
        self.change(|snapshot| {
            snapshot.install(&methods::TASKS);
            snapshot.tasks = Some(Arc::clone(&runtime));
        });
        self
    }
}
