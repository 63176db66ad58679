//! Tasks that another system ends.

use std::fmt;
use std::sync::Arc;

use toolwire_proto::journal::EntryDigest;
use toolwire_proto::rounds;
use toolwire_proto::task_rules;
use toolwire_types::tasks::TaskStatus;
use toolwire_types::{CallToolResult, ErrorObject};

use crate::engine::{BoxFuture, Outcome, Principal};
use crate::error::Error;
use crate::server::Server;
use crate::server::ask::{Ask, PendingAsk};
use crate::server::request::Exchange;
use crate::server::result_meta::remove_forbidden_meta;
use crate::server::tasks::ending::{Ending, bounded_message, now_ms};
use crate::server::tasks::open_requests::{open_requests, set_open_requests};
use crate::server::tasks::running::RunningTask;
use crate::server::tasks::runtime::{RecordChange, TaskRuntime, store_failed};
use crate::server::tasks::wire::{self, visible};
use crate::store::StoredTask;

/// A task of this server, for code outside of its handler: a webhook, a queue consumer.
///
/// [`RequestContext::create_task`](crate::RequestContext::create_task) returns a task that only such code ends.
/// [`Server::task`] finds one by its id. Dropping the handle changes nothing.
#[derive(Clone)]
pub struct ServerTask {
    runtime: Arc<TaskRuntime>,
    id: String,
    principal: Principal,
}

impl ServerTask {
    pub(crate) fn new(runtime: &Arc<TaskRuntime>, stored: &StoredTask) -> Self {
        Self {
            runtime: Arc::clone(runtime),
            id: stored.id.clone(),
            principal: stored.principal.clone(),
        }
    }

    /// Returns the task of a handler that runs in this process.
    pub(crate) fn of(task: &RunningTask) -> Self {
        Self {
            runtime: Arc::clone(&task.runtime),
            id: task.id.clone(),
            principal: task.principal.clone(),
        }
    }

    /// Returns the id of the task. Store it to find the task again; it grants access to the task.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the status of the task.
    ///
    /// # Errors
    /// Returns an error if the task does not exist any more, and if the store fails.
    pub async fn status(&self) -> Result<TaskStatus, Error> {
        let stored = self.runtime.load(&self.id, &self.principal).await?;
        let stored = stored.ok_or_else(gone)?;
        Ok(visible(&stored).status)
    }

    /// Ends the task with a result. Returns `false` if it has ended before.
    ///
    /// # Errors
    /// Returns an error if the task does not exist any more, if the result is too large, and if the store fails.
    pub async fn complete(&self, mut result: CallToolResult) -> Result<bool, Error> {
        remove_forbidden_meta(&mut result, "tools/call", None);
        let is_error = result.is_error == Some(true);
        let server = self.runtime.server();
        let server = server.ok_or_else(|| ErrorObject::internal("the server has ended"))?;
        let stored = self.runtime.load(&self.id, &self.principal).await?;
        let version = stored.ok_or_else(gone)?.record.version;
        let result = server.snapshot().write(result, version)?;
        self.end(Ending::Result { result, is_error }).await
    }

    /// Ends the task with a JSON-RPC error. Returns `false` if it has ended before.
    ///
    /// # Errors
    /// Returns an error if the task does not exist any more, if the error is too large, and if the store fails.
    pub async fn fail(&self, error: ErrorObject) -> Result<bool, Error> {
        self.end(Ending::Failed(error)).await
    }

    async fn end(&self, ending: Ending) -> Result<bool, Error> {
        let ending = ending.within(self.runtime.config.max_outcome_bytes)?;
        let mut ended = false;
        let now = now_ms();
        let found = self
            .runtime
            .update(&self.id, &self.principal, |stored, record| {
                // Clients see a task as failed from the end of its life.
                ended = !visible(stored).is_final();
                if !ended {
                    return Ok(RecordChange::Keep);
                }
                ending.apply(record, now);
                Ok(RecordChange::Write)
            })
            .await?;
        found.map(|_| ended).ok_or_else(|| gone().into())
    }

    /// Sets the status message, which clients show while they wait. It is shortened beyond 4,096 bytes.
    ///
    /// # Errors
    /// Returns an error if the task does not exist any more, and if the store fails.
    pub async fn set_status_message(&self, message: impl Into<String>) -> Result<(), Error> {
        let message = bounded_message(message.into());
        let found = self
            .runtime
            .update(&self.id, &self.principal, |stored, record| {
                if visible(stored).is_final() {
                    return Ok(RecordChange::Keep);
                }
                record.status_message = Some(message.clone());
                Ok(RecordChange::Write)
            })
            .await?;
        found.map(|_| ()).ok_or_else(|| gone().into())
    }

    /// Asks the client of the task, and waits for the response. The input request is a value of
    /// [`toolwire::ask`](crate::ask).
    ///
    /// The input request stays open if the future is dropped. The same input request asked again gets the same
    /// response.
    ///
    /// # Errors
    /// Returns an error if the task has ended or does not exist any more, and if the client does not support the input
    /// request. Also returns an error if the store fails at first, or for ten minutes later.
    pub async fn ask<Q: Ask>(&self, ask: Q) -> Result<Q::Output, Error> {
        let request = ask.request()?;
        let pending = PendingAsk {
            key: ask.key().to_owned(),
            digest: EntryDigest::of(&request),
            request,
        };
        let mut watch = self.runtime.watch(&self.id);
        let key = self.put_input_request(&pending).await?;
        loop {
            let loading = self.runtime.load_with_retries(&self.id, &self.principal);
            let stored = loading.await?.ok_or_else(gone)?;
            let journal = self.runtime.journal(&stored)?;
            if let Some(response) = journal.input_responses.get(&key) {
                return ask.read(response.clone());
            }
            if visible(&stored).is_final() {
                return Err(ErrorObject::internal("the task has ended").into());
            }
            watch.changed_or_ended(&stored).await;
        }
    }

    /// Waits until the task has ended: completed, failed, cancelled, or expired. Returns its status. A job of another
    /// system learns so that its client has cancelled the task.
    ///
    /// ```
    /// use toolwire::Error;
    /// use toolwire::tasks::{ServerTask, TaskStatus};
    ///
    /// async fn stop_if_cancelled(task: ServerTask, stop: impl FnOnce()) -> Result<(), Error> {
    ///     if task.ended().await? == TaskStatus::Cancelled {
    ///         stop();
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the task does not exist any more, and if the store fails for ten minutes.
    pub async fn ended(&self) -> Result<TaskStatus, Error> {
        let mut watch = self.runtime.watch(&self.id);
        loop {
            let loading = self.runtime.load_with_retries(&self.id, &self.principal);
            let stored = loading.await?.ok_or_else(gone)?;
            let record = visible(&stored);
            if record.is_final() {
                return Ok(record.status);
            }
            watch.changed_or_ended(&stored).await;
        }
    }

    /// Encodes the task as the response of the call that created it.
    pub(crate) fn respond<'a>(&'a self, exchange: &'a Exchange) -> BoxFuture<'a, Outcome> {
        (self.runtime.functions.respond_with_task)(
            &self.runtime,
            &self.id,
            &self.principal,
            exchange,
        )
    }

    async fn put_input_request(&self, ask: &PendingAsk) -> Result<String, Error> {
        let stored = self.runtime.load(&self.id, &self.principal).await?;
        let call = self.runtime.call(&stored.ok_or_else(gone)?)?;
        let requests = [(ask.key.clone(), ask.request.clone())];
        rounds::check_requests(&requests.into_iter().collect(), &call.capabilities)
            .map_err(ErrorObject::from)?;
        let limit = self.runtime.config.max_input_requests;
        let mut key = String::new();
        let found = self
            .runtime
            .update(&self.id, &self.principal, |stored, record| {
                if visible(stored).is_final() {
                    return Err(ErrorObject::internal("the task has ended"));
                }
                let mut journal = self.runtime.journal(stored)?;
                key = journal.input_key(&ask.key, ask.digest);
                let mut open = open_requests(record)?;
                if journal.input_responses.get(&key).is_none() {
                    open.insert(key.as_str(), ask.request.clone());
                    record.status = TaskStatus::InputRequired;
                }
                if open.len() > limit {
                    return Err(ErrorObject::internal(format!(
                        "a task may have {limit} open input requests"
                    )));
                }
                set_open_requests(record, &open)?;
                self.runtime.set_journal(stored, record, &journal)?;
                Ok(RecordChange::Write)
            })
            .await?;
        found.map(|_| key).ok_or_else(|| gone().into())
    }
}

/// Encodes the task with this id as the response of the call that created it.
pub(crate) fn respond_with_task<'a>(
    runtime: &'a TaskRuntime,
    id: &'a str,
    principal: &'a Principal,
    exchange: &'a Exchange,
) -> BoxFuture<'a, Outcome> {
    Box::pin(async move {
        let stored = runtime.load(id, principal).await?.ok_or_else(gone)?;
        wire::created(exchange.snapshot(), &stored, exchange.context.version())
    })
}

fn gone() -> ErrorObject {
    ErrorObject::invalid_params("unknown task")
}

impl Server {
    /// Returns the task with this id, for code that the server trusts: the caller of the task is not checked. Returns
    /// `None` if there is no such task.
    ///
    /// # Errors
    /// Returns an error if the server has no tasks, and if the store fails.
    pub async fn task(&self, id: &str) -> Result<Option<ServerTask>, Error> {
        let snapshot = self.snapshot();
        let Some(runtime) = &snapshot.tasks else {
            return Err(ErrorObject::internal("this server has no tasks").into());
        };
        if !task_rules::is_id(id) {
            return Ok(None);
        }
        let found = runtime.config.store.find(id).await;
        let found = found.map_err(|error| store_failed(&error))?;
        Ok(found.map(|stored| ServerTask::new(runtime, &stored)))
    }
}

impl fmt::Debug for ServerTask {
    /// Omits the id, because it grants access to the task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTask").finish_non_exhaustive()
    }
}

impl PartialEq for ServerTask {
    fn eq(&self, other: &Self) -> bool {
        (&self.id, &self.principal) == (&other.id, &other.principal)
    }
}
