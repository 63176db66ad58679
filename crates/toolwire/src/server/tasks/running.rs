//! A task whose handler runs in this process: its input requests, its journal and its status message.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::requests::is_overloaded;
use toolwire_proto::rounds;
use toolwire_proto::sampling_rules::drop_undeclared_context;
use toolwire_types::tasks::TaskStatus;
use toolwire_types::{ErrorObject, InputRequest, InputRequests, InputResponses};

use crate::engine::{
    BoxFuture, Cancellation, Principal, TransportContext, boxed_cold, deadline_after,
    warn_about_request,
};
use crate::error::Error;
use crate::server::RequestContext;
use crate::server::ask::PendingAsk;
use crate::server::request::TaskScope;
use crate::server::tasks::ending::bounded_message;
use crate::server::tasks::open_requests::{has_open_requests, open_requests, set_open_requests};
use crate::server::tasks::registrations::{RunPermit, TaskRegistration};
use crate::server::tasks::runtime::{RecordChange, TaskRuntime, store_failed};
use crate::server::tasks::store_retries::StoreRetries;
use crate::store::{StoredTask, TaskRecord};
use crate::sync::lock;

/// The minimum time between two changes of the status message.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(500);

/// A task whose handler runs in this process.
pub(crate) struct RunningTask {
    pub(crate) id: String,
    pub(crate) principal: Principal,
    pub(crate) runtime: Arc<TaskRuntime>,
    cancellation: Cancellation,
    /// Set if the handler waited too long at an input request or for the store, if too many others wait, or if the server
    /// shuts down while it waits. Its outcome does not count then.
    parked: AtomicBool,
    pub(crate) entry: Arc<TaskRegistration>,
    message: Mutex<MessageState>,
    /// Set from the time when a call has become a task until its run begins.
    detached: Mutex<Option<DetachedCall>>,
}

/// A call that has become a task while its handler runs.
pub(crate) struct DetachedCall {
    /// The new task.
    pub(crate) stored: StoredTask,
    pub(crate) permit: RunPermit,
}

/// The status message that is not written yet.
#[derive(Default)]
struct MessageState {
    pending: Option<String>,
    is_scheduled: bool,
    written_at: Option<Instant>,
}

impl RunningTask {
    /// Creates the task. `channel` reaches the client that requested it (core design).
    pub(crate) fn new(
        runtime: &Arc<TaskRuntime>,
        stored: &StoredTask,
        channel: Option<Arc<dyn TransportContext>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: stored.id.clone(),
            principal: stored.principal.clone(),
            runtime: Arc::clone(runtime),
            cancellation: Cancellation::new(),
            parked: AtomicBool::new(false),
            entry: Arc::new(TaskRegistration::new(stored.id.clone(), channel)),
            message: Mutex::default(),
            detached: Mutex::default(),
        })
    }

    /// Creates the task of a call whose handler runs already.
    pub(crate) fn of_call(runtime: &Arc<TaskRuntime>, detached: DetachedCall) -> Arc<Self> {
        let task = Self::new(runtime, &detached.stored, None);
        *lock(&task.detached) = Some(detached);
        task
    }

    /// Returns the call that has become this task, to the first caller.
    pub(crate) fn take_detached(&self) -> Option<DetachedCall> {
        lock(&self.detached).take()
    }

    pub(crate) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Acquire)
    }

    /// Takes the status message that is not written yet.
    pub(crate) fn take_message(&self) -> Option<String> {
        lock(&self.message).pending.take()
    }

    /// Puts input requests into the task, waits until all have a response, and returns the responses in the same order.
    pub(crate) async fn ask_all(
        &self,
        context: &RequestContext,
        asks: &[&PendingAsk],
    ) -> Result<InputResponses, Error> {
        check_requests(context, asks)?;
        let deadline = deadline_after(Instant::now(), self.runtime.config.park_after);
        let mut watch = self.runtime.watch(&self.id);
        // Boxed, because this future exists for as long as the task waits.
        let keys = boxed_cold(|| self.put_input_requests(context, asks)).await?;
        let mut waiting = None;
        loop {
            let taking = boxed_cold(|| self.take_input_responses(asks, &keys));
            match taking.await {
                Ok(Some(responses)) => return Ok(responses),
                Ok(None) => {}
                // The task continues when the store is available again.
                Err(error) if error.rpc().is_some_and(is_overloaded) => {
                    return Err(self.park(asks));
                }
                Err(error) => return Err(error),
            }
            waiting.get_or_insert_with(|| {
                let limit = self.runtime.config.max_waiting;
                self.runtime.waiting.add(&self.entry.park, limit)
            });
            let must_park = tokio::select! {
                changed = tokio::time::timeout_at(deadline, watch.changed()) => changed.is_err(),
                () = self.entry.park.cancelled() => true,
            };
            if must_park {
                return Err(self.park(asks));
            }
        }
    }

    /// Leaves the task to a later run. Returns the error with which its handler ends.
    fn park(&self, asks: &[&PendingAsk]) -> Error {
        self.parked.store(true, Ordering::Release);
        let first = asks.first().map_or("", |ask| &ask.key);
        Error::input_required(first)
    }

    /// Puts the input requests without a response into the record. Returns the keys that clients see.
    async fn put_input_requests(
        &self,
        context: &RequestContext,
        asks: &[&PendingAsk],
    ) -> Result<Vec<String>, Error> {
        let limit = self.runtime.config.max_input_requests;
        let mut keys = Vec::new();
        self.change_with_retries(|stored, record| {
            let mut journal = self.runtime.journal(stored)?;
            let mut open = open_requests(record)?;
            keys.clear();
            for ask in asks {
                let key = journal.input_key(&ask.key, ask.digest);
                if journal.input_responses.get(&key).is_none() {
                    let request = as_sent(ask, context);
                    open.insert(key.as_str(), request);
                }
                keys.push(key);
            }
            if open.len() > limit {
                return Err(ErrorObject::internal(format!(
                    "a task may have {limit} open input requests"
                )));
            }
            context
                .scope()
                .round
                .in_journal(|values| journal.set_values(values, author_state(context)));
            self.runtime.set_journal(stored, record, &journal)?;
            set_open_requests(record, &open)?;
            if !open.is_empty() {
                record.status = TaskStatus::InputRequired;
                record.runnable = false;
                record.restartable = true;
            }
            Ok(RecordChange::Write)
        })
        .await?;
        Ok(keys)
    }

    /// Returns the responses if all are there. The handler then works again.
    async fn take_input_responses(
        &self,
        asks: &[&PendingAsk],
        keys: &[String],
    ) -> Result<Option<InputResponses>, Error> {
        let mut found = None;
        self.change_with_retries(|stored, record| {
            let journal = self.runtime.journal(stored)?;
            let responses: Option<InputResponses> = asks
                .iter()
                .zip(keys)
                .map(|(ask, key)| {
                    Some((ask.key.clone(), journal.input_responses.get(key)?.clone()))
                })
                .collect();
            let is_complete = responses.is_some();
            found = responses;
            if is_complete && record.restartable && !has_open_requests(record)? {
                // From here on, effects may happen that another run would repeat.
                record.restartable = false;
                return Ok(RecordChange::Write);
            }
            Ok(RecordChange::Keep)
        })
        .await?;
        Ok(found)
    }

    /// Changes the record, unless the task has ended or another worker has taken it over.
    pub(crate) async fn change(
        &self,
        mut change: impl FnMut(&StoredTask, &mut TaskRecord) -> Result<RecordChange, ErrorObject>,
    ) -> Result<(), Error> {
        let mut has_regained = false;
        loop {
            let mut has_no_owner = false;
            let changed = self
                .runtime
                .update(&self.id, &self.principal, |stored, record| {
                    if record.is_final() || !self.runtime.is_owner(stored) {
                        has_no_owner = !record.is_final() && stored.owner.is_none();
                        return Err(ErrorObject::internal("the task has ended"));
                    }
                    change(stored, record)
                })
                .await;
            // The store may have been unavailable for longer than the lease.
            if has_no_owner && !has_regained {
                has_regained = self.regain().await?;
                if has_regained {
                    continue;
                }
            }
            return match changed? {
                Some(_) => Ok(()),
                None => Err(ErrorObject::internal("the task has ended").into()),
            };
        }
    }

    /// Changes the record. While the store is unavailable, tries again for ten minutes: a handler that got the error would
    /// end, although its task can continue.
    pub(crate) async fn change_with_retries(
        &self,
        mut change: impl FnMut(&StoredTask, &mut TaskRecord) -> Result<RecordChange, ErrorObject>,
    ) -> Result<(), Error> {
        let mut retries = StoreRetries::new();
        loop {
            let error = match self.change(&mut change).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if !retries.wait_after(error.rpc()).await {
                return Err(error);
            }
        }
    }

    /// Renews a lease that has ended. Returns `false` if another worker has claimed the task since.
    pub(crate) async fn regain(&self) -> Result<bool, ErrorObject> {
        let worker = self.runtime.worker(Vec::new());
        let config = &self.runtime.config;
        let renewed = config.store.renew(&self.id, &worker, config.lease).await;
        renewed.map_err(|error| store_failed(&error))
    }

    /// Writes the pending status message.
    async fn write_message(self: Arc<Self>, delay: Duration) {
        tokio::time::sleep(delay).await;
        let message = {
            let mut state = lock(&self.message);
            state.is_scheduled = false;
            state.written_at = Some(Instant::now());
            state.pending.take()
        };
        let Some(message) = message else {
            return;
        };
        let written = self
            .change(|_, record| {
                if record.status_message.as_ref() == Some(&message) {
                    return Ok(RecordChange::Keep);
                }
                record.status_message = Some(message.clone());
                Ok(RecordChange::Write)
            })
            .await;
        if let Err(error) = written {
            tracing::debug!(%error, "a status message was dropped");
        }
    }
}

/// Checks input requests against the capabilities of the client.
fn check_requests(context: &RequestContext, asks: &[&PendingAsk]) -> Result<(), ErrorObject> {
    let requests: InputRequests = asks
        .iter()
        .map(|ask| (ask.key.clone(), ask.request.clone()))
        .collect();
    for ask in asks {
        warn_about_request(&ask.request, context.version());
    }
    rounds::check_requests(&requests, context.client_capabilities()).map_err(ErrorObject::from)
}

/// Returns an input request as the client sees it.
fn as_sent(ask: &PendingAsk, context: &RequestContext) -> InputRequest {
    let mut request = ask.request.clone();
    if let InputRequest::Sampling(params) = &mut request {
        drop_undeclared_context(params, context.version(), context.client_capabilities());
    }
    request
}

/// Returns the handler's own state of the current round.
pub(crate) fn author_state(context: &RequestContext) -> Option<String> {
    let state = context.scope().round.request_state();
    state.map(str::to_owned)
}

/// The task as its handler uses it.
#[derive(Debug)]
pub(crate) struct TaskOfHandler(pub(crate) Arc<RunningTask>);

impl TaskScope for TaskOfHandler {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn running(&self) -> &Arc<RunningTask> {
        &self.0
    }

    fn cancellation(&self) -> &Cancellation {
        &self.0.cancellation
    }

    fn set_message(&self, message: String) {
        let delay = {
            let mut state = lock(&self.0.message);
            state.pending = Some(bounded_message(message));
            if std::mem::replace(&mut state.is_scheduled, true) {
                return;
            }
            let next = state.written_at.map(|written| written + MESSAGE_INTERVAL);
            next.map_or(Duration::ZERO, |next| {
                next.saturating_duration_since(Instant::now())
            })
        };
        match tokio::runtime::Handle::try_current() {
            Ok(handle) => drop(handle.spawn(Arc::clone(&self.0).write_message(delay))),
            // Written when the task ends.
            Err(_) => lock(&self.0.message).is_scheduled = false,
        }
    }

    fn ask<'a>(
        &'a self,
        context: &'a RequestContext,
        asks: Vec<&'a PendingAsk>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let responses = self.0.ask_all(context, &asks).await?;
            let round = &context.scope().round;
            round.in_journal(|journal| {
                for ask in &asks {
                    if let Some(response) = responses.get(&ask.key) {
                        journal.store(&*ask.key, ask.digest, response.clone());
                    }
                }
            });
            Ok(())
        })
    }

    fn save_journal<'a>(&'a self, context: &'a RequestContext) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.0.change_with_retries(move |stored, record| {
            let runtime = &self.0.runtime;
            let mut journal = runtime.journal(stored)?;
            context
                .scope()
                .round
                .in_journal(|values| journal.set_values(values, author_state(context)));
            runtime.set_journal(stored, record, &journal)?;
            Ok(RecordChange::Write)
        }))
    }
}

impl fmt::Debug for RunningTask {
    /// Omits the id, because it grants access to the task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningTask").finish_non_exhaustive()
    }
}
