//! Waits for one task: polls it, passes its input requests to the handlers, and returns its outcome.
//!
//! The decisions are those of `proto::task_wait`. Input requests are handled one at a time, and each response is sent as
//! soon as its handler has returned. A task of 2025-11-25 has its outcome in `tasks/result`. While that request is open,
//! the server sends its input requests to the client as requests of their own.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::result_kind::{ResultKind, classify};
use toolwire_proto::task_wait::{PollFailure, TaskWait};
use toolwire_types::tasks::TaskStatus;
use toolwire_types::tasks::core::GetTaskPayloadRequestParams;
use toolwire_types::tasks::extension::DetailedTask;
use toolwire_types::{ErrorObject, InputRequest, InputResponses, RawJson};

use crate::client::Client;
use crate::client::call::CallOptions;
use crate::client::handlers::ClientHandlers;
use crate::client::tasks::changes::TaskChanges;
use crate::client::tasks::requests::gone_or;
use crate::engine::deadline_after;
use crate::error::Error;

/// A client that waits for one task.
pub(super) struct TaskWaiting<'a> {
    client: &'a Client,
    id: &'a str,
    /// The options of the requests about the task.
    options: CallOptions,
    wait: TaskWait,
    /// When the client saw the task for the first time.
    start: Instant,
    /// The limit that the caller set for the whole call.
    deadline: Option<Instant>,
    next_poll: Instant,
    changes: TaskChanges,
    /// The input requests that no handler has got yet.
    pending: VecDeque<(String, InputRequest)>,
    /// The running handler, if there is one.
    responding: JoinSet<(String, Result<RawJson, ErrorObject>)>,
    /// The responses that the server has not acknowledged.
    unsent: InputResponses,
    /// The status and message that the listener saw last.
    reported: Option<(TaskStatus, Option<String>)>,
    /// Whether the task is final, or does not exist any more.
    is_over: bool,
    /// Whether the client has given up, because the task requires input without end.
    has_given_up: bool,
}

impl<'a> TaskWaiting<'a> {
    pub(super) fn new(client: &'a Client, id: &'a str, options: &CallOptions) -> Self {
        let start = Instant::now();
        let maximum = options.max_timeout;
        Self {
            client,
            id,
            options: CallOptions {
                timeout: options.timeout,
                trace: options.trace.clone(),
                ..CallOptions::default()
            },
            wait: TaskWait::new(),
            start,
            deadline: maximum.map(|maximum| deadline_after(start, maximum)),
            next_poll: start,
            changes: TaskChanges::new(client, id),
            pending: VecDeque::new(),
            responding: JoinSet::new(),
            unsent: InputResponses::new(),
            reported: None,
            is_over: false,
            has_given_up: false,
        }
    }

    /// Returns `true` if the task is final, or does not exist any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns `true` if the client has given up, because the task requires input without end.
    pub(super) fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    /// Waits for the result of the task. `created` is the task as the server created it, with the time of that response.
    pub(super) async fn run(
        &mut self,
        created: Option<(&DetailedTask, Instant)>,
    ) -> Result<RawJson, Error> {
        let Some(deadline) = self.deadline else {
            return self.run_without_deadline(created).await;
        };
        let running = self.run_without_deadline(created);
        match tokio::time::timeout_at(deadline, running).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.expired()),
        }
    }

    async fn run_without_deadline(
        &mut self,
        created: Option<(&DetailedTask, Instant)>,
    ) -> Result<RawJson, Error> {
        if let Some((task, at)) = created {
            self.start = at;
            self.observe(task)?;
            // Another status has details that only a poll returns.
            if task.task.status == TaskStatus::Working {
                self.next_poll = at + self.pause();
            }
        }
        loop {
            let limit = self.limit();
            let wake = limit.map_or(self.next_poll, |limit| self.next_poll.min(limit));
            tokio::select! {
                biased;
                Some(response) = self.responding.join_next() => {
                    let (key, response) = response.map_err(|_| Error::closed())?;
                    self.respond(key, response).await?;
                    continue;
                }
                changed = self.changes.next() => {
                    if let Some(task) = changed {
                        if let Some(outcome) = self.outcome(task).await? {
                            return Ok(outcome);
                        }
                        self.next_poll = Instant::now() + self.pause();
                        continue;
                    }
                }
                () = tokio::time::sleep_until(wake) => {}
            }
            if limit.is_some_and(|limit| limit <= Instant::now()) {
                return Err(self.expired());
            }
            if !self.unsent.is_empty() && !self.send_responses().await? {
                self.next_poll = Instant::now() + self.pause();
                continue;
            }
            match self.poll().await {
                Ok(task) => {
                    if let Some(outcome) = self.outcome(task).await? {
                        return Ok(outcome);
                    }
                }
                Err(error) => self.failed(error)?,
            }
            self.next_poll = Instant::now() + self.pause();
        }
    }

    /// Gets the task. Exclusive access keeps the future `Send`.
    async fn poll(&mut self) -> Result<DetailedTask, Error> {
        self.client.task_state(self.id, &self.options).await
    }

    /// Returns the time until the next poll.
    fn pause(&self) -> Duration {
        // Without randomness, the pause is exactly the interval.
        let random = getrandom::u64().unwrap_or(100);
        self.wait.pause(random, self.changes.is_open())
    }

    /// Returns when the client gives up, because the server should have dropped the task.
    fn limit(&self) -> Option<Instant> {
        let limit = self.wait.limit()?;
        Some(deadline_after(self.start, limit))
    }

    fn expired(&self) -> Error {
        Error::timeout().with_detail(&format!("the task {:?} is not final", self.id))
    }

    /// Returns the result of a final task. Returns `None` if the task is not final.
    async fn outcome(&mut self, task: DetailedTask) -> Result<Option<RawJson>, Error> {
        self.observe(&task)?;
        let status = task.task.status;
        if status == TaskStatus::Cancelled {
            self.is_over = true;
            return Err(Error::task_cancelled(self.id));
        }
        if self.client.version().has_core_tasks() {
            return match status {
                TaskStatus::Working => Ok(None),
                status => self.core_outcome(status.is_terminal()).await,
            };
        }
        self.is_over = status.is_terminal();
        match (status, task.result) {
            (TaskStatus::Completed, Some(result)) => {
                match classify(
                    self.client.version(),
                    "tools/call",
                    |_| false,
                    result.as_raw_value(),
                ) {
                    ResultKind::Complete => Ok(Some(result)),
                    _ => Err(Error::protocol(format!(
                        "the result of the task {} is not complete",
                        self.id
                    ))),
                }
            }
            (TaskStatus::Failed, _) => Err(task
                .error
                .unwrap_or_else(|| {
                    let message = task.task.status_message;
                    ErrorObject::internal(message.unwrap_or_else(|| "the task failed".to_owned()))
                })
                .into()),
            _ => Ok(None),
        }
    }

    /// Fetches the outcome of a 2025-11-25 task. The server responds when the task is final.
    async fn core_outcome(&mut self, is_final: bool) -> Result<Option<RawJson>, Error> {
        let params = GetTaskPayloadRequestParams::new(self.id);
        let fetching = self
            .client
            .task_request("tasks/result", &params, &self.options);
        let error = match fetching.await {
            Ok(result) => {
                self.is_over = true;
                return Ok(Some(result));
            }
            Err(error) => error,
        };
        if is_final && error.rpc().is_some() && failure_of(&error) != PollFailure::Temporary {
            // Spec 2025-11-25, basic/utilities/tasks: `tasks/result` fails with the error of the request.
            self.is_over = true;
            return Err(error);
        }
        // The next poll returns whether the task has failed meanwhile, or is unknown.
        if error.rpc().is_none() && !error.is_timeout() {
            self.failed(error)?;
        }
        Ok(None)
    }

    /// Records a state of the task: reports it to the listener, and passes new input requests to the handlers.
    fn observe(&mut self, task: &DetailedTask) -> Result<(), Error> {
        let status = (task.task.status, task.task.status_message.clone());
        if self.reported.as_ref() != Some(&status) {
            self.reported = Some(status);
            let listener = self.client.shared.handlers.task_status.as_ref();
            ClientHandlers::notify(listener, || task.clone());
        }
        let is_outstanding = |key: &str| {
            let requests = task.input_requests.as_ref();
            requests.is_some_and(|requests| requests.get(key).is_some())
        };
        self.pending.retain(|(key, _)| is_outstanding(key));
        let is_responding =
            !self.responding.is_empty() || !self.unsent.is_empty() || !self.pending.is_empty();
        let new = self.wait.record(task, is_responding);
        let new = new.map_err(|reason| {
            self.has_given_up = true;
            Error::limit(reason.to_string())
        })?;
        for (key, request) in task
            .input_requests
            .iter()
            .flat_map(|requests| requests.iter())
        {
            if new.contains(&key) {
                self.pending.push_back((key.to_owned(), request.clone()));
            }
        }
        self.start_handler();
        Ok(())
    }

    /// Passes the next input request to its handler, unless one is running.
    fn start_handler(&mut self) {
        if !self.responding.is_empty() {
            return;
        }
        let Some((key, request)) = self.pending.pop_front() else {
            return;
        };
        let client = self.client.clone();
        let version = client.version();
        self.responding.spawn(async move {
            let response = client.respond_to_input(request, version).await;
            (key, response)
        });
    }

    /// Sends the response of a handler, and starts the next handler.
    async fn respond(
        &mut self,
        key: String,
        response: Result<RawJson, ErrorObject>,
    ) -> Result<(), Error> {
        let response = response.map_err(|error| {
            Error::invalid_request(format!(
                "the input request {key:?} of the task {} has no response: {}",
                self.id, error.message
            ))
        })?;
        self.unsent.insert(key, response);
        self.start_handler();
        self.send_responses().await.map(drop)
    }

    /// Sends all responses that the server has not acknowledged. Returns `false` if they have to be sent again, which
    /// is harmless: the server ignores responses that it already has.
    async fn send_responses(&mut self) -> Result<bool, Error> {
        let responses = self.unsent.clone();
        let sending = self.client.update_task(self.id, responses, &self.options);
        let Err(error) = sending.await else {
            self.unsent = InputResponses::new();
            return Ok(true);
        };
        if failure_of(&error) == PollFailure::Gone {
            // The server also rejects invalid responses with this code. A poll shows the difference.
            return match self.poll().await {
                Err(poll) if failure_of(&poll) == PollFailure::Gone => {
                    self.failed(poll).map(|()| false)
                }
                _ => Err(error),
            };
        }
        self.failed(error)?;
        Ok(false)
    }

    /// Records a failed request. Returns the error if the client should not try again.
    fn failed(&mut self, error: Error) -> Result<(), Error> {
        // A status is more exact than the kind of the error.
        let is_local = error.http_status().is_none()
            && (error.is_protocol_violation() || error.is_limit() || error.is_invalid_request());
        let failure = if is_local || self.client.session().transport.is_closed() {
            PollFailure::Final
        } else {
            failure_of(&error)
        };
        if self.wait.record_failure(failure) {
            tracing::debug!(task = self.id, %error, "a request about a task failed and is repeated");
            return Ok(());
        }
        self.is_over |= failure == PollFailure::Gone;
        Err(gone_or(self.id, error))
    }
}

fn failure_of(error: &Error) -> PollFailure {
    PollFailure::classify(error.http_status(), error.rpc())
}
