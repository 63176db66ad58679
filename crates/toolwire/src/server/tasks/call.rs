//! The decision whether a `tools/call` becomes a task, and the start of the task.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods;
use toolwire_proto::task_rules::ClientTasks;
use toolwire_types::{ErrorObject, RawJson, RequestId};

use crate::engine::{BoxFuture, Outcome, Principal, TransportContext, deadline_after};
use crate::server::RequestContext;
use crate::server::input_methods;
use crate::server::request::{
    Exchange, MethodRoute, RequestParams, RequestScope, RequestTask, RoundState,
};
use crate::server::rounds::RequestRounds;
use crate::server::snapshot::Snapshot;
use crate::server::tasks::client_support::{call_of, client_tasks};
use crate::server::tasks::context::detach;
use crate::server::tasks::options::{TaskOptions, TaskStart};
use crate::server::tasks::owner::owner_of;
use crate::server::tasks::record::{TaskCall, TaskJournal};
use crate::server::tasks::registrations::RunPermit;
use crate::server::tasks::run::{StartedHandler, TaskRun};
use crate::server::tasks::running::{DetachedCall, RunningTask, TaskOfHandler};
use crate::server::tasks::runtime::{NewTask, TaskRuntime};
use crate::server::tasks::transport::TaskTransport;
use crate::server::tasks::wire;
use crate::server::tool::ToolEntry;
use crate::store::StoredTask;

/// How long a call whose time is over waits for a handler that is starting the task itself, before it looks again.
const START_PAUSE: Duration = Duration::from_millis(10);

/// Returns the work of a call that becomes a task, at once or later. Returns `None` for an ordinary call.
pub(crate) fn call_as_task<'a>(
    runtime: &'a Arc<TaskRuntime>,
    exchange: &'a Exchange,
    tool: &'a Arc<ToolEntry>,
) -> Result<Option<BoxFuture<'a, Outcome>>, ErrorObject> {
    let client = client_tasks(&exchange.context)?;
    let name = &tool.descriptor.name;
    client.check(exchange.context.version(), name, tool.task_support())?;
    let Some(options) = &tool.task else {
        return Ok(None);
    };
    let start = match client {
        ClientTasks::Unsupported => return Ok(None),
        ClientTasks::Requested { .. } => TaskStart::Immediately,
        ClientTasks::Accepted => options.start,
    };
    runtime.start_maintenance();
    Ok(Some(match start {
        TaskStart::Immediately => {
            let requested_ttl_ms = match client {
                ClientTasks::Requested { ttl_ms } => ttl_ms,
                _ => None,
            };
            Box::pin(start_task(
                runtime,
                exchange,
                tool,
                options,
                requested_ttl_ms,
            ))
        }
        TaskStart::After(time) => {
            Box::pin(call_until(runtime, exchange, tool, options, Some(time)))
        }
        TaskStart::OnDemand => Box::pin(call_until(runtime, exchange, tool, options, None)),
    }))
}

/// Stores the task, starts its handler, and responds with the task.
async fn start_task(
    runtime: &Arc<TaskRuntime>,
    exchange: &Exchange,
    tool: &Arc<ToolEntry>,
    options: &TaskOptions,
    requested_ttl_ms: Option<u64>,
) -> Outcome {
    let context = &exchange.context;
    let runs_here = !runtime.config.queued;
    let permit = runs_here.then(|| runtime.reserve()).transpose()?;
    let stored = runtime
        .create(
            NewTask {
                tool: &tool.descriptor.name,
                principal: owner_of(&Principal::of(context.auth())),
                version: context.version(),
                options,
                requested_ttl_ms,
                call: call_of(context),
                journal: None,
                runnable: true,
            },
            runs_here,
        )
        .await?;
    if runs_here {
        let channel = context.scope().transport.client_channel();
        run_stored(runtime, &stored, tool, call_of(context), channel, permit)?;
    }
    wire::created(exchange.snapshot(), &stored, context.version())
}

/// Runs a stored task in this process. A claimed task has no permit.
pub(crate) fn run_stored(
    runtime: &Arc<TaskRuntime>,
    stored: &StoredTask,
    tool: &Arc<ToolEntry>,
    call: TaskCall,
    channel: Option<Arc<dyn TransportContext>>,
    permit: Option<RunPermit>,
) -> Result<(), ErrorObject> {
    let Some(server) = runtime.server() else {
        return Err(ErrorObject::internal("the server has ended"));
    };
    let journal = runtime.journal(stored)?;
    // Only in the core design may a task send notifications outside of a request.
    let channel = channel.filter(|_| stored.record.version.has_core_tasks());
    let task = RunningTask::new(runtime, stored, channel.clone());
    let scope = scope_of_task(server.snapshot(), stored, &task, call, &journal, channel)?;
    let run = TaskRun {
        task,
        tool: Arc::clone(tool),
        context: RequestContext::new(Arc::new(scope)),
        started: None,
    };
    run.spawn(permit);
    Ok(())
}

/// Creates the scope of a handler whose request has ended.
fn scope_of_task(
    snapshot: Arc<Snapshot>,
    stored: &StoredTask,
    task: &Arc<RunningTask>,
    call: TaskCall,
    journal: &TaskJournal,
    channel: Option<Arc<dyn TransportContext>>,
) -> Result<RequestScope, ErrorObject> {
    let (values, author_state) = journal
        .values()
        .map_err(|error| ErrorObject::internal(error.to_string()))?;
    let round = match author_state {
        Some(state) => RoundState::new(Default::default(), Some(state)),
        None => RoundState::default(),
    };
    let method = methods::find("tools/call")
        .ok_or_else(|| ErrorObject::internal("`tools/call` is not a method"))?;
    let version = stored.record.version;
    let transport = TaskTransport::new(call.token, call.uses_tokens, channel);
    Ok(RequestScope {
        server: OnceLock::new(),
        snapshot,
        transport: Arc::new(transport),
        route: MethodRoute::Known(method),
        params: None,
        id: RequestId::from(stored.id.as_str()),
        version,
        client_capabilities: OnceLock::from(task.runtime.share_capabilities(call.capabilities)),
        minimum_log_level: None,
        progress_token: call.progress_token,
        request_params: RequestParams::new(
            Some(&stored.record.tool),
            call.meta.as_ref().map(RawJson::as_raw_value),
            Some(call.arguments.as_raw_value()),
        ),
        sent_params: None,
        meta: OnceLock::new(),
        client_info: OnceLock::from(call.client_info.map(Arc::new)),
        cancellation: None,
        task: RequestTask::of(Arc::new(TaskOfHandler(Arc::clone(task)))),
        may_ask_input: true,
        round: round.with_journal(values),
        progress: Default::default(),
        first_round: None,
    })
}

/// Runs an ordinary call. If its time is over, or if its handler starts a task, the handler continues as a task.
async fn call_until(
    runtime: &Arc<TaskRuntime>,
    exchange: &Exchange,
    tool: &Arc<ToolEntry>,
    options: &TaskOptions,
    time: Option<Duration>,
) -> Outcome {
    let MethodRoute::Known(method) = exchange.route() else {
        return Err(ErrorObject::internal("`tools/call` is not a method"));
    };
    let mut rounds = RequestRounds::new(method, exchange);
    let context = exchange.context.clone();
    let (_, arguments) = input_methods::called_tool(exchange)?;
    let mut handler: StartedHandler = tool.call(context.clone(), arguments);
    let task = &context.scope().task;
    let deadline = deadline_after(Instant::now(), time.unwrap_or(Duration::MAX));
    let mut sleep = pin!(tokio::time::sleep_until(deadline));
    let mut has_timer = time.is_some();
    let started = loop {
        let response = poll_fn(|cx| {
            if let Poll::Ready(response) = handler.as_mut().poll(cx) {
                return Poll::Ready(Some(response));
            }
            if task.get().is_some() {
                return Poll::Ready(None);
            }
            if !has_timer || sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if task.is_starting() {
                // The handler, or a task that it has spawned, is starting the task. The start may not wake this future.
                sleep.as_mut().reset(Instant::now() + START_PAUSE);
                return sleep.as_mut().poll(cx).map(|()| None);
            }
            Poll::Ready(None)
        })
        .await;
        match response {
            Some(response) if task.get().is_none() => {
                // A 2026-07-28 client runs the next round itself.
                let finished = input_methods::finish_run(exchange, &mut rounds, response).await?;
                return finished.ok_or_else(|| ErrorObject::internal("the call did not end"));
            }
            // The handler started a task and then ended without waiting.
            Some(response) => break Box::pin(std::future::ready(response)) as StartedHandler,
            None if task.get().is_some() => break handler,
            None => {}
        }
        match detach(runtime, &context, tool, options).await {
            Ok(_) => break handler,
            Err(error) if options.required => return Err(error),
            Err(error) => {
                tracing::warn!(tool = tool.descriptor.name, %error, "a call could not become a task, and continues as a call");
                has_timer = false;
            }
        }
    };
    let task = task.get().map(|task| Arc::clone(task.running()));
    let detached = task.and_then(|task| Some((task.take_detached()?, task)));
    let Some((DetachedCall { stored, permit }, task)) = detached else {
        return Err(ErrorObject::internal("the call did not become a task"));
    };
    let run = TaskRun {
        task,
        tool: Arc::clone(tool),
        context: context.clone(),
        started: Some(started),
    };
    run.spawn(Some(permit));
    wire::created(exchange.snapshot(), &stored, context.version())
}
