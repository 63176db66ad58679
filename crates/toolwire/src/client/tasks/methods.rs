//! The methods of a client with tasks.

use std::sync::Arc;

use serde_json::json;
use toolwire_types::RawJson;
use toolwire_types::tasks::core::{ListTasksResult, Task};
use toolwire_types::tasks::extension::{DetailedTask, EXTENSION_ID};

use crate::client::builder::ClientBuilder;
use crate::client::call::Call;
use crate::client::list::ListCall;
use crate::client::tasks::TaskHandle;
use crate::client::{Client, ServerDetails};

impl ClientBuilder {
    /// Accepts tasks: a server may process a tool call as a task that outlives the request.
    ///
    /// [`Client::call_tool`] then waits for the task, passes its input requests to the handlers, and returns its
    /// result. [`Call::as_task`](crate::Call::as_task) returns the task itself. The client declares the extension
    /// `io.modelcontextprotocol/tasks`, and on 2025-11-25 it requests tasks for tools that require them.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), toolwire::Error> {
    /// use serde_json::json;
    /// use toolwire::{Client, ServerCommand};
    ///
    /// let client = Client::builder("desk", "1.0.0")
    ///     .with_tasks()
    ///     .spawn(ServerCommand::new("studio-server"))
    ///     .await?;
    /// let film = client.call_tool("render", json!({"scene": "harbour"})).await?;
    /// println!("{}", film.all_text());
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_tasks(mut self) -> Self {
        self.config.tasks = true;
        self.with_extension(EXTENSION_ID, RawJson::empty_object())
    }

    /// Sets the listener for the status of tasks that the client waits for.
    ///
    /// It is called whenever the status or its message has changed, and must not block.
    pub fn on_task_status(
        mut self,
        listener: impl Fn(DetailedTask) + Send + Sync + 'static,
    ) -> Self {
        self.config.handlers.task_status = Some(Arc::new(listener));
        self
    }
}

impl Client {
    /// Returns a handle of the task with this id. Nothing is sent.
    ///
    /// The id may come from another process. The client must be built with
    /// [`with_tasks`](ClientBuilder::with_tasks), and must have the same identity as the client that made the call.
    #[must_use]
    pub fn task(&self, id: impl Into<String>) -> TaskHandle {
        TaskHandle::new(self, id.into())
    }

    /// Lists all tasks of this client on a 2025-11-25 server. Later revisions have no such list.
    pub fn list_tasks(&self) -> ListCall<ListTasksResult, Task> {
        ListCall::new(self, Self::list_tasks_page, |page| {
            (page.tasks, page.next_cursor)
        })
    }

    /// Lists one page of tasks. `None` requests the first page.
    pub fn list_tasks_page(&self, cursor: Option<String>) -> Call<ListTasksResult> {
        let params = cursor.map(|cursor| RawJson::from(json!({ "cursor": cursor })));
        self.decoded_call("tasks/list", Ok(params))
    }

    /// Returns `true` if the server declares the extension.
    pub(super) fn server_has_tasks(&self) -> bool {
        let has_tasks =
            |server: Arc<ServerDetails>| server.capabilities.extension(EXTENSION_ID).is_some();
        self.server().is_some_and(has_tasks)
    }
}
