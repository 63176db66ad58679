//! The requests about one task.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use toolwire_proto::task_results::task_state;
use toolwire_proto::task_wait::PollFailure;
use toolwire_types::tasks::GetTaskRequestParams;
use toolwire_types::tasks::extension::{DetailedTask, UpdateTaskRequestParams};
use toolwire_types::{InputResponses, RawJson};

use crate::client::Client;
use crate::client::arguments::serialize_error;
use crate::client::call::CallOptions;
use crate::error::Error;

impl Client {
    /// Gets the state of a task.
    pub(super) async fn task_state(
        &self,
        id: &str,
        options: &CallOptions,
    ) -> Result<DetailedTask, Error> {
        let params = GetTaskRequestParams::new(id);
        let result = self.task_request("tasks/get", &params, options).await?;
        task_state(self.version(), id, &result).map_err(|reason| {
            Error::protocol(format!("the result of tasks/get is malformed: {reason}"))
        })
    }

    /// Sends input responses to a task.
    pub(super) async fn update_task(
        &self,
        id: &str,
        responses: InputResponses,
        options: &CallOptions,
    ) -> Result<(), Error> {
        let params = UpdateTaskRequestParams::new(id, responses);
        let updated = self.task_request("tasks/update", &params, options);
        updated.await.map(drop)
    }

    /// Sends one request about a task.
    pub(super) async fn task_request(
        &self,
        method: &'static str,
        params: &impl Serialize,
        options: &CallOptions,
    ) -> Result<RawJson, Error> {
        let params = RawJson::from_serialize(params)
            .map_err(|error| serialize_error("the parameters", error))?;
        let method = Cow::Borrowed(method);
        self.run(&method, Some(params), options).await
    }
}

/// Returns the name of the tool in the parameters of `tools/call`.
pub(super) fn called_tool(params: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct CalledTool {
        name: String,
    }

    let called: CalledTool = params.parse().ok()?;
    Some(called.name)
}

/// Returns the error for a task that the server does not know, or the error itself.
pub(super) fn gone_or(id: &str, error: Error) -> Error {
    match PollFailure::classify(error.http_status(), error.rpc()) {
        PollFailure::Gone => Error::task_gone(id, error),
        _ => error,
    }
}
