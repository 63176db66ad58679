//! Runs the handler of a task until it ends, and writes the outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::journal::EntryDigest;
use toolwire_proto::requests::is_overloaded;
use toolwire_proto::rounds::RoundCounter;
use toolwire_proto::stamp;
use toolwire_types::json::checked_raw;
use toolwire_types::{CallToolResult, ErrorObject, InputRequiredResult, InputResponses};

use crate::engine::{BoxFuture, CatchPanic, SlowPoll, boxed_cold, deadline_after, report_blocking};
use crate::error::Error;
use crate::server::RequestContext;
use crate::server::ask::PendingAsk;
use crate::server::request::{RoundState, TaskScope as _};
use crate::server::response::{self, ToolResponse};
use crate::server::result_meta::remove_forbidden_meta;
use crate::server::tasks::ending::{Ending, now_ms};
use crate::server::tasks::registrations::RunPermit;
use crate::server::tasks::running::{RunningTask, TaskOfHandler, author_state};
use crate::server::tasks::runtime::{RecordChange, TaskRuntime, is_store_full};
use crate::server::tasks::wire::end_of_life;
use crate::server::tool::ToolEntry;
use crate::server::tool_error::ToolError;
use crate::store::TaskRecord;

/// How long the ends of stopped tasks may take to be stored.
const STOP_TIME: Duration = Duration::from_secs(2);

/// A handler that has started.
pub(crate) type StartedHandler = BoxFuture<'static, Result<ToolResponse, ToolError>>;

/// One run of a task in this process.
pub(crate) struct TaskRun {
    pub(crate) task: Arc<RunningTask>,
    pub(crate) tool: Arc<ToolEntry>,
    /// The context whose scope belongs to the task.
    pub(crate) context: RequestContext,
    /// The handler, if it started as an ordinary call.
    pub(crate) started: Option<StartedHandler>,
}

/// Why a run ended.
enum RunEnd {
    /// The handler ended.
    Ended(Ending),
    /// The handler waits at an input request, and is started again when the response arrives.
    Parked,
    /// The handler left the end of the task to another system.
    LeftToOtherSystem,
    /// Another request ended the task, or another worker has it. Nothing more is written.
    TakenAway,
    /// The life of the task is over.
    Expired,
    /// The server shuts down.
    Shutdown,
}

impl TaskRun {
    /// Runs the task in the background. A claimed task has no permit.
    pub(crate) fn spawn(self, permit: Option<RunPermit>) {
        let registration = self.task.runtime.running.add(&self.task.entry, permit);
        tokio::spawn(async move {
            let _registration = registration;
            self.run().await;
        });
    }

    async fn run(self) {
        let Self {
            task,
            tool,
            context,
            started,
        } = self;
        let end = {
            let name = tool.descriptor.name.as_str();
            let handler = run_handler(&task, &tool, context, started);
            let handler = SlowPoll::new(handler, |time| report_blocking("tools/call", name, time));
            let handler = CatchPanic::new(handler);
            tokio::select! {
                biased;
                end = stopped(&task) => end,
                outcome = handler => match outcome {
                    Ok(end) => end,
                    Err(_) => RunEnd::Ended(Ending::Failed(ErrorObject::internal(
                        "the handler of the tool failed unexpectedly",
                    ))),
                },
            }
            // The handler is dropped here, before a client can see the outcome.
        };
        // A handler on the blocking pool may still run.
        TaskOfHandler(Arc::clone(&task)).cancellation().cancel();
        boxed_cold(|| finish(&task, &tool, end)).await;
    }
}

/// Writes the end of a run into the record.
async fn finish(task: &RunningTask, tool: &ToolEntry, end: RunEnd) {
    let runtime = &task.runtime;
    let written = match end {
        RunEnd::TakenAway => return,
        RunEnd::Ended(ending) => end_task(task, ending).await,
        RunEnd::LeftToOtherSystem => leave_to_other_system(task).await,
        RunEnd::Expired => end_task(task, Ending::expired()).await,
        RunEnd::Parked => {
            hand_over(task).await;
            Ok(())
        }
        RunEnd::Shutdown => {
            let resumes = tool.task.as_ref().is_some_and(|options| options.resume);
            // If the store is unavailable, the next worker decides.
            let is_restartable = match runtime.load(&task.id, &task.principal).await {
                Ok(stored) => stored.is_some_and(|stored| stored.record.restartable),
                Err(_) => true,
            };
            if resumes || is_restartable {
                hand_over(task).await;
                Ok(())
            } else {
                end_task(task, Ending::lost()).await
            }
        }
    };
    if let Err(error) = written {
        // The lease ends, and then another run, or a reader, finds the task without an owner.
        tracing::error!(%error, "the end of a task could not be stored");
    }
}

/// Writes the end of a task. If the store has no space for the outcome, the task fails.
async fn end_task(task: &RunningTask, ending: Ending) -> Result<(), ErrorObject> {
    let message = task.take_message();
    let limit = task.runtime.config.max_outcome_bytes;
    let ending = ending.within(limit).unwrap_or_else(Ending::Failed);
    let ended = write_end(task, |record| {
        if let Some(message) = &message {
            record.status_message = Some(message.clone());
        }
        ending.apply(record, now_ms());
    });
    match ended.await {
        Err(error) if is_store_full(&error) => {
            let ending = Ending::Failed(ErrorObject::internal(
                "the task store is full, so the outcome of the task is lost",
            ));
            write_end(task, |record| {
                // A record that becomes smaller always has space.
                record.journal = None;
                ending.apply(record, now_ms());
            })
            .await
        }
        ended => ended,
    }
}

/// Writes that another system ends the task, and gives up the lease.
async fn leave_to_other_system(task: &RunningTask) -> Result<(), ErrorObject> {
    let message = task.take_message();
    let written = write_end(task, |record| {
        if let Some(message) = &message {
            record.status_message = Some(message.clone());
        }
        record.runnable = false;
        record.restartable = false;
    });
    match written.await {
        Err(error) if is_overloaded(&error) => return Err(error),
        // The other system may have ended the task already.
        Err(error) => tracing::debug!(%error, "a task was not left to another system"),
        Ok(()) => {}
    }
    let runtime = &task.runtime;
    let worker = runtime.worker(Vec::new());
    if let Err(error) = runtime.config.store.release(&task.id, &worker).await {
        tracing::warn!(%error, "a task could not be given back; its lease ends by itself");
    }
    Ok(())
}

/// Writes the last change of a run. While the store is unavailable, tries again, because the outcome would be lost.
async fn write_end(
    task: &RunningTask,
    change: impl Fn(&mut TaskRecord),
) -> Result<(), ErrorObject> {
    let written = task.change_with_retries(|_, record| {
        change(record);
        Ok(RecordChange::Write)
    });
    written.await.map_err(Error::into_error_object)
}

/// Gives the task back, so that the next response or another worker continues it.
async fn hand_over(task: &RunningTask) {
    let runtime = &task.runtime;
    let worker = runtime.worker(Vec::new());
    task.entry.is_handed_over.store(true, Ordering::Release);
    if let Err(error) = runtime.config.store.release(&task.id, &worker).await {
        tracing::warn!(%error, "a task could not be given back; its lease ends by itself");
    }
    // A response may have arrived in the meantime.
    runtime.claimable.notify_one();
}

/// Waits until the handler has to stop.
async fn stopped(task: &RunningTask) -> RunEnd {
    let runtime = &task.runtime;
    let mut watch = runtime.watch(&task.id);
    let mut deadline = None;
    loop {
        match runtime.load(&task.id, &task.principal).await {
            Ok(None) => return RunEnd::TakenAway,
            Ok(Some(stored)) if stored.record.is_final() => return RunEnd::TakenAway,
            Ok(Some(stored)) if !runtime.is_owner(&stored) => {
                let may_regain = stored.owner.is_none();
                // If the store is unavailable again, the next change of the task decides.
                if !may_regain || matches!(task.regain().await, Ok(false)) {
                    return RunEnd::TakenAway;
                }
                deadline = end_of_life(&stored);
            }
            Ok(Some(stored)) => deadline = end_of_life(&stored),
            // The store may come back.
            Err(_) => {}
        }
        let end = deadline.unwrap_or_else(|| deadline_after(Instant::now(), Duration::MAX));
        tokio::select! {
            () = watch.changed() => {}
            () = task.entry.shutdown.cancelled() => return RunEnd::Shutdown,
            () = tokio::time::sleep_until(end) => return RunEnd::Expired,
        }
    }
}

/// Runs the handler, again if it returned input requests of its own or asked to run later.
///
/// Everything after the handler is boxed, because this future exists for as long as the handler waits.
async fn run_handler(
    task: &Arc<RunningTask>,
    tool: &Arc<ToolEntry>,
    mut context: RequestContext,
    mut started: Option<StartedHandler>,
) -> RunEnd {
    let mut counter = RoundCounter::default();
    loop {
        let running = started.take().unwrap_or_else(|| {
            let arguments = context.scope().request_params.arguments();
            let arguments = arguments.unwrap_or_else(|| checked_raw("{}"));
            tool.call(context.clone(), arguments)
        });
        let response = running.await;
        if task.is_parked() {
            return RunEnd::Parked;
        }
        let is_unfinished = context.scope().round.is_unfinished();
        let input_required = match response {
            Ok(ToolResponse::InputRequired(input_required)) => {
                context.scope().round.discard_requests();
                *input_required
            }
            Ok(ToolResponse::Complete(result))
                if result.is_error == Some(true) && is_unfinished =>
            {
                match suspended(&context) {
                    Ok(input_required) => input_required,
                    Err(error) => return RunEnd::Ended(Ending::Failed(error)),
                }
            }
            Err(_) if is_unfinished => match suspended(&context) {
                Ok(input_required) => input_required,
                Err(error) => return RunEnd::Ended(Ending::Failed(error)),
            },
            Ok(ToolResponse::Complete(result)) => {
                return boxed_cold(|| complete(tool, &context, *result)).await;
            }
            Ok(ToolResponse::Text(text)) => {
                let result = CallToolResult::text(text);
                return boxed_cold(|| complete(tool, &context, result)).await;
            }
            Ok(ToolResponse::Task(returned)) if returned.id() == task.id => {
                return RunEnd::LeftToOtherSystem;
            }
            Ok(ToolResponse::Task(_)) => {
                return RunEnd::Ended(Ending::Failed(ErrorObject::internal(
                    "the handler of a task returned another task; return its result",
                )));
            }
            Err(error) => {
                return match error.into_text() {
                    Ok(text) => {
                        let result = CallToolResult::error(text);
                        boxed_cold(|| complete(tool, &context, result)).await
                    }
                    Err(error) => {
                        RunEnd::Ended(Ending::Failed(stamp::stamp_error(error, context.version())))
                    }
                };
            }
        };
        let next = boxed_cold(|| next_round(task, &context, &mut counter, input_required)).await;
        match next {
            Ok(Some(next)) => context = next,
            Ok(None) => return RunEnd::Parked,
            Err(error) => return RunEnd::Ended(Ending::Failed(error)),
        }
    }
}

/// Ends a run that asked to run again later.
fn suspended(context: &RequestContext) -> Result<InputRequiredResult, ErrorObject> {
    let requests = context.scope().round.suspend()?;
    Ok(response::input_required(
        requests.unwrap_or_default(),
        author_state(context),
    ))
}

/// Asks what a handler wants to know, and returns the context of its next run. Returns `None` if the responses take too
/// long.
async fn next_round(
    task: &Arc<RunningTask>,
    context: &RequestContext,
    counter: &mut RoundCounter,
    input_required: InputRequiredResult,
) -> Result<Option<RequestContext>, ErrorObject> {
    let pause = counter
        .next_round(&input_required)
        .map_err(|error| ErrorObject::internal(error.to_string()))?;
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
    let requests = input_required.input_requests.unwrap_or_default();
    let asks: Vec<PendingAsk> = requests
        .into_iter()
        .map(|(key, request)| PendingAsk {
            digest: EntryDigest::of(&request),
            key,
            request,
        })
        .collect();
    let responses = if asks.is_empty() {
        InputResponses::default()
    } else {
        let asks: Vec<&PendingAsk> = asks.iter().collect();
        match task.ask_all(context, &asks).await {
            Ok(responses) => responses,
            Err(_) if task.is_parked() => return Ok(None),
            Err(error) => return Err(error.into_error_object()),
        }
    };
    let mut round = RoundState::new(responses, input_required.request_state);
    if let Some(journal) = context.scope().round.take_journal() {
        round = round.with_journal(journal);
    }
    let scope = context.scope().next_round(round);
    Ok(Some(RequestContext::new(Arc::new(scope))))
}

/// Returns the end of a handler that returned a result.
async fn complete(
    tool: &ToolEntry,
    context: &RequestContext,
    mut result: CallToolResult,
) -> RunEnd {
    let snapshot = &context.scope().snapshot;
    if snapshot.options.validate_output
        && let Err(error) = tool.check_output(&result).await
    {
        return RunEnd::Ended(Ending::Failed(error));
    }
    remove_forbidden_meta(&mut result, "tools/call", Some(&tool.descriptor.name));
    let is_error = result.is_error == Some(true);
    RunEnd::Ended(match snapshot.write(result, context.version()) {
        Ok(result) => Ending::Result { result, is_error },
        Err(error) => Ending::Failed(error),
    })
}

impl TaskRuntime {
    /// Waits until no task runs, up to this time, and stops the others. Tasks that wait for input are given to other
    /// processes at once, and those that may be resumed after this time. The others fail.
    pub(crate) async fn stop_running(&self, grace: Duration) {
        let _pause = ClaimPause::new(&self.stopping);
        for task in self.running.all() {
            task.park.cancel();
        }
        self.wait_until_idle(grace).await;
        for task in self.running.all() {
            task.shutdown.cancel();
        }
        self.wait_until_idle(STOP_TIME).await;
    }

    async fn wait_until_idle(&self, limit: Duration) {
        let deadline = deadline_after(Instant::now(), limit);
        while self.running.count() > 0 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Keeps this process from claiming the tasks that it gives to others.
struct ClaimPause<'a>(&'a AtomicUsize);

impl<'a> ClaimPause<'a> {
    fn new(stopping: &'a AtomicUsize) -> Self {
        stopping.fetch_add(1, Ordering::AcqRel);
        Self(stopping)
    }
}

impl Drop for ClaimPause<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
