//! Calls that become tasks, on a server that has tasks.

use std::sync::Arc;
use std::time::Duration;

use toolwire_types::tasks::extension::EXTENSION_ID;
use toolwire_types::{ErrorObject, RawJson, ServerCapabilities, TasksCapability};

use crate::engine::{BoxFuture, Outcome};
use crate::server::Server;
use crate::server::request::Exchange;
use crate::server::snapshot::Snapshot;
use crate::server::tool::ToolEntry;

impl Server {
    /// Continues stored tasks, when it begins to serve. Outside of a Tokio runtime, the first request does it.
    pub(crate) fn start_tasks(&self) {
        if let Some(runtime) = &self.snapshot().tasks {
            (runtime.functions.start)(runtime);
        }
    }

    /// Stops the tasks that run in this process, when it stops serving. They get this time to end.
    pub(crate) async fn stop_tasks(&self, grace: Duration) {
        let tasks = self.snapshot().tasks.clone();
        if let Some(runtime) = tasks {
            runtime.stop_running(grace).await;
        }
    }
}

impl Snapshot {
    /// Returns the work of a call that becomes a task. Returns `None` for an ordinary call.
    #[inline]
    pub(crate) fn call_as_task<'a>(
        &'a self,
        exchange: &'a Exchange,
        tool: &'a Arc<ToolEntry>,
    ) -> Result<Option<BoxFuture<'a, Outcome>>, ErrorObject> {
        match &self.tasks {
            Some(runtime) => (runtime.functions.call_as_task)(runtime, exchange, tool),
            None => Ok(None),
        }
    }

    /// Returns `true` if the server itself has tasks.
    #[cfg(feature = "relay")]
    pub(crate) fn has_own_tasks(&self) -> bool {
        self.tasks.is_some()
    }

    /// Returns a tool that can run only as a task, on a server without tasks.
    pub(crate) fn tool_without_tasks(&self) -> Option<&str> {
        let mut tools = self.tools.values().filter(|_| self.tasks.is_none());
        let tool = tools.find(|tool| tool.task.as_ref().is_some_and(|options| options.required))?;
        Some(&tool.descriptor.name)
    }

    /// Adds the capabilities of tasks: that of 2025-11-25, and the extension of 2026-07-28. Stamping removes the one that
    /// a version does not have.
    pub(crate) fn add_task_capabilities(&self, capabilities: &mut ServerCapabilities) {
        if self.tasks.is_none() {
            return;
        }
        let tasks = TasksCapability::new().with_list().with_cancel();
        capabilities.tasks = Some(tasks.with_request("tools/call"));
        capabilities
            .extensions
            .get_or_insert_default()
            .insert(EXTENSION_ID.to_owned(), RawJson::empty_object());
    }
}
