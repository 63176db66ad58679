//! A tool call whose caller wants the task and not its outcome.

use toolwire_types::CallToolResult;

use crate::client::call::{Call, Finished};
use crate::client::tasks::TaskHandle;
use crate::client::tasks::requests::called_tool;
use crate::error::Error;

/// What a tool call returned: its result, or the task that will have the result. See [`Call::as_task`].
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a call either has its result or became a task"
)]
pub enum Called {
    /// The server returned the result at once.
    Completed(CallToolResult),
    /// The call became a task.
    Task(TaskHandle),
}

impl Call<CallToolResult> {
    /// Returns a task at once, without waiting for its result.
    ///
    /// A 2026-07-28 server decides for each call whether it becomes a task. A 2025-11-25 server creates one if the tool
    /// permits it. Store the id of the task to continue with it later: [`Client::task`](crate::Client::task).
    ///
    /// ```
    /// # async fn example(client: toolwire::Client) -> Result<(), toolwire::Error> {
    /// use serde_json::json;
    /// use toolwire::Called;
    ///
    /// match client.call_tool("render", json!({"scene": "harbour"})).as_task().await? {
    ///     Called::Completed(result) => println!("{}", result.all_text()),
    ///     Called::Task(task) => println!("running as {}", task.id()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call fails if the client was built without [`with_tasks`](crate::ClientBuilder::with_tasks).
    pub fn as_task(self) -> Call<Called> {
        let finish = self.finish;
        let mut options = self.options;
        options.returns_task = true;
        let params = self.params.as_ref().ok().and_then(Option::as_ref);
        let tool = params.and_then(called_tool);
        let params = if self.client.shared.config.tasks {
            self.params
        } else {
            Err(Error::invalid_request(
                "this client was built without tasks; use ClientBuilder::with_tasks",
            ))
        };
        let call =
            Call::with_finish(
                &self.client,
                self.method,
                params,
                move |client, result| match client.created_task(&result) {
                    Ok(Some(task)) => {
                        Finished::Now(Ok(Called::Task(TaskHandle::created(client, tool, task))))
                    }
                    Ok(None) => match finish(client, result) {
                        Finished::Now(finished) => Finished::Now(finished.map(Called::Completed)),
                        Finished::Later(running) => Finished::Later(Box::pin(async {
                            running.await.map(Called::Completed)
                        })),
                    },
                    Err(error) => Finished::Now(Err(error)),
                },
            );
        call.with_options(options)
    }
}
