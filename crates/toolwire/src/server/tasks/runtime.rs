//! The tasks of one server: their records, and the handlers that run in this process.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::requests::overloaded_error;
use toolwire_proto::stamp::{Stamp as _, Target};
use toolwire_proto::subscriptions::Change;
use toolwire_proto::task_rules;
use toolwire_types::{ClientCapabilities, ErrorObject, ProtocolVersion};

use crate::engine::{BoxFuture, Outcome, OutgoingNotification, Principal};
use crate::server::hub::ListenerGuard;
use crate::server::request::Exchange;
use crate::server::state_seal::NO_RANDOMNESS;
use crate::server::tasks::config::Tasks;
use crate::server::tasks::ending::{Ending, now_ms};
use crate::server::tasks::options::TaskOptions;
use crate::server::tasks::record::{RecordPart, RecordSeal, TaskCall, TaskJournal};
use crate::server::tasks::registrations::{RunPermit, RunningTasks};
use crate::server::tasks::store_retries::StoreRetries;
use crate::server::tasks::waiting::WaitingHandlers;
use crate::server::tasks::wire::{core_task, end_of_life};
use crate::server::tool::ToolEntry;
use crate::server::{Server, ServerInner};
use crate::store::{StoreError, StoredTask, TaskRecord, Worker};
use crate::sync::lock;

/// How often a change of one record is tried again because others change it at the same time.
const MAX_ATTEMPTS: usize = 64;

/// The decision whether a call becomes a task. Returns `None` for an ordinary call.
pub(crate) type CallAsTask = for<'a> fn(
    &'a Arc<TaskRuntime>,
    &'a Exchange,
    &'a Arc<ToolEntry>,
) -> Result<Option<BoxFuture<'a, Outcome>>, ErrorObject>;

/// Encodes the task with this id as the response of the call that created it.
pub(crate) type RespondWithTask =
    for<'a> fn(&'a TaskRuntime, &'a str, &'a Principal, &'a Exchange) -> BoxFuture<'a, Outcome>;

/// What the server calls. These are pointers, so that programs without tasks do not contain the code behind them.
#[derive(Clone, Copy)]
pub(crate) struct TaskFunctions {
    pub(crate) call_as_task: CallAsTask,
    pub(crate) respond_with_task: RespondWithTask,
    /// Starts to keep leases and to continue stored tasks, when the server begins to serve.
    pub(crate) start: fn(&Arc<TaskRuntime>),
}

/// The tasks of one server.
pub(crate) struct TaskRuntime {
    pub(crate) config: Tasks,
    /// The server, which owns this value.
    server: Weak<ServerInner>,
    pub(crate) functions: TaskFunctions,
    worker_id: String,
    pub(crate) running: Arc<RunningTasks>,
    /// The running handlers that wait at an input request.
    pub(super) waiting: WaitingHandlers,
    /// Those who wait for changes of a task in this process.
    watched: Mutex<HashMap<String, Weak<watch::Sender<u64>>>>,
    /// How many transports stop the running tasks at the moment. Meanwhile no task is claimed.
    pub(super) stopping: AtomicUsize,
    /// The capabilities of the last client, which most tasks share: they take a kilobyte.
    capabilities: Mutex<Arc<ClientCapabilities>>,
    /// Set when the maintenance has started.
    pub(super) maintenance: OnceLock<ListenerGuard>,
    /// Notified if there may be a task to claim.
    pub(super) claimable: Arc<Notify>,
}

/// What a change does with a record.
pub(crate) enum RecordChange {
    /// The record is written.
    Write,
    /// Nothing changes.
    Keep,
}

impl TaskRuntime {
    pub(crate) fn new(config: Tasks, server: &Server, functions: TaskFunctions) -> Self {
        Self {
            config,
            server: Arc::downgrade(&server.shared),
            functions,
            // The id names a lease owner. Without randomness no task can be created anyway.
            worker_id: random_id().unwrap_or_default(),
            running: Arc::default(),
            waiting: WaitingHandlers::default(),
            watched: Mutex::default(),
            stopping: AtomicUsize::new(0),
            capabilities: Mutex::default(),
            maintenance: OnceLock::new(),
            claimable: Arc::default(),
        }
    }

    /// Returns the server, unless it was dropped.
    pub(crate) fn server(&self) -> Option<Server> {
        let shared = self.server.upgrade()?;
        Some(Server { shared })
    }

    /// Returns the lease owner of this process, for these tools.
    pub(crate) fn worker(&self, tools: Vec<String>) -> Worker {
        Worker::new(self.worker_id.as_str(), tools)
    }

    pub(crate) fn is_owner(&self, stored: &StoredTask) -> bool {
        stored.owner.as_deref() == Some(&self.worker_id)
    }

    /// Returns the seal of records. Records in memory are not sealed.
    pub(crate) fn seal(&self) -> RecordSeal {
        let server = self.server();
        let snapshot = server.map(|server| server.snapshot());
        let is_durable = self.config.store.poll_interval().is_some();
        let keys = snapshot
            .as_ref()
            .filter(|_| is_durable)
            .and_then(|snapshot| snapshot.options.seal.configured_keys().cloned());
        let name = snapshot.map(|snapshot| snapshot.info.name.clone());
        RecordSeal::new(keys, name.unwrap_or_default())
    }

    // ---- records ----

    /// Stores a new task. If this process will run it, the task belongs to it from the start. The caller has a permit
    /// then.
    pub(crate) async fn create(
        &self,
        new: NewTask<'_>,
        runs_here: bool,
    ) -> Result<StoredTask, ErrorObject> {
        let id = random_id()?;
        let seal = self.seal();
        let part = |part| RecordPart {
            id: &id,
            principal: &new.principal,
            part,
        };
        let unwritable = |_| ErrorObject::internal("the task could not be stored");
        let call = seal.write(part("call"), &new.call).map_err(unwritable)?;
        let now = now_ms();
        let mut record = TaskRecord::new(new.tool, new.version, call, now);
        if let Some(journal) = &new.journal {
            let journal = seal.write(part("journal"), journal).map_err(unwritable)?;
            record.journal = Some(journal);
        }
        record.runnable = new.runnable;
        // A task that another system ends has no handler to start.
        record.restartable = !runs_here && new.runnable;
        record.ttl_ms = milliseconds(new.options.ttl.or(self.config.ttl));
        if let Some(requested) = new.requested_ttl_ms {
            // A client may ask for less time, not for more.
            record.ttl_ms = Some(record.ttl_ms.map_or(requested, |ttl| ttl.min(requested)));
        }
        record.poll_interval_ms = milliseconds(Some(
            new.options
                .poll_interval
                .unwrap_or(self.config.poll_interval),
        ));
        record.expires_at_ms = task_rules::forgotten_at(record.ttl_ms, now);
        let worker = self.worker(Vec::new());
        let lease = runs_here.then_some((&worker, self.config.lease));
        let created = self
            .config
            .store
            .create(&id, &new.principal, record, lease)
            .await;
        created.map_err(|error| match error {
            StoreError::OwnerFull | StoreError::Full => {
                let is_of_owner = matches!(error, StoreError::OwnerFull);
                let limits = self.config.store.limits();
                ErrorObject::internal(limits.rejection(is_of_owner))
            }
            StoreError::Taken
            | StoreError::Unavailable(_)
            | StoreError::Unknown(_)
            | StoreError::UnsupportedFormat => store_failed(&error),
        })
    }

    /// Returns a task of the principal. Every other id is unknown.
    pub(crate) async fn load(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<Option<StoredTask>, ErrorObject> {
        if !task_rules::is_id(id) {
            return Ok(None);
        }
        let loaded = self.config.store.load(id, principal).await;
        loaded.map_err(|error| store_failed(&error))
    }

    /// Returns a task of the principal. While the store is unavailable, tries again for ten minutes.
    pub(crate) async fn load_with_retries(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<Option<StoredTask>, ErrorObject> {
        let mut retries = StoreRetries::new();
        loop {
            let error = match self.load(id, principal).await {
                Ok(stored) => return Ok(stored),
                Err(error) => error,
            };
            if !retries.wait_after(Some(&error)).await {
                return Err(error);
            }
        }
    }

    /// Changes a record. The change is made again if others changed the record meanwhile. Returns the new state, or
    /// `None` if the task does not exist.
    pub(crate) async fn update(
        &self,
        id: &str,
        principal: &Principal,
        mut change: impl FnMut(&StoredTask, &mut TaskRecord) -> Result<RecordChange, ErrorObject>,
    ) -> Result<Option<StoredTask>, ErrorObject> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(mut stored) = self.load(id, principal).await? else {
                return Ok(None);
            };
            let mut record = TaskRecord::clone(&stored.record);
            match change(&stored, &mut record)? {
                RecordChange::Keep => return Ok(Some(stored)),
                RecordChange::Write => {}
            }
            let before = &stored.record;
            if (before.status, &before.status_message) != (record.status, &record.status_message) {
                record.updated_at_ms = now_ms().max(before.updated_at_ms);
            }
            let has_new_status = before.status != record.status;
            let written = self
                .config
                .store
                .replace(id, stored.revision, record.clone())
                .await
                .map_err(|error| store_failed(&error))?;
            if let Some(revision) = written {
                stored.revision = revision;
                stored.record = Arc::new(record);
                if has_new_status {
                    self.send_status(id, &stored.record);
                }
                self.publish_change(id);
                return Ok(Some(stored));
            }
        }
        Err(ErrorObject::internal(
            "the task is changed by many requests at once; try again",
        ))
    }

    /// Ends a task, unless it has ended. Returns its state, or `None` if it does not exist.
    pub(crate) async fn end(
        &self,
        id: &str,
        principal: &Principal,
        ending: Ending,
    ) -> Result<Option<StoredTask>, ErrorObject> {
        self.update(id, principal, |_, record| {
            if record.is_final() {
                return Ok(RecordChange::Keep);
            }
            ending.apply(record, now_ms());
            Ok(RecordChange::Write)
        })
        .await
    }

    /// Reads the journal of a task.
    pub(crate) fn journal(&self, stored: &StoredTask) -> Result<TaskJournal, ErrorObject> {
        let Some(written) = &stored.record.journal else {
            return Ok(TaskJournal::default());
        };
        self.seal()
            .read(part_of(stored, "journal"), written)
            .map_err(|error| ErrorObject::internal(error.to_string()))
    }

    /// Writes the journal of a task into its record.
    pub(crate) fn set_journal(
        &self,
        stored: &StoredTask,
        record: &mut TaskRecord,
        journal: &TaskJournal,
    ) -> Result<(), ErrorObject> {
        let written = self
            .seal()
            .write(part_of(stored, "journal"), journal)
            .map_err(|_| ErrorObject::internal("the journal of the task could not be stored"))?;
        let limit = self.config.max_journal_bytes;
        if written.get().len() > limit {
            return Err(ErrorObject::internal(format!(
                "the input responses and stored results of the task have more than {limit} bytes"
            )));
        }
        record.journal = Some(written);
        Ok(())
    }

    /// Reads the call of a task.
    pub(crate) fn call(&self, stored: &StoredTask) -> Result<TaskCall, ErrorObject> {
        self.seal()
            .read(part_of(stored, "call"), &stored.record.call)
            .map_err(|error| ErrorObject::internal(error.to_string()))
    }

    // ---- changes ----

    /// Informs all that wait for a change of the task, on this and other nodes.
    pub(crate) fn publish_change(&self, id: &str) {
        self.wake(id);
        if let Some(server) = self.server() {
            server.hub().publish(&Change::Task(id.to_owned()));
        }
    }

    /// Sends the new status of a task of the core design to the client that requested the task, if its handler runs in
    /// this process.
    ///
    /// 2025-11-25, basic/utilities/tasks, "Task Status Notification": servers may send it, and clients still poll.
    fn send_status(&self, id: &str, record: &TaskRecord) {
        let task = self.running.get(id);
        let Some(channel) = task.as_ref().and_then(|task| task.channel.as_ref()) else {
            return;
        };
        let mut status = core_task(id, record);
        status.stamp(&Target::new(record.version));
        let kind = OutgoingKind::TaskChanged {
            task: id.to_owned(),
            subscription: None,
        };
        match OutgoingNotification::write("notifications/tasks/status", &status, kind) {
            Ok(notification) => channel.notify(notification),
            Err(error) => tracing::warn!(%error, "the status of a task is not valid JSON"),
        }
    }

    /// Wakes those who wait for a change of the task in this process.
    pub(crate) fn wake(&self, id: &str) {
        let sender = lock(&self.watched).get(id).and_then(Weak::upgrade);
        if let Some(sender) = sender {
            sender.send_modify(|changes| *changes += 1);
        }
    }

    /// Wakes all who wait for a change of any task in this process.
    #[cfg(feature = "http-server")]
    pub(crate) fn wake_all(&self) {
        let senders: Vec<_> = {
            let watched = lock(&self.watched);
            watched.values().filter_map(Weak::upgrade).collect()
        };
        for sender in senders {
            sender.send_modify(|changes| *changes += 1);
        }
    }

    /// Returns a value that reports changes of a task from now on.
    pub(crate) fn watch(&self, id: &str) -> TaskWatch {
        let mut watched = lock(&self.watched);
        let sender = watched.get(id).and_then(Weak::upgrade);
        let sender = sender.unwrap_or_else(|| {
            if watched.len() == watched.capacity() {
                watched.retain(|_, sender| sender.strong_count() > 0);
            }
            let sender = Arc::new(watch::Sender::new(0));
            watched.insert(id.to_owned(), Arc::downgrade(&sender));
            sender
        });
        TaskWatch {
            changes: sender.subscribe(),
            _sender: sender,
            poll_interval: self.config.store.poll_interval(),
            pause: Duration::ZERO,
        }
    }

    // ---- running tasks ----

    /// Returns a permit to run one more task in this process.
    pub(crate) fn reserve(&self) -> Result<RunPermit, ErrorObject> {
        let limit = self.config.max_running;
        self.running.reserve(limit).ok_or_else(|| {
            ErrorObject::internal(format!(
                "this server runs {limit} tasks, which is its limit; try again later"
            ))
        })
    }

    /// Returns the capabilities of a client, in the memory of the task before if they are the same.
    pub(crate) fn share_capabilities(
        &self,
        capabilities: ClientCapabilities,
    ) -> Arc<ClientCapabilities> {
        let mut last = lock(&self.capabilities);
        if **last != capabilities {
            *last = Arc::new(capabilities);
        }
        Arc::clone(&last)
    }
}

impl fmt::Debug for TaskRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRuntime")
            .field("store", &self.config.store)
            .field("running", &self.running.count())
            .finish_non_exhaustive()
    }
}

/// The data of a new task.
pub(crate) struct NewTask<'a> {
    pub(crate) tool: &'a str,
    pub(crate) principal: Principal,
    pub(crate) version: ProtocolVersion,
    pub(crate) options: &'a TaskOptions,
    pub(crate) requested_ttl_ms: Option<u64>,
    pub(crate) call: TaskCall,
    pub(crate) journal: Option<TaskJournal>,
    /// Whether a handler runs the task. Otherwise another system ends it.
    pub(crate) runnable: bool,
}

/// Reports changes of one task.
pub(crate) struct TaskWatch {
    changes: watch::Receiver<u64>,
    /// Not dropped, because the registry refers to it weakly.
    _sender: Arc<watch::Sender<u64>>,
    poll_interval: Option<Duration>,
    pause: Duration,
}

impl TaskWatch {
    /// Waits for the next change of a task, or until its life ends.
    pub(crate) async fn changed_or_ended(&mut self, stored: &StoredTask) {
        match end_of_life(stored) {
            // An error means that the life has ended.
            Some(end) => drop(tokio::time::timeout_at(end, self.changed()).await),
            None => self.changed().await,
        }
    }

    /// Waits for the next change. With a store that other processes change, it also returns from time to time without
    /// one: at first often, then more rarely.
    pub(crate) async fn changed(&mut self) {
        let Some(interval) = self.poll_interval else {
            // An error is impossible, because this value owns a sender.
            let _ = self.changes.changed().await;
            return;
        };
        let longest = interval.saturating_mul(8);
        self.pause = self.pause.saturating_mul(2).clamp(interval, longest);
        if tokio::time::timeout(self.pause, self.changes.changed())
            .await
            .is_ok()
        {
            self.pause = Duration::ZERO;
        }
    }
}

fn milliseconds(duration: Option<Duration>) -> Option<u64> {
    // A duration that is out of range is unlimited.
    duration.and_then(|duration| u64::try_from(duration.as_millis()).ok())
}

fn part_of<'a>(stored: &'a StoredTask, part: &'static str) -> RecordPart<'a> {
    RecordPart {
        id: &stored.id,
        principal: &stored.principal,
        part,
    }
}

fn random_id() -> Result<String, ErrorObject> {
    let mut random = [0; task_rules::ID_BYTES];
    getrandom::fill(&mut random).map_err(|_| ErrorObject::internal(NO_RANDOMNESS))?;
    Ok(task_rules::new_id(random))
}

/// The message of a change that a full store rejects.
const STORE_FULL: &str = "the task store is full";

/// Returns the error for a failed call of the store. An unavailable store is temporary, and a full one is not.
#[cold]
pub(crate) fn store_failed(error: &StoreError) -> ErrorObject {
    tracing::error!(%error, "the task store failed");
    match error {
        StoreError::Full | StoreError::OwnerFull => ErrorObject::internal(STORE_FULL),
        _ => overloaded_error("the task store is unavailable; try again"),
    }
}

/// Returns `true` for the error of a change that a full store rejects.
pub(crate) fn is_store_full(error: &ErrorObject) -> bool {
    error.message == STORE_FULL
}
