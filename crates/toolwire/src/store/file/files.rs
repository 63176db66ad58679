//! What the calls of one store share: the lock between processes, and an index of the directory.
//!
//! The index has the headers of all tasks. The file `changes` counts the changes of all processes: as long as it has the
//! number of the last scan, the index is complete. A scan reads only files that changed since the last one. The index only
//! selects tasks: a call that changes a task reads its file again under the lock. For limits, changes since the last scan
//! count as the largest tasks, so that most calls need no scan.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::engine::Principal;
use crate::store::file::change::FileCallError;
use crate::store::file::directory::{NewTaskFile, TaskDirectory};
use crate::store::file::format::TaskHeader;
use crate::store::file::names::{is_task_file, task_file_name};
use crate::store::file::process_lock::ProcessLock;
use crate::store::{MAX_TASK_RECORD_BYTES, MemoryTaskLimits, StoreError};

/// The maximum number of expired tasks that one call removes.
const REMOVED_PER_CALL: usize = 16;

/// The longest time between two scans, for changes that are made without this library.
const MAX_SCAN_AGE: Duration = Duration::from_secs(10);

/// The coarsest modification times of file systems. A file that changed within this time before it was read may have
/// changed again without a new modification time.
const TIME_GRANULARITY: Duration = Duration::from_secs(2);

/// How long a call waits for another process. Locks last for milliseconds.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct TaskFiles {
    directory: Arc<TaskDirectory>,
    lock_file: Arc<File>,
    changes: File,
    /// The number of changes at the last scan, and its time.
    scanned: Option<(u64, Instant)>,
    /// By the name of the file.
    index: BTreeMap<String, IndexedFile>,
}

#[derive(Debug)]
struct IndexedFile {
    stamp: FileStamp,
    read_at: SystemTime,
    /// `None` if the file is damaged.
    header: Option<TaskHeader>,
}

/// What changes if a file changes.
#[derive(Debug, Clone, PartialEq)]
struct FileStamp {
    modified: SystemTime,
    length: u64,
}

/// The outcome of a change of a header in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overwritten {
    Done,
    /// The task does not exist, or the change does not apply to it.
    NotApplicable,
    /// The file has to be replaced.
    NotPossible,
}

impl IndexedFile {
    /// Returns `true` if the file has not changed since it was read.
    fn is_current(&self, stamp: &FileStamp) -> bool {
        let age = self.read_at.duration_since(stamp.modified);
        self.stamp == *stamp && age.is_ok_and(|age| age > TIME_GRANULARITY)
    }
}

impl TaskFiles {
    pub(super) fn open(directory: Arc<TaskDirectory>) -> io::Result<Self> {
        Ok(Self {
            lock_file: Arc::new(directory.open_lock_file()?),
            changes: directory.open_changes_file()?,
            directory,
            scanned: None,
            index: BTreeMap::new(),
        })
    }

    pub(super) fn lock(&self) -> io::Result<ProcessLock> {
        ProcessLock::acquire(&self.lock_file, LOCK_TIMEOUT)
    }

    /// Brings the index up to date, under the lock if other processes made changes.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        if self.is_complete()? {
            return Ok(());
        }
        let lock = self.lock()?;
        self.refresh_locked(&lock)
    }

    /// Brings the index up to date.
    pub(super) fn refresh_locked(&mut self, _lock: &ProcessLock) -> io::Result<()> {
        if !self.is_complete()? {
            let changes = self.read_changes()?;
            self.scan()?;
            self.scanned = Some((changes, Instant::now()));
        }
        Ok(())
    }

    fn is_complete(&mut self) -> io::Result<bool> {
        let changes = self.read_changes()?;
        Ok(self
            .scanned
            .is_some_and(|(number, time)| number == changes && time.elapsed() < MAX_SCAN_AGE))
    }

    /// Makes a new file the file of its task.
    pub(super) fn publish(
        &mut self,
        _lock: &ProcessLock,
        new: NewTaskFile,
        name: &str,
        header: TaskHeader,
    ) -> io::Result<()> {
        self.count_change()?;
        let path = self.directory.task_path(name);
        new.rename_to(&path)?;
        self.directory.forget_damage(name);
        let file = IndexedFile {
            stamp: stamp(&fs::metadata(&path)?)?,
            read_at: SystemTime::now(),
            header: Some(header),
        };
        self.index.insert(name.to_owned(), file);
        Ok(())
    }

    /// Changes the header of a task in its file, without a new file. The bytes that change are digits of a time, so a
    /// file that is read at the same time is valid.
    pub(super) fn overwrite_header(
        &mut self,
        _lock: &ProcessLock,
        name: &str,
        change: impl Fn(&TaskHeader) -> Option<TaskHeader>,
    ) -> io::Result<Overwritten> {
        let Some(before) = self.directory.header(name)? else {
            return Ok(Overwritten::NotApplicable);
        };
        let Some(after) = change(&before) else {
            return Ok(Overwritten::NotApplicable);
        };
        self.count_change()?;
        let path = self.directory.task_path(name);
        if !after.overwrite(&before, &path)? {
            return Ok(Overwritten::NotPossible);
        }
        let file = IndexedFile {
            stamp: stamp(&fs::metadata(&path)?)?,
            read_at: SystemTime::now(),
            header: Some(after),
        };
        self.index.insert(name.to_owned(), file);
        Ok(Overwritten::Done)
    }

    /// Reads the header of a task.
    pub(super) fn header(&self, _lock: &ProcessLock, name: &str) -> io::Result<Option<TaskHeader>> {
        self.directory.header(name)
    }

    /// Removes a task. Returns `false` if it does not exist.
    pub(super) fn remove(
        &mut self,
        lock: &ProcessLock,
        name: &str,
        now_ms: u64,
    ) -> io::Result<bool> {
        let Some(header) = self.header(lock, name)? else {
            return Ok(false);
        };
        self.unlink(lock, name)?;
        Ok(!header.is_expired(now_ms))
    }

    /// Ignores a task until its file changes.
    pub(super) fn mark_damaged(&mut self, name: &str) {
        if let Some(file) = self.index.get_mut(name) {
            file.header = None;
        }
    }

    fn unlink(&mut self, _lock: &ProcessLock, name: &str) -> io::Result<()> {
        self.count_change()?;
        match fs::remove_file(self.directory.task_path(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.index.remove(name);
        Ok(())
    }

    /// Returns `true` if the index has tasks that have expired.
    pub(super) fn has_expired(&self, now_ms: u64) -> bool {
        let mut headers = self.index.values().filter_map(|file| file.header.as_ref());
        headers.any(|header| header.is_expired(now_ms))
    }

    /// Removes some of the expired tasks.
    pub(super) fn remove_expired(&mut self, lock: &ProcessLock, now_ms: u64) -> io::Result<()> {
        let expired: Vec<String> = self
            .index
            .iter()
            .filter(|(_, file)| file.header.as_ref().is_some_and(|it| it.is_expired(now_ms)))
            .take(REMOVED_PER_CALL)
            .map(|(name, _)| name.clone())
            .collect();
        for name in expired {
            // The index may be older than the file.
            let header = self.header(lock, &name).unwrap_or_default();
            if header.is_some_and(|header| header.is_expired(now_ms)) {
                self.unlink(lock, &name)?;
            }
        }
        Ok(())
    }

    /// Checks whether the id of a new task is unused and the limits permit one more task.
    pub(super) fn check_new(
        &mut self,
        lock: &ProcessLock,
        name: &str,
        new: &TaskHeader,
        limits: MemoryTaskLimits,
        now_ms: u64,
    ) -> Result<(), FileCallError> {
        let used = self.header(lock, name)?;
        if used.is_some_and(|header| !header.is_expired(now_ms)) {
            return Err(StoreError::Taken.into());
        }
        let unseen = self.unseen_changes()?;
        if self.check_space(new, limits, unseen, now_ms).is_err() {
            self.refresh_locked(lock)?;
            self.check_space(new, limits, 0, now_ms)?;
        }
        Ok(())
    }

    /// Checks whether the limits permit one more task, if each of `unseen` changes added the largest one.
    fn check_space(
        &self,
        new: &TaskHeader,
        limits: MemoryTaskLimits,
        unseen: usize,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let (mut tasks, mut unfinished) = (unseen, unseen);
        let mut bytes = unseen.saturating_mul(MAX_TASK_RECORD_BYTES);
        for header in self.headers(now_ms) {
            tasks = tasks.saturating_add(1);
            bytes = bytes.saturating_add(header.memory_bytes);
            if !header.is_final && header.principal == new.principal {
                unfinished = unfinished.saturating_add(1);
            }
        }
        let has_own_limit = !new.is_final && new.principal.is_some();
        if has_own_limit && unfinished >= limits.unfinished_per_principal {
            return Err(StoreError::OwnerFull);
        }
        if tasks >= limits.tasks || bytes.saturating_add(new.memory_bytes) > limits.bytes {
            return Err(StoreError::Full);
        }
        Ok(())
    }

    /// Checks whether the limits permit the new record of a task.
    pub(super) fn check_growth(
        &mut self,
        lock: &ProcessLock,
        before: &TaskHeader,
        after: &TaskHeader,
        limits: MemoryTaskLimits,
        now_ms: u64,
    ) -> Result<(), FileCallError> {
        // A record that shrinks is always accepted.
        if after.memory_bytes <= before.memory_bytes {
            return Ok(());
        }
        let unseen = self.unseen_changes()?.saturating_mul(MAX_TASK_RECORD_BYTES);
        let known = self.bytes_with(after, now_ms);
        if known.saturating_add(unseen) <= limits.bytes {
            return Ok(());
        }
        self.refresh_locked(lock)?;
        if self.bytes_with(after, now_ms) > limits.bytes {
            return Err(StoreError::Full.into());
        }
        Ok(())
    }

    /// Returns the bytes of all tasks after a change of this one.
    fn bytes_with(&self, changed: &TaskHeader, now_ms: u64) -> usize {
        let others = self.headers(now_ms).filter(|it| it.id != changed.id);
        others.fold(changed.memory_bytes, |sum, other| {
            sum.saturating_add(other.memory_bytes)
        })
    }

    /// Returns the maximum number of changes that the index does not have.
    fn unseen_changes(&mut self) -> io::Result<usize> {
        let changes = self.read_changes()?;
        let unseen = self.scanned.map(|(number, _)| changes.wrapping_sub(number));
        let unseen = unseen.and_then(|unseen| usize::try_from(unseen).ok());
        Ok(unseen.unwrap_or(usize::MAX))
    }

    /// Returns the ids of up to `limit` tasks of a principal, in ascending order, after the id `after`.
    pub(super) fn ids_after(
        &self,
        principal: &Principal,
        after: Option<&str>,
        limit: usize,
        now_ms: u64,
    ) -> Vec<String> {
        let mut ids: Vec<&str> = self
            .headers(now_ms)
            .filter(|header| header.belongs_to(principal))
            .map(|header| header.id.as_str())
            .filter(|id| after.is_none_or(|after| *id > after))
            .collect();
        ids.sort_unstable();
        ids.into_iter().take(limit).map(str::to_owned).collect()
    }

    /// Returns the file names of the tasks that a worker with these tools can claim, the oldest first.
    pub(super) fn claimable(&self, tools: &[String], now_ms: u64) -> Vec<String> {
        let mut tasks: Vec<(u64, &str)> = self
            .headers(now_ms)
            .filter(|header| header.is_claimable(tools, now_ms))
            .map(|header| (header.created_at_ms, header.id.as_str()))
            .collect();
        tasks.sort_unstable();
        let names = tasks.into_iter().map(|(_, id)| task_file_name(id));
        names.flatten().collect()
    }

    fn headers(&self, now_ms: u64) -> impl Iterator<Item = &TaskHeader> {
        let headers = self.index.values().filter_map(|file| file.header.as_ref());
        headers.filter(move |header| !header.is_expired(now_ms))
    }

    fn scan(&mut self) -> io::Result<()> {
        let mut index = BTreeMap::new();
        for entry in fs::read_dir(self.directory.path())? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                continue;
            };
            if !is_task_file(&name) {
                continue;
            }
            let stamp = match entry.metadata().and_then(|metadata| stamp(&metadata)) {
                Ok(stamp) => stamp,
                // Removed without this library since the directory was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let known = self.index.remove(&name);
            let file = match known.filter(|file| file.is_current(&stamp)) {
                Some(file) => file,
                None => self.read(&name, stamp),
            };
            index.insert(name, file);
        }
        self.index = index;
        Ok(())
    }

    fn read(&self, name: &str, stamp: FileStamp) -> IndexedFile {
        let read_at = SystemTime::now();
        let header = self.directory.header(name).unwrap_or_else(|error| {
            // One file that cannot be opened must not stop the tasks of the others.
            self.directory.report_damage(name, &error.to_string());
            None
        });
        IndexedFile {
            stamp,
            read_at,
            header,
        }
    }

    /// Counts a change that follows. If it does not happen, the other processes scan once more than necessary.
    fn count_change(&mut self) -> io::Result<()> {
        let before = self.read_changes()?;
        let after = before.wrapping_add(1);
        self.changes.rewind()?;
        self.changes.write_all(&after.to_le_bytes())?;
        if let Some((number, _)) = &mut self.scanned
            && *number == before
        {
            *number = after;
        }
        Ok(())
    }

    fn read_changes(&mut self) -> io::Result<u64> {
        self.changes.rewind()?;
        let mut bytes = [0; 8];
        match self.changes.read_exact(&mut bytes) {
            Ok(()) => Ok(u64::from_le_bytes(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            Err(error) => Err(error),
        }
    }
}

fn stamp(metadata: &fs::Metadata) -> io::Result<FileStamp> {
    Ok(FileStamp {
        modified: metadata.modified()?,
        length: metadata.len(),
    })
}
