//! How the calls of a tool become tasks.

use std::time::Duration;

use toolwire_types::{TaskSupport, ToolExecution};

use crate::server::tool::{ToolEntry, ToolHandler};

/// How the calls of a tool become tasks. The default: every call of a client that supports tasks becomes one at once.
///
/// ```
/// use std::time::Duration;
/// use toolwire::tasks::TaskOptions;
/// use toolwire::{RequestContext, ToolHandler};
///
/// let render = |_: RequestContext, scene: String| async move { format!("rendered {scene}") };
/// let render = ToolHandler::typed("render", render)
///     .with_task(TaskOptions::new().after(Duration::from_secs(2)).with_ttl(Duration::from_secs(7200)));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TaskOptions {
    pub(crate) required: bool,
    pub(crate) start: TaskStart,
    pub(crate) ttl: Option<Duration>,
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) resume: bool,
}

/// When a call becomes a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TaskStart {
    #[default]
    Immediately,
    /// If it has not finished by then.
    After(Duration),
    /// When the handler calls `RequestContext::start_task`.
    OnDemand,
}

impl TaskOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rejects calls of clients that do not support tasks. Without it they get the result as the response of the call.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Responds to a call directly if it finishes in this time, and with a task otherwise. 2025-11-25 clients, which
    /// ask for a task themselves, get one at once.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Self {
        self.start = TaskStart::After(time);
        self
    }

    /// Makes a call a task only when its handler calls
    /// [`RequestContext::start_task`](crate::RequestContext::start_task).
    #[must_use]
    pub fn on_demand(mut self) -> Self {
        self.start = TaskStart::OnDemand;
        self
    }

    /// Sets how long a task may exist. Default: that of the server's [`Tasks`](crate::tasks::Tasks).
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets how often clients should poll. Default: that of the server's [`Tasks`](crate::tasks::Tasks).
    #[must_use]
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }

    /// Permits to run the handler again if its process stopped while it ran, up to three times. The handler gets the
    /// stored results of `once` and the responses that it had. Without it such a task fails.
    #[must_use]
    pub fn resume(mut self) -> Self {
        self.resume = true;
        self
    }
}

impl TaskOptions {
    fn support(&self) -> TaskSupport {
        if self.required {
            TaskSupport::Required
        } else {
            TaskSupport::Optional
        }
    }
}

impl ToolEntry {
    /// Returns whether calls of the tool may be tasks.
    pub(crate) fn task_support(&self) -> TaskSupport {
        let options = self.task.as_ref();
        options.map_or(TaskSupport::Forbidden, TaskOptions::support)
    }
}

impl ToolHandler {
    /// Lets calls of this tool become tasks, on a server with
    /// [`Server::with_tasks`](crate::Server::with_tasks).
    #[must_use]
    pub fn with_task(mut self, options: TaskOptions) -> Self {
        // Only 2025-11-25 clients see this, because they decide which calls become tasks.
        self.descriptor.execution = Some(ToolExecution::new(options.support()));
        self.task = Some(options);
        self
    }
}
