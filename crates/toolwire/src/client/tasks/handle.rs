//! A handle of one task on the server.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;
use toolwire_types::tasks::CancelTaskRequestParams;
use toolwire_types::tasks::extension::DetailedTask;
use toolwire_types::{CallToolResult, InputResponses, RawJson};

use crate::client::Client;
use crate::client::arguments::serialize_error;
use crate::client::call::{CallOptions, Finished};
use crate::client::tasks::cancel_on_drop::CancelOnDrop;
use crate::client::tasks::requests::gone_or;
use crate::client::tasks::waiting::TaskWaiting;
use crate::error::Error;

/// A task on the server. Clones refer to the same task. Dropping them changes nothing.
///
/// Create it with [`Call::as_task`](crate::Call::as_task), or from a stored id with [`Client::task`].
///
/// ```
/// # async fn example(client: toolwire::Client, stored_id: String) -> Result<(), toolwire::Error> {
/// let task = client.task(stored_id);
/// println!("{:?}", task.get().await?.task.status);
/// let result = task.wait().await?;
/// println!("{}", result.all_text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TaskHandle {
    client: Client,
    id: Arc<str>,
    /// The tool of the task, unless the handle was created from an id.
    tool: Option<Arc<str>>,
    /// The task as the server created it, with the time of that response.
    created: Option<Arc<(DetailedTask, Instant)>>,
}

impl TaskHandle {
    pub(super) fn new(client: &Client, id: String) -> Self {
        Self {
            client: client.clone(),
            id: id.into(),
            tool: None,
            created: None,
        }
    }

    pub(super) fn created(client: &Client, tool: Option<String>, task: DetailedTask) -> Self {
        Self {
            client: client.clone(),
            id: task.task.task_id.as_str().into(),
            tool: tool.map(Into::into),
            created: Some(Arc::new((task, Instant::now()))),
        }
    }

    /// Returns the id of the task. It stays valid after this process has ended.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Gets the task: its status and message, and what the status brings, such as input requests.
    ///
    /// On a 2025-11-25 server the task has neither input requests nor an outcome; use [`wait`](Self::wait) for them.
    ///
    /// # Errors
    /// Returns an error if the request fails. If the server does not know the task, it is
    /// [`Error::is_task_gone`].
    pub async fn get(&self) -> Result<DetailedTask, Error> {
        let options = CallOptions::default();
        let state = self.client.task_state(&self.id, &options).await;
        state.map_err(|error| gone_or(&self.id, error))
    }

    /// Waits for the result of the task. The handlers of the client respond to its input requests.
    ///
    /// Failed polls are repeated. Dropping the future does not cancel the task. A task that still requires input after 60
    /// polls without a new input request is cancelled. The result is validated as that of
    /// [`Client::call_tool`], unless the handle comes from [`Client::task`]: an id does not name the tool.
    ///
    /// # Errors
    /// Returns the JSON-RPC error of a failed task. Returns [`Error::is_task_cancelled`] for a cancelled task, and
    /// [`Error::is_task_gone`] for one that the server does not know. Returns an error if an input request has no
    /// handler; use [`respond`](Self::respond) for it.
    pub async fn wait(&self) -> Result<CallToolResult, Error> {
        let options = CallOptions::default();
        let mut waiting = TaskWaiting::new(&self.client, &self.id, &options);
        let created = self.created.as_deref();
        let waited = waiting.run(created.map(|(task, at)| (task, *at))).await;
        if waiting.has_given_up() {
            drop(CancelOnDrop::new(&self.client, self.id.to_string()));
        }
        let result = waited?;
        let result: CallToolResult = result
            .parse()
            .map_err(|error| Error::decode("result of the task", error))?;
        let Some(tool) = &self.tool else {
            return Ok(result);
        };
        match self.client.check_output(tool.to_string(), result) {
            Finished::Now(checked) => checked,
            Finished::Later(checking) => checking.await,
        }
    }

    /// Responds to an input request of the task, for example with an [`ElicitResult`](crate::types::ElicitResult).
    ///
    /// [`get`](Self::get) returns the input requests with their keys. The server ignores keys that it does not know.
    ///
    /// # Errors
    /// Returns an error if the request fails, or on a 2025-11-25 server, whose tasks send requests to the client that
    /// [`wait`](Self::wait)s.
    pub async fn respond(
        &self,
        key: impl Into<String>,
        response: impl Serialize,
    ) -> Result<(), Error> {
        let response = RawJson::from_serialize(&response)
            .map_err(|error| serialize_error("the response", error))?;
        let mut responses = InputResponses::new();
        responses.insert(key, response);
        if self.client.version().has_core_tasks() {
            return Err(Error::invalid_request(
                "a task of this revision requests input from the client that waits for it; use TaskHandle::wait",
            ));
        }
        let options = CallOptions::default();
        self.client.update_task(&self.id, responses, &options).await
    }

    /// Asks the server to cancel the task. The task may still complete.
    ///
    /// # Errors
    /// Returns an error if the request fails. If the server does not know the task, it is [`Error::is_task_gone`]. A
    /// 2025-11-25 server rejects the cancellation of a final task like that of an unknown one, so there it is the
    /// server's error.
    pub async fn cancel(&self) -> Result<(), Error> {
        let params = CancelTaskRequestParams::new(&*self.id);
        let options = CallOptions::default();
        let cancelling = self.client.task_request("tasks/cancel", &params, &options);
        match cancelling.await {
            Ok(_) => Ok(()),
            Err(error) if self.client.version().has_core_tasks() => Err(error),
            Err(error) => Err(gone_or(&self.id, error)),
        }
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
