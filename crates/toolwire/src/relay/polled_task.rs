//! Tasks of a 2026-07-28 server whose tool runs only as a task, for clients of earlier revisions, which cannot declare the
//! extension.
//!
//! The server rejects such a call with −32021, which names the extension. Nothing has run then. The relay sends the call
//! again and declares the extension, polls the task, and returns its result as that of the call. If the call ends without a
//! result, the relay cancels the task.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::HopMeta;
use toolwire_proto::relay::input_rounds::{
    InvalidRound, RawInputRequest, RawInputRound, read_input_requests, write_round,
};
use toolwire_types::tasks::TaskStatus;
use toolwire_types::tasks::extension::{DetailedTask, EXTENSION_ID};
use toolwire_types::{ErrorObject, MissingRequiredClientCapabilityData, RawJson, code};

use crate::error::Error;
use crate::relay::connection::{UpstreamConnection, UpstreamRequest, unreachable};
use crate::server::request::Exchange;

/// The time between two polls, unless the server states another one, and its bounds.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// Returns `true` if a call was rejected because its tool runs only as a task.
pub(super) fn requires_task(error: &ErrorObject) -> bool {
    let data = error.data.as_ref();
    let data = data.and_then(|data| data.parse::<MissingRequiredClientCapabilityData>().ok());
    error.code == code::MISSING_REQUIRED_CLIENT_CAPABILITY
        && data.is_some_and(|data| data.required_capabilities.extension(EXTENSION_ID).is_some())
}

/// Returns the capabilities of a client with the extension.
pub(super) fn with_extension(capabilities: &RawJson) -> RawJson {
    let Some(mut members) = RawObject::parse(capabilities.as_raw_value()) else {
        return capabilities.clone();
    };
    let extensions = members.object_or_empty_mut("extensions");
    extensions.set(EXTENSION_ID, RawJson::empty_object());
    members.finish()
}

/// A task of the relay. It is cancelled on drop, unless it has ended.
pub(super) struct PolledTask<'a> {
    upstream: &'a UpstreamConnection,
    exchange: &'a Exchange,
    /// The parameters of requests about the task.
    params: RawJson,
    interval: Duration,
    /// The keys of the input requests that have a response.
    responded: BTreeSet<String>,
    /// When the task changed last, and its `lastUpdatedAt` then.
    changed: (Instant, String),
    has_ended: bool,
}

/// What the caller of a task does next.
#[derive(Debug)]
pub(super) enum TaskStep {
    /// Requests input from the client.
    RequestInput(Vec<RawInputRequest>),
    /// Returns the result of the task.
    Respond(RawJson),
}

impl<'a> PolledTask<'a> {
    /// Reads the task from the result that created it.
    ///
    /// # Errors
    /// Returns an error if the result has no task.
    pub(super) fn new(
        upstream: &'a UpstreamConnection,
        exchange: &'a Exchange,
        hop: &HopMeta,
        created: &RawJson,
    ) -> Result<Self, ErrorObject> {
        let task = decoded(created)?.task;
        let mut params = RawObject::empty();
        params.set_text("taskId", &task.task_id);
        hop.write(&mut params);
        Ok(Self {
            upstream,
            exchange,
            params: params.finish(),
            interval: interval(task.poll_interval_ms),
            responded: BTreeSet::new(),
            changed: (Instant::now(), task.last_updated_at),
            has_ended: false,
        })
    }

    /// Returns the connection and the request of the task.
    pub(super) fn origin(&self) -> (&'a UpstreamConnection, &'a Exchange) {
        (self.upstream, self.exchange)
    }

    /// Polls the task until it needs something of its caller.
    ///
    /// # Errors
    /// Returns the error of a task that failed, and an error if the task was cancelled, if the server does not respond, and
    /// if the task does not change during the timeout of the upstream server.
    pub(super) async fn next(&mut self) -> Result<TaskStep, ErrorObject> {
        loop {
            tokio::time::sleep(self.interval).await;
            let polled = self.send("tasks/get", self.params.clone()).await?;
            let task = decoded(&polled)?;
            self.interval = interval(task.task.poll_interval_ms);
            self.has_ended = task.task.status.is_terminal();
            match task.task.status {
                TaskStatus::Completed => return result_of(&polled).map(TaskStep::Respond),
                TaskStatus::Failed => {
                    let unknown = || ErrorObject::internal("a task of the upstream server failed");
                    return Err(task.error.unwrap_or_else(unknown));
                }
                TaskStatus::Cancelled => {
                    return Err(ErrorObject::internal(
                        "the upstream server cancelled its task",
                    ));
                }
                TaskStatus::InputRequired => {
                    let requests = self.new_requests(&polled)?;
                    if !requests.is_empty() {
                        return Ok(TaskStep::RequestInput(requests));
                    }
                }
                _ => {}
            }
            self.check_change(task.task.last_updated_at)?;
        }
    }

    /// Sends the responses of the client.
    ///
    /// # Errors
    /// Returns an error if the server does not accept them.
    pub(super) async fn respond(
        &mut self,
        responses: Vec<(String, RawJson)>,
    ) -> Result<(), ErrorObject> {
        let keys = responses.iter().map(|(key, _)| key.clone());
        self.responded.extend(keys);
        let mut round = RawInputRound::default();
        round.responses = responses;
        let params = self.params.clone();
        let members = RawObject::parse(params.as_raw_value());
        let mut members =
            members.ok_or_else(|| ErrorObject::internal("parameters are an object"))?;
        write_round(&mut members, &round);
        self.send("tasks/update", members.finish()).await?;
        // The time of the user does not count.
        self.changed.0 = Instant::now();
        Ok(())
    }

    /// Returns the input requests of a task that have no response yet.
    fn new_requests(&self, polled: &RawJson) -> Result<Vec<RawInputRequest>, ErrorObject> {
        let members = RawObject::parse(polled.as_raw_value()).ok_or_else(invalid)?;
        let requests = read_input_requests(&members).map_err(|error: InvalidRound| {
            ErrorObject::internal(format!("a task of the upstream server is invalid: {error}"))
        })?;
        let requests = requests.into_iter();
        let is_new = |request: &RawInputRequest| !self.responded.contains(&request.key);
        Ok(requests.filter(is_new).collect())
    }

    fn check_change(&mut self, updated: String) -> Result<(), ErrorObject> {
        if updated != self.changed.1 {
            self.changed = (Instant::now(), updated);
        } else if self.changed.0.elapsed() >= self.upstream.timeout {
            return Err(unreachable(&Error::timeout()));
        }
        Ok(())
    }

    async fn send(&self, method: &'static str, params: RawJson) -> Result<RawJson, ErrorObject> {
        let request = UpstreamRequest::of(self.exchange, None).again(method, params);
        self.upstream.send(request).await
    }
}

impl Drop for PolledTask<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let (upstream, params) = (self.upstream.clone(), self.params.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = upstream.request("tasks/cancel", params).await {
                    tracing::debug!(%error, "a task of the relay was not cancelled");
                }
            });
        }
    }
}

fn decoded(task: &RawJson) -> Result<DetailedTask, ErrorObject> {
    task.parse().map_err(|_| invalid())
}

/// Returns the result of a task, with its members and numbers as the server wrote them.
fn result_of(task: &RawJson) -> Result<RawJson, ErrorObject> {
    let members = RawObject::parse(task.as_raw_value());
    let result = members.as_ref().and_then(|members| members.get("result"));
    result
        .map(|result| RawJson::from(result.raw()))
        .ok_or_else(invalid)
}

fn invalid() -> ErrorObject {
    ErrorObject::internal("the upstream server sent an invalid task")
}

fn interval(milliseconds: Option<u64>) -> Duration {
    let stated = milliseconds.map(Duration::from_millis);
    stated.map_or(DEFAULT_INTERVAL, |stated| {
        stated.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL)
    })
}
