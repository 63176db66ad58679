//! The methods about tasks, in both designs.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::rounds;
use toolwire_proto::task_rules::check_cancel;
use toolwire_types::tasks::TaskStatus;
use toolwire_types::tasks::core::{ListTasksResult, RelatedTaskMetadata};
use toolwire_types::tasks::extension::UpdateTaskRequestParams;
use toolwire_types::{
    CallToolResult, EmptyResult, ErrorObject, InputRequest, InputResponses, RawJson, meta_key,
};

use crate::engine::{EncodedResult, Outcome, Principal};
use crate::error::Error;
use crate::server::input_request::InputChannel;
use crate::server::optional_methods::OptionalMethods;
use crate::server::request::Exchange;
use crate::server::tasks::ending::{Ending, now_ms};
use crate::server::tasks::open_requests::{open_requests, set_open_requests};
use crate::server::tasks::owner::owner_of;
use crate::server::tasks::runtime::{RecordChange, TaskRuntime, store_failed};
use crate::server::tasks::store_retries::StoreRetries;
use crate::server::tasks::wire::{core_task, is_tool_error, polled, visible};
use crate::store::{StoredTask, TaskOutcome, TaskRecord};

/// The number of tasks on a page of `tasks/list`, unless the server sets a page size.
const LIST_PAGE: usize = 100;

/// The methods of a server with tasks.
pub(crate) static TASKS: OptionalMethods = OptionalMethods {
    name: "tasks",
    respond: |_, _| None,
    start: |method, exchange| match method.name {
        "tasks/get" => Some(Box::pin(get(exchange))),
        "tasks/update" => Some(Box::pin(update(exchange))),
        "tasks/cancel" => Some(Box::pin(cancel(exchange))),
        "tasks/result" => Some(Box::pin(result(exchange))),
        "tasks/list" => Some(Box::pin(list(exchange))),
        _ => None,
    },
    scopes: |_, _, _| None,
};

/// Returns the error for every id that is not a task of the caller: unknown, expired, malformed, or of another caller.
fn unknown_task() -> ErrorObject {
    ErrorObject::invalid_params("unknown task")
}

/// Returns the tasks of the server, and the id in the request.
fn target(exchange: &Exchange) -> Result<(&Arc<TaskRuntime>, &str), ErrorObject> {
    let runtime = exchange.snapshot().tasks.as_ref();
    let runtime =
        runtime.ok_or_else(|| ErrorObject::method_not_found("this server has no tasks"))?;
    runtime.start_maintenance();
    let id = exchange.name();
    let id = id.ok_or_else(|| ErrorObject::invalid_params("params.taskId: expected a string"))?;
    Ok((runtime, id))
}

/// Returns the owner of the tasks of the caller.
fn owner(exchange: &Exchange) -> Principal {
    owner_of(&Principal::of(exchange.context.auth()))
}

async fn load(exchange: &Exchange) -> Result<StoredTask, ErrorObject> {
    let (runtime, id) = target(exchange)?;
    let stored = runtime.load(id, &owner(exchange)).await?;
    stored.ok_or_else(unknown_task)
}

async fn get(exchange: &Exchange) -> Outcome {
    let stored = load(exchange).await?;
    respond_with_task(exchange, &stored)
}

/// Encodes the task as the version of the request has it.
fn respond_with_task(exchange: &Exchange, stored: &StoredTask) -> Outcome {
    let (record, version) = (visible(stored), exchange.context.version());
    if version.has_core_tasks() {
        exchange
            .snapshot()
            .finish(core_task(&stored.id, &record), version)
    } else {
        let restamped = match &record.outcome {
            Some(TaskOutcome::Completed { result, .. }) if record.version.has_core_tasks() => {
                Some(restamped(exchange, result)?)
            }
            _ => None,
        };
        polled(exchange, &stored.id, &record, restamped.as_ref())
    }
}

/// Converts the result of a task of the core design into the form of the request's version.
fn restamped(exchange: &Exchange, result: &RawJson) -> Result<RawJson, ErrorObject> {
    let result: CallToolResult = result
        .parse()
        .map_err(|_| ErrorObject::internal("the result of the task cannot be read"))?;
    exchange
        .snapshot()
        .write(result, exchange.context.version())
}

async fn update(exchange: &Exchange) -> Outcome {
    let (runtime, id) = target(exchange)?;
    let params: UpdateTaskRequestParams = exchange.decode_params()?;
    accept_responses(runtime, id, &owner(exchange), &params.input_responses).await?;
    exchange
        .snapshot()
        .finish(EmptyResult::new(), exchange.context.version())
}

/// Puts responses into a task. If one of them violates its input request, none counts. Responses without an open input
/// request are ignored.
pub(crate) async fn accept_responses(
    runtime: &TaskRuntime,
    id: &str,
    principal: &Principal,
    responses: &InputResponses,
) -> Result<(), ErrorObject> {
    let changed = runtime
        .update(id, principal, |stored, record| {
            if visible(stored).is_final() {
                return Ok(RecordChange::Keep);
            }
            let mut journal = runtime.journal(stored)?;
            let mut open = open_requests(record)?;
            let before = open.len();
            for (key, response) in responses.iter() {
                let Some(input_request) = open.get(key) else {
                    continue;
                };
                let accepted = rounds::accept_response(input_request, response.clone())
                    .map_err(|invalid| invalid.into_error(key))?;
                journal.input_responses.insert(key, accepted);
                open.remove(key);
            }
            if open.len() == before {
                return Ok(RecordChange::Keep);
            }
            set_open_requests(record, &open)?;
            if open.is_empty() {
                record.status = TaskStatus::Working;
                // A handler that waited is started again. The record of one that works does not change, and a task that
                // another system ends has no handler.
                record.runnable |= record.restartable;
            }
            runtime.set_journal(stored, record, &journal)?;
            Ok(RecordChange::Write)
        })
        .await?;
    let stored = changed.ok_or_else(unknown_task)?;
    if stored.owner.is_none() && stored.record.runnable {
        // The handler has ended meanwhile, and is started again.
        runtime.claimable.notify_one();
    }
    Ok(())
}

/// Puts responses into a task. While the store is unavailable, tries again for ten minutes: otherwise the client would get
/// the same input request again.
async fn accept_with_retries(
    runtime: &TaskRuntime,
    id: &str,
    principal: &Principal,
    responses: &InputResponses,
) -> Result<(), ErrorObject> {
    let mut retries = StoreRetries::new();
    loop {
        let error = match accept_responses(runtime, id, principal, responses).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !retries.wait_after(Some(&error)).await {
            return Err(error);
        }
    }
}

async fn cancel(exchange: &Exchange) -> Outcome {
    let (runtime, id) = target(exchange)?;
    let version = exchange.context.version();
    let changed = runtime
        .update(id, &owner(exchange), |stored, record| {
            let current = visible(stored);
            if !check_cancel(version, current.status, is_tool_error(&current))? {
                return Ok(RecordChange::Keep);
            }
            Ending::Cancelled.apply(record, now_ms());
            Ok(RecordChange::Write)
        })
        .await?;
    let stored = changed.ok_or_else(unknown_task)?;
    if version.has_core_tasks() {
        return respond_with_task(exchange, &stored);
    }
    exchange.snapshot().finish(EmptyResult::new(), version)
}

/// Handles `tasks/result` of 2025-11-25: waits for the end of the task, and sends its input requests
/// to the client meanwhile.
async fn result(exchange: &Exchange) -> Outcome {
    let (runtime, id) = target(exchange)?;
    // Only ids of tasks are watched, because a client may send any text.
    load(exchange).await?;
    let mut watch = runtime.watch(id);
    let mut asked = HashSet::new();
    loop {
        let stored = load(exchange).await?;
        let record = visible(&stored);
        if record.is_final() {
            return outcome(exchange, &stored.id, &record);
        }
        let open = open_requests(&record)?;
        let input_request = open.iter().find(|(key, _)| !asked.contains(*key));
        let Some((key, input_request)) = input_request else {
            watch.changed_or_ended(&stored).await;
            continue;
        };
        asked.insert(key.to_owned());
        // The task may end while the client is asked.
        tokio::select! {
            response = ask_client(exchange, &stored.id, key, input_request) => {
                let response = response.map_err(|error| error.into_error_object())?;
                let responses = InputResponses::from_iter([(key, response)]);
                accept_with_retries(runtime, id, &owner(exchange), &responses).await?;
            }
            () = until_closed(exchange, runtime, id, key) => {}
        }
    }
}

/// Waits until an input request of a task is not open any more.
async fn until_closed(exchange: &Exchange, runtime: &TaskRuntime, id: &str, key: &str) {
    let mut watch = runtime.watch(id);
    loop {
        match runtime.load(id, &owner(exchange)).await {
            Ok(Some(stored)) => match open_requests(&visible(&stored)) {
                Ok(open) if open.get(key).is_some() => watch.changed_or_ended(&stored).await,
                _ => return,
            },
            Ok(None) => return,
            Err(_) => watch.changed().await,
        }
    }
}

/// Sends an input request of a task to the client, with the task in its `_meta`.
async fn ask_client(
    exchange: &Exchange,
    id: &str,
    key: &str,
    input_request: &InputRequest,
) -> Result<RawJson, Error> {
    let context = &exchange.context;
    let channel = InputChannel {
        transport: &**context.scope().transport(),
        version: context.version(),
        capabilities: context.client_capabilities(),
        related_task: Some(id),
    };
    channel.send(key, input_request).await
}

/// Encodes the outcome of a task as the outcome of `tasks/result`.
fn outcome(exchange: &Exchange, id: &str, record: &TaskRecord) -> Outcome {
    match &record.outcome {
        Some(TaskOutcome::Completed { result, .. }) => {
            let mut result: CallToolResult = result
                .parse()
                .map_err(|_| ErrorObject::internal("the result of the task cannot be read"))?;
            let related = RawJson::from_serialize(&RelatedTaskMetadata::new(id))
                .map_err(|error| ErrorObject::internal(error.to_string()))?;
            result
                .meta
                .get_or_insert_default()
                .insert(meta_key::RELATED_TASK, related);
            let version = exchange.context.version();
            let result = exchange.snapshot().write(result, version)?;
            Ok(EncodedResult::Json(result))
        }
        Some(TaskOutcome::Error(error)) => Err(error.clone()),
        None => Err(ErrorObject::internal("the task was cancelled")),
    }
}

#[derive(Deserialize)]
struct ListParams {
    cursor: Option<String>,
}

/// Handles `tasks/list` of 2025-11-25. Only callers with a verified identity have a list, because anonymous callers
/// would see the tasks of others.
async fn list(exchange: &Exchange) -> Outcome {
    let runtime = exchange.snapshot().tasks.as_ref();
    let Some(runtime) = runtime.filter(|_| exchange.context.auth().valid) else {
        return Err(ErrorObject::method_not_found(
            "`tasks/list` is not offered to callers without authorization",
        ));
    };
    let params: ListParams = exchange.decode_params()?;
    let limit = match exchange.snapshot().options.page_size {
        0 => LIST_PAGE,
        size => size,
    };
    // One more than a page tells whether there is another page.
    let tasks = runtime
        .config
        .store
        .list(&owner(exchange), params.cursor.as_deref(), limit + 1)
        .await
        .map_err(|error| store_failed(&error))?;
    let page = tasks.iter().take(limit);
    let mut result =
        ListTasksResult::new(page.map(|stored| core_task(&stored.id, &visible(stored))));
    result.next_cursor = tasks
        .get(limit)
        .and_then(|_| tasks.get(limit - 1))
        .map(|last| last.id.clone());
    exchange
        .snapshot()
        .finish(result, exchange.context.version())
}
