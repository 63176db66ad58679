//! What handlers do with their task.

use std::sync::Arc;

use toolwire_proto::requests::is_overloaded;
use toolwire_proto::task_rules::ClientTasks;
use toolwire_types::{ErrorObject, TaskSupport};

use crate::engine::Principal;
use crate::error::Error;
use crate::server::RequestContext;
use crate::server::tasks::client_support::{call_of, client_tasks};
use crate::server::tasks::handle::ServerTask;
use crate::server::tasks::options::TaskOptions;
use crate::server::tasks::record::TaskJournal;
use crate::server::tasks::running::{RunningTask, TaskOfHandler, author_state};
use crate::server::tasks::runtime::{NewTask, TaskRuntime};
use crate::server::tool::ToolEntry;

impl RequestContext {
    /// Returns the id of the task that this call has become.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        Some(self.scope().task.get()?.id())
    }

    /// Sets the status message of the task, which clients show while they wait. Without a task, nothing happens.
    ///
    /// Of several messages within half a second, the last one counts. Progress reports set the message as well.
    pub fn set_status_message(&self, message: impl Into<String>) {
        if let Some(task) = self.scope().task.get() {
            task.set_message(message.into());
        }
    }

    /// Turns this call into a task, for tools with
    /// [`TaskOptions::on_demand`](crate::tasks::TaskOptions::on_demand). The client gets the task as its response, and
    /// the handler continues.
    ///
    /// Nothing happens if the call is a task already, or if the client does not support tasks: it then gets the result
    /// as the response of the call.
    ///
    /// ```
    /// use toolwire::{Error, RequestContext, tool};
    ///
    /// /// Renders a scene.
    /// #[tool(task(on_demand))]
    /// async fn render(ctx: &RequestContext, scene: String) -> Result<String, Error> {
    ///     let quality: String = ctx.ask("quality", "Which quality?").await?;
    ///     ctx.start_task().await?;
    ///     Ok(format!("rendered {scene} in {quality}"))
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the tool cannot become a task, and if the task cannot be stored.
    pub async fn start_task(&self) -> Result<(), Error> {
        if self.scope().task.get().is_some() {
            return Ok(());
        }
        let (runtime, tool) = self.task_tool()?;
        let options = tool.task.as_ref().ok_or_else(not_a_task_tool)?;
        let client = client_tasks(self)?;
        client.check(self.version(), &tool.descriptor.name, tool.task_support())?;
        if client != ClientTasks::Accepted {
            return Ok(());
        }
        detach(runtime, self, tool, options).await?;
        Ok(())
    }

    /// Creates a task that another system ends: a workflow engine, a queue, a webhook. Return
    /// [`ToolResponse::task`](crate::ToolResponse::task) with it. No handler waits meanwhile.
    ///
    /// ```
    /// use toolwire::{Error, RequestContext, ToolResponse, tool};
    ///
    /// /// Orders a part.
    /// #[tool(task(required))]
    /// async fn order(ctx: &RequestContext, part: String) -> Result<ToolResponse, Error> {
    ///     let task = ctx.create_task().await?;
    ///     // The supplier calls a webhook with this id later: `server.task(id).await?.complete(…)`.
    ///     let _order = (part, task.id().to_owned());
    ///     Ok(ToolResponse::task(task))
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the client does not support tasks, if this call is a task already, and if the task cannot be
    /// stored. Tools that create tasks should be [`required`](crate::tasks::TaskOptions::required) and
    /// [`on_demand`](crate::tasks::TaskOptions::on_demand).
    pub async fn create_task(&self) -> Result<ServerTask, Error> {
        let (runtime, tool) = self.task_tool()?;
        if self.scope().task.get().is_some() {
            return Err(
                ErrorObject::internal("the call is a task already; return its result").into(),
            );
        }
        let name = &tool.descriptor.name;
        client_tasks(self)?.check(self.version(), name, TaskSupport::Required)?;
        let default = TaskOptions::default();
        let options = tool.task.as_ref().unwrap_or(&default);
        let new = new_task(self, tool, options, false);
        let stored = runtime.create(new, false).await?;
        Ok(ServerTask::new(runtime, &stored))
    }

    /// Returns the tasks of the server, and the tool of this call.
    fn task_tool(&self) -> Result<(&Arc<TaskRuntime>, &Arc<ToolEntry>), Error> {
        let scope = self.scope();
        let runtime = scope.snapshot.tasks.as_ref();
        let runtime = runtime.ok_or_else(|| {
            ErrorObject::internal("this server has no tasks; add them with `Server::with_tasks`")
        })?;
        let name = scope.request_params.name();
        let tool = name.filter(|_| scope.route.name() == "tools/call");
        let tool = tool.and_then(|name| scope.snapshot.tools.get(name));
        Ok((runtime, tool.ok_or_else(not_a_task_tool)?))
    }
}

fn not_a_task_tool() -> ErrorObject {
    ErrorObject::internal("only a tool with `task(on_demand)` can start a task")
}

fn new_task<'a>(
    context: &RequestContext,
    tool: &'a ToolEntry,
    options: &'a TaskOptions,
    runnable: bool,
) -> NewTask<'a> {
    NewTask {
        tool: &tool.descriptor.name,
        principal: Principal::of(context.auth()),
        version: context.version(),
        options,
        requested_ttl_ms: None,
        call: call_of(context),
        journal: None,
        runnable,
    }
}

/// Turns a running call into a task: its record is stored, and its scope belongs to the task from then on.
pub(crate) async fn detach(
    runtime: &Arc<TaskRuntime>,
    context: &RequestContext,
    tool: &ToolEntry,
    options: &TaskOptions,
) -> Result<(), ErrorObject> {
    let mut journal = TaskJournal::default();
    let scope = context.scope();
    scope
        .round
        .in_journal(|values| journal.set_values(values, author_state(context)));
    let mut new = new_task(context, tool, options, true);
    new.journal = Some(journal);
    let stored = runtime.create(new, true).await.map_err(|mut error| {
        if is_overloaded(&error) {
            // The handler has run, so the client must not repeat the call by itself.
            error.data = None;
        }
        error
    })?;
    let task = RunningTask::new(runtime, &stored, None);
    scope.task.set(Arc::new(TaskOfHandler(task)));
    Ok(())
}
