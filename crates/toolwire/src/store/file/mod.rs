//! A task store in a directory, which the processes of one machine may share.
//!
//! Each task has one file. A change writes a new file, waits until it is on the disk, and renames it over the old one. So
//! a file is always complete, whenever a process is killed. A call that returned has an effect that also survives a power
//! failure, as far as the file system keeps its promises. Only a renewed lease may be lost: a renewal overwrites the digits
//! of its end in the file and does not wait for the disk, because a task has a renewal every few seconds.
//!
//! Files are written before the lock between the processes is taken. Under the lock, a call only compares the header of
//! the task with the one that it has read before, and renames its file. If the header has changed, the call starts again.

mod change;
mod directory;
mod files;
mod format;
mod names;
mod process_lock;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::engine::Principal;
use crate::store::file::change::{
    ChangedTask, FileCallError, NewRecord, Preparation, PreparedChange, encode, load,
};
use crate::store::file::directory::TaskDirectory;
use crate::store::file::files::{LOCK_TIMEOUT, Overwritten, TaskFiles};
use crate::store::file::format::{FileLease, TaskHeader};
use crate::store::file::names::task_file_name;
use crate::store::file::process_lock::ProcessLock;
use crate::store::{
    MemoryTaskLimits, StoreError, StoreFuture, StoredTask, TaskRecord, TaskStore, TaskStoreLimits,
    Worker, now_ms,
};

/// How often a call starts again because the task changed meanwhile. A change of the record ends the call, so only
/// changes of the lease repeat it.
const MAX_ATTEMPTS: usize = 16;

/// How often a node looks for changes of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A task store in a directory. Tasks survive the end of the process, and all processes that open the directory share
/// them.
///
/// ```no_run
/// use toolwire::store::FileTaskStore;
///
/// # fn main() -> std::io::Result<()> {
/// let store = FileTaskStore::open("/var/lib/studio/tasks")?;
/// # Ok(())
/// # }
/// ```
///
/// The directory should be on a local file system, because not all network file systems support locks. Only the user can
/// open the directory and its files. The content of records is stored as it is: a server with keys seals the call and the
/// journal before.
///
/// A file that is damaged is reported as a warning with its path, and its task counts as absent. It is not removed. If
/// only the record is damaged, a worker that knows its revision can still replace it.
pub struct FileTaskStore {
    directory: Arc<TaskDirectory>,
    files: Arc<AsyncMutex<TaskFiles>>,
    limits: MemoryTaskLimits,
}

impl FileTaskStore {
    /// Opens a directory. It is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or opened, or if other users can open it and it has files that
    /// are not those of a store.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = Arc::new(TaskDirectory::open(directory.into())?);
        let files = TaskFiles::open(Arc::clone(&directory))?;
        Ok(Self {
            directory,
            files: Arc::new(AsyncMutex::new(files)),
            limits: MemoryTaskLimits::default(),
        })
    }

    /// Sets the limits. All processes that share the directory should have the same limits.
    #[must_use]
    pub fn with_limits(mut self, limits: MemoryTaskLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs work that blocks. It completes even if the caller's future is dropped.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&TaskDirectory) -> Result<T, FileCallError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let directory = Arc::clone(&self.directory);
        let joined = spawn_blocking(move || {
            let result = work(&directory);
            result.map_err(|error| error.into_store_error(directory.path()))
        });
        let joined = joined.await;
        joined.unwrap_or_else(|error| Err(StoreError::unavailable(error)))
    }

    /// Runs work with the index. Calls of this process wait for each other without blocking a thread.
    async fn with_files<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut TaskFiles) -> Result<T, FileCallError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let files = Arc::clone(&self.files).lock_owned();
        let Ok(mut files) = timeout(LOCK_TIMEOUT, files).await else {
            let reason = "earlier calls have waited too long for the lock of another process";
            return Err(StoreError::unavailable(reason));
        };
        self.blocking(move |_| work(&mut files)).await
    }

    /// Runs work under the lock between processes.
    async fn locked<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut TaskFiles, &ProcessLock) -> Result<T, FileCallError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.with_files(move |files| {
            let lock = files.lock()?;
            work(files, &lock)
        })
        .await
    }

    /// Waits until renamed and removed files are on the disk.
    async fn sync(&self) -> Result<(), StoreError> {
        self.blocking(|directory| Ok(directory.sync()?)).await
    }

    /// Changes a task. `change` returns the new header, or `None` if the call does not apply to the task.
    async fn change(
        &self,
        name: String,
        record: NewRecord,
        now_ms: u64,
        change: impl Fn(&TaskHeader) -> Option<TaskHeader> + Send + Sync + 'static,
    ) -> Result<Option<ChangedTask>, StoreError> {
        let change = Arc::new(change);
        let limits = self.limits;
        for _ in 0..MAX_ATTEMPTS {
            let prepared = self.blocking({
                let (name, record, change) = (name.clone(), record.clone(), Arc::clone(&change));
                move |directory| Ok(PreparedChange::write(directory, name, record, &*change)?)
            });
            let prepared = match prepared.await? {
                Preparation::Ready(prepared) => prepared,
                Preparation::NotApplicable => return Ok(None),
                Preparation::Damaged => {
                    let marked = self.with_files(move |files| {
                        files.mark_damaged(&name);
                        Ok(None)
                    });
                    return marked.await;
                }
            };
            let published =
                self.locked(move |files, lock| prepared.publish(files, lock, limits, now_ms));
            if let Some(changed) = published.await? {
                return Ok(Some(changed));
            }
        }
        Err(StoreError::unavailable("the task changes all the time"))
    }

    /// Renews the lease of a worker for a duration, or ends it. The lease may have ended, unless another worker has
    /// claimed the task since.
    async fn set_lease(
        &self,
        id: &str,
        worker: &Worker,
        duration: Option<Duration>,
    ) -> Result<bool, StoreError> {
        let Some(name) = task_file_name(id) else {
            return Ok(false);
        };
        let now_ms = now_ms();
        let owner = worker.id.clone();
        let lease = duration.map(|duration| FileLease::new(worker, duration, now_ms));
        let change = move |header: &TaskHeader| {
            let is_holder = header.lease_holder() == Some(&*owner) && !header.is_expired(now_ms);
            is_holder.then(|| header.with_lease(lease.clone()))
        };
        if duration.is_some() {
            let (name, change) = (name.clone(), change.clone());
            let overwritten =
                self.locked(move |files, lock| Ok(files.overwrite_header(lock, &name, change)?));
            match overwritten.await? {
                Overwritten::Done => return Ok(true),
                Overwritten::NotApplicable => return Ok(false),
                // The new header does not have the length of the old one.
                Overwritten::NotPossible => {}
            }
        }
        let changed = self.change(name, NewRecord::Unchanged, now_ms, change);
        Ok(changed.await?.is_some())
    }
}

impl FileTaskStore {
    /// Gives one task to a worker. Returns `None` if the worker cannot claim it any more.
    async fn claim_one(
        &self,
        name: String,
        worker: &Worker,
        lease: Duration,
        now_ms: u64,
    ) -> Result<Option<StoredTask>, StoreError> {
        let tools = worker.tools.clone();
        let lease = FileLease::new(worker, lease, now_ms);
        let changed = self.change(name, NewRecord::Decoded, now_ms, move |header| {
            let is_claimable = header.is_claimable(&tools, now_ms);
            is_claimable.then(|| header.with_lease(Some(lease.clone())))
        });
        Ok(changed.await?.and_then(|changed| changed.stored(now_ms)))
    }
}

impl fmt::Debug for FileTaskStore {
    /// Omits task ids, because an id grants access to its task.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileTaskStore")
            .field("path", &self.path())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl TaskStore for FileTaskStore {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: TaskRecord,
        lease: Option<(&'a Worker, Duration)>,
    ) -> StoreFuture<'a, StoredTask> {
        Box::pin(async move {
            let json = encode(&record)?;
            let Some(name) = task_file_name(id) else {
                let reason = "a task id has 1 to 128 characters out of A-Z, a-z, 0-9, _ and -";
                return Err(StoreError::unavailable(reason));
            };
            let (now_ms, limits) = (now_ms(), self.limits);
            let lease = lease.map(|(worker, duration)| FileLease::new(worker, duration, now_ms));
            let header = TaskHeader::new(id, principal, &record, &json).with_lease(lease);
            // The file of a task that is rejected is not written.
            let (checked_name, checked) = (name.clone(), header.clone());
            self.locked(move |files, lock| {
                files.remove_expired(lock, now_ms)?;
                files.check_new(lock, &checked_name, &checked, limits, now_ms)
            })
            .await?;
            let written = header.clone();
            let new = self.blocking(move |directory| Ok(directory.write_new(&written, &json)?));
            let new = new.await?;
            let stored = header.stored(Arc::new(record), now_ms);
            self.locked(move |files, lock| {
                files.check_new(lock, &name, &header, limits, now_ms)?;
                Ok(files.publish(lock, new, &name, header)?)
            })
            .await?;
            self.sync().await?;
            Ok(stored)
        })
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
    ) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move {
            let Some(name) = task_file_name(id) else {
                return Ok(None);
            };
            let (principal, now_ms) = (principal.clone(), now_ms());
            self.blocking(move |directory| Ok(load(directory, &name, Some(&principal), now_ms)?))
                .await
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Option<StoredTask>> {
        Box::pin(async move {
            let Some(name) = task_file_name(id) else {
                return Ok(None);
            };
            let now_ms = now_ms();
            self.blocking(move |directory| Ok(load(directory, &name, None, now_ms)?))
                .await
        })
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        revision: u64,
        record: TaskRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        Box::pin(async move {
            let json = encode(&record)?;
            let Some(name) = task_file_name(id) else {
                return Ok(None);
            };
            let now_ms = now_ms();
            // The owner and the id are those of the stored task.
            let new = TaskHeader::new(id, &Principal::anonymous(), &record, &json);
            let changed = self.change(
                name,
                NewRecord::Json(Arc::new(json)),
                now_ms,
                move |header| {
                    let is_replaceable = header.revision == revision
                        && !header.is_final
                        && !header.is_expired(now_ms);
                    is_replaceable.then(|| header.replaced_by(&new))
                },
            );
            let Some(changed) = changed.await? else {
                return Ok(None);
            };
            self.sync().await?;
            Ok(Some(changed.header.revision))
        })
    }

    fn list<'a>(
        &'a self,
        principal: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        Box::pin(async move {
            let now_ms = now_ms();
            let mut tasks = Vec::new();
            let mut last = after.map(str::to_owned);
            while tasks.len() < limit {
                let missing = limit - tasks.len();
                let owner = principal.clone();
                let ids = self.with_files(move |files| {
                    files.refresh()?;
                    Ok(files.ids_after(&owner, last.as_deref(), missing, now_ms))
                });
                let ids = ids.await?;
                last = ids.last().cloned();
                if last.is_none() {
                    break;
                }
                let owner = principal.clone();
                let loaded = self.blocking(move |directory| {
                    let names = ids.iter().filter_map(|id| task_file_name(id));
                    let tasks = names.map(|name| load(directory, &name, Some(&owner), now_ms));
                    Ok(tasks.collect::<io::Result<Vec<_>>>()?)
                });
                // Some may have been removed since, or are damaged.
                tasks.extend(loaded.await?.into_iter().flatten());
            }
            Ok(tasks)
        })
    }

    fn claim<'a>(
        &'a self,
        worker: &'a Worker,
        lease: Duration,
        limit: usize,
    ) -> StoreFuture<'a, Vec<StoredTask>> {
        Box::pin(async move {
            let now_ms = now_ms();
            let tools = worker.tools.clone();
            let names = self.with_files(move |files| {
                files.refresh()?;
                if files.has_expired(now_ms) {
                    let lock = files.lock()?;
                    files.remove_expired(&lock, now_ms)?;
                }
                Ok(files.claimable(&tools, now_ms))
            });
            let mut claimed = Vec::new();
            for name in names.await? {
                if claimed.len() >= limit {
                    break;
                }
                match self.claim_one(name, worker, lease, now_ms).await {
                    // Another worker may have claimed the task since.
                    Ok(task) => claimed.extend(task),
                    Err(error) if claimed.is_empty() => return Err(error),
                    Err(error) => {
                        // The worker has the lease of these tasks. Without it, they would wait until the lease ends.
                        tracing::warn!(%error, "not all waiting tasks could be claimed");
                        break;
                    }
                }
            }
            if !claimed.is_empty()
                && let Err(error) = self.sync().await
            {
                tracing::warn!(%error, "claimed tasks may be claimed again after a power failure");
            }
            Ok(claimed)
        })
    }

    fn renew<'a>(
        &'a self,
        id: &'a str,
        worker: &'a Worker,
        lease: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(self.set_lease(id, worker, Some(lease)))
    }

    fn release<'a>(&'a self, id: &'a str, worker: &'a Worker) -> StoreFuture<'a, bool> {
        Box::pin(self.set_lease(id, worker, None))
    }

    fn remove<'a>(&'a self, id: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let Some(name) = task_file_name(id) else {
                return Ok(false);
            };
            let now_ms = now_ms();
            let removed = self.locked(move |files, lock| Ok(files.remove(lock, &name, now_ms)?));
            let is_removed = removed.await?;
            if is_removed {
                self.sync().await?;
            }
            Ok(is_removed)
        })
    }

    fn limits(&self) -> TaskStoreLimits {
        self.limits.of_store()
    }

    fn poll_interval(&self) -> Option<Duration> {
        Some(POLL_INTERVAL)
    }
}

#[cfg(test)]
mod tests;
