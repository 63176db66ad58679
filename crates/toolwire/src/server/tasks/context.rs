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
use crate::server::tasks::options::{TaskOptions, TaskStart};
use crate::server::tasks::owner::owner_of;
use crate::server::tasks::record::TaskJournal;
use crate::server::tasks::running::{DetachedCall, RunningTask, TaskOfHandler, author_state};
use crate::server::tasks::runtime::{NewTask, TaskRuntime};
use crate::server::tool::ToolEntry;

impl RequestContext {
    /// Returns the id of the task that this call has become.
    #[must_use]
    pub fn task_id(&self) -> Option<&str> {
        Some(self.scope().task.get()?.id())
    }

    /// Sets the status message of the task, which clients show while they wait. It is shortened beyond 4,096 bytes.
    /// Without a task, nothing happens.
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

    /// Returns a task that another system ends: a workflow engine, a queue, a webhook. Return
    /// [`ToolResponse::task`](crate::ToolResponse::task) with it. From then on no handler waits, and the task belongs to
    /// no process.
    ///
    /// If the call is a task already, this is the same task. Otherwise it is a new one, and the client gets it as the
    /// response of the call. A 2025-11-25 client that requests a task always gets it before the handler runs.
    ///
    /// ```
    /// use toolwire::tasks::Tasks;
    /// use toolwire::{CallToolResult, Error, RequestContext, Server, ToolResponse, tool};
    /// # use serde_json::json;
    /// # use toolwire::transport::InProcess;
    ///
    /// /// Orders a part.
    /// #[tool(task(required))]
    /// async fn order(ctx: &RequestContext, part: String) -> Result<ToolResponse, Error> {
    ///     let task = ctx.create_task().await?;
    ///     // The supplier stores the id, and sends it back with the part.
    ///     ctx.once("order", send_order(&part, task.id())).await?;
    ///     Ok(ToolResponse::task(task))
    /// }
    ///
    /// async fn send_order(part: &str, id: &str) {
    /// #   let _ = (part, id);
    /// }
    ///
    /// /// Handles the webhook of the supplier.
    /// async fn delivered(server: &Server, id: &str) -> Result<(), Error> {
    ///     if let Some(task) = server.task(id).await? {
    ///         task.complete(CallToolResult::text("delivered")).await?;
    ///     }
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = Server::new("shop", "1.0.0").with_tasks(Tasks::in_memory()).tool(order);
    /// # let mut client = InProcess::connect(&server);
    /// # let meta = json!({
    /// #     "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    /// #     "io.modelcontextprotocol/clientCapabilities": {
    /// #         "extensions": {"io.modelcontextprotocol/tasks": {}},
    /// #     },
    /// # });
    /// # let mut request = async |method: &str, mut params: serde_json::Value| {
    /// #     params["_meta"] = meta.clone();
    /// #     let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    /// #     client.send(&request.to_string()).await.unwrap();
    /// #     let response = client.receive().await.unwrap();
    /// #     serde_json::from_str::<serde_json::Value>(&response).unwrap()["result"].take()
    /// # };
    /// # let task = request("tools/call", json!({"name": "order", "arguments": {"part": "axle"}})).await;
    /// # let id = task["taskId"].as_str().unwrap();
    /// # delivered(&server, id).await?;
    /// # let task = request("tasks/get", json!({"taskId": id})).await;
    /// # assert_eq!(task["result"]["content"][0]["text"], "delivered", "{task}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the client does not support tasks, and if the task cannot be stored. Tools that create tasks
    /// should be [`required`](crate::tasks::TaskOptions::required). With
    /// [`on_demand`](crate::tasks::TaskOptions::on_demand), the errors of a handler before this call are those of the
    /// call, for 2026-07-28 clients.
    pub async fn create_task(&self) -> Result<ServerTask, Error> {
        let (runtime, tool) = self.task_tool()?;
        if let Some(task) = self.scope().task.get() {
            return Ok(ServerTask::of(task.running()));
        }
        let name = &tool.descriptor.name;
        client_tasks(self)?.check(self.version(), name, TaskSupport::Required)?;
        let default = TaskOptions::default();
        let options = tool.task.as_ref().unwrap_or(&default);
        if matches!(options.start, TaskStart::After(_)) {
            // The call becomes a task by itself when its time is over. There must not be a second one then.
            let task = detach(runtime, self, tool, options).await?;
            return Ok(ServerTask::of(&task));
        }
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
        principal: owner_of(&Principal::of(context.auth())),
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
) -> Result<Arc<RunningTask>, ErrorObject> {
    let scope = context.scope();
    let Some(_starting) = scope.task.start() else {
        return Err(ErrorObject::internal(
            "the handler starts its task twice at the same time; start it once",
        ));
    };
    let permit = runtime.reserve()?;
    let mut journal = TaskJournal::default();
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
    let task = RunningTask::of_call(runtime, DetachedCall { stored, permit });
    scope.task.set(Arc::new(TaskOfHandler(Arc::clone(&task))));
    Ok(task)
}
