//! What a call does about tasks: it requests one from a 2025-11-25 server, and waits for the one that it got.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use indexmap::IndexMap;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::task_results::created_task;
use toolwire_types::tasks::extension::DetailedTask;
use toolwire_types::{ProgressToken, RawJson, TaskSupport};

use crate::client::Client;
use crate::client::call::CallOptions;
use crate::client::progress::LongRoute;
use crate::client::tasks::cancel_on_drop::CancelOnDrop;
use crate::client::tasks::requests::called_tool;
use crate::client::tasks::waiting::TaskWaiting;
use crate::engine::BoxFuture;
use crate::error::Error;

impl Client {
    /// Returns `true` if the client itself decides whether a call of this method becomes a task (2025-11-25).
    pub(crate) fn may_request_task(&self, method: &str) -> bool {
        self.shared.config.tasks && method == "tools/call" && self.version().has_core_tasks()
    }

    /// Runs a tool call of 2025-11-25, which becomes a task if the tool requires it, or if the caller wants a task and
    /// the tool permits it.
    #[expect(
        clippy::ptr_arg,
        reason = "a method whose name is known here is cloned without a copy"
    )]
    pub(crate) fn run_with_task<'a>(
        &'a self,
        method: &'a Cow<'static, str>,
        params: Option<RawJson>,
        options: &'a CallOptions,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let support = match &params {
                Some(params) => self.task_support(params).await,
                None => None,
            };
            let becomes_task = match support {
                Some(TaskSupport::Required) => true,
                Some(TaskSupport::Optional) => options.returns_task,
                _ => false,
            };
            let with_task = params.as_ref().filter(|_| becomes_task);
            let Some(params) = with_task.and_then(add_task_member) else {
                return self.round(method, params.as_ref(), options).await;
            };
            let mut options = options.clone();
            // Spec 2025-11-25, basic/utilities/tasks: the progress token is valid until the task is final.
            let _progress = options.on_progress.clone().map(|listener| {
                let token = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
                let activity = Arc::new(Notify::new());
                options.progress_route = Some(Arc::new(LongRoute {
                    token,
                    activity: Arc::clone(&activity),
                }));
                let routes = &self.session().incoming.progress;
                routes.register(ProgressToken::from(token), listener, activity)
            });
            let result = self.round(method, Some(&params), &options).await?;
            if options.returns_task || options.returns_input_required {
                return Ok(result);
            }
            self.task_outcome(result, &options).await
        })
    }

    /// Returns the task support of the called tool. Returns `None` if the server does not offer tasks for tools.
    async fn task_support(&self, params: &RawJson) -> Option<TaskSupport> {
        // Spec 2025-11-25, basic/utilities/tasks: the support of a tool counts only with the server's capability.
        let server = self.server()?;
        let capability = server.capabilities.tasks.as_ref()?;
        if !capability.supports_request("tools/call") {
            return None;
        }
        let called = called_tool(params)?;
        if self.shared.tools.is_empty()
            && let Err(error) = self.list_tools().await
        {
            tracing::debug!(%error, "the tools could not be listed before a call");
        }
        self.shared.tools.task_support(&called)
    }

    /// Returns the task that the result of `tools/call` names, if it names one.
    pub(super) fn created_task(&self, result: &RawJson) -> Result<Option<DetailedTask>, Error> {
        created_task(self.version(), result.as_raw_value()).map_err(|reason| {
            Error::protocol(format!("the task of tools/call is malformed: {reason}"))
        })
    }

    /// Waits for the task that the result of a call names, and returns the result of the task. Dropping the future
    /// cancels the task.
    pub(crate) fn task_outcome<'a>(
        &'a self,
        result: RawJson,
        options: &'a CallOptions,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let Some(task) = self.created_task(&result)? else {
                return Ok(result);
            };
            let id = task.task.task_id.clone();
            let cancel_on_drop = CancelOnDrop::new(self, id.clone());
            let mut waiting = TaskWaiting::new(self, &id, options);
            let outcome = waiting.run(Some((&task, Instant::now()))).await;
            if waiting.is_over() {
                cancel_on_drop.disarm();
            }
            outcome
        })
    }
}

/// Returns the parameters with an empty `task` object. Returns `None` if they already have a `task`.
fn add_task_member(params: &RawJson) -> Option<RawJson> {
    let mut members: IndexMap<String, &RawValue> = serde_json::from_str(params.get()).ok()?;
    let empty = RawJson::empty_object();
    match members.insert("task".to_owned(), empty.as_raw_value()) {
        None => RawJson::from_serialize(&members).ok(),
        Some(_) => None,
    }
}
