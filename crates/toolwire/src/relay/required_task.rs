//! Calls of tools that run only as tasks of 2025-11-25, for clients that do not have this design of tasks.
//!
//! The server rejects such a call with −32601 (2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"). Nothing has
//! run then. The relay sends the call again as a task and waits for its result, which is the result of the client's call.
//! If the call ends without a result, the relay cancels the task.

use serde_json::json;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{RawJson, code, meta_key};

use crate::error::Error;
use crate::relay::connection::{UpstreamConnection, UpstreamRequest};
use crate::relay::parked::UpstreamOutcome;

/// Returns `true` if the server of a session runs calls of tools as tasks of 2025-11-25.
pub(super) fn runs_calls_as_tasks(session: &UpstreamConnection) -> bool {
    let Some(server) = session.client.server() else {
        return false;
    };
    let tasks = server.capabilities.tasks.as_ref();
    let tools = tasks.and_then(|tasks| tasks.requests.as_ref()?.get("tools"));
    let has_calls = tools.is_some_and(|tools| tools.contains_key("call"));
    has_calls && session.version().has_core_tasks()
}

/// Sends a request. If the server runs the tool of a call only as a task, sends the call as a task and waits for its result.
///
/// # Errors
/// Returns an error if there is no response.
pub(super) async fn send_call(
    session: &UpstreamConnection,
    request: UpstreamRequest<'_>,
) -> Result<UpstreamOutcome, Error> {
    let may_be_task = request.method == "tools/call" && runs_calls_as_tasks(session);
    let params = request.params.as_ref().filter(|_| may_be_task);
    let Some(params) = params.and_then(as_task) else {
        return session.try_send(request).await;
    };
    let creating = request.again("tools/call", params);
    match session.try_send(request).await? {
        Err(error) if error.code == code::METHOD_NOT_FOUND => {}
        outcome => return Ok(outcome),
    }
    let waiting = creating.again("tasks/result", RawJson::empty_object());
    let created = match session.try_send(creating).await? {
        Ok(created) => created,
        Err(error) => return Ok(Err(error)),
    };
    let Some(id) = task_id(&created) else {
        return Ok(Ok(created));
    };
    let mut task = CreatedTask {
        session: session.clone(),
        params: RawJson::from(json!({ "taskId": id })),
        has_ended: false,
    };
    let waiting = waiting.again("tasks/result", task.params.clone());
    let outcome = session.try_send(waiting).await?;
    task.has_ended = true;
    Ok(outcome.map(without_task))
}

/// Returns the parameters of a call that requests a task.
fn as_task(params: &RawJson) -> Option<RawJson> {
    let mut members = RawObject::parse(params.as_raw_value())?;
    members.set("task", RawJson::empty_object());
    Some(members.finish())
}

fn task_id(created: &RawJson) -> Option<String> {
    let mut members = RawObject::parse(created.as_raw_value())?;
    let id = members.object_mut("task")?.text("taskId")?.into_owned();
    Some(id)
}

/// Returns the result of a task without the id of the task, which the client does not know.
fn without_task(result: RawJson) -> RawJson {
    let edited = RawObject::parse(result.as_raw_value()).and_then(|mut members| {
        members.object_mut("_meta")?.remove(meta_key::RELATED_TASK);
        members.finish_if_edited()
    });
    edited.unwrap_or(result)
}

/// A task of the relay. It is cancelled on drop, unless it has ended.
#[derive(Debug)]
struct CreatedTask {
    session: UpstreamConnection,
    params: RawJson,
    has_ended: bool,
}

impl Drop for CreatedTask {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let (session, params) = (self.session.clone(), self.params.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let cancelled = session.request("tasks/cancel", params).await;
                if let Err(error) = cancelled {
                    tracing::debug!(%error, "a task of the relay was not cancelled");
                }
            });
        }
    }
}
