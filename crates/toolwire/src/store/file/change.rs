//! The steps of a call: reading a task, writing the file of a change, and publishing it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::engine::Principal;
use crate::store::file::directory::{NewTaskFile, TaskDirectory};
use crate::store::file::files::TaskFiles;
use crate::store::file::format::{TaskContent, TaskFileError, TaskHeader};
use crate::store::file::process_lock::ProcessLock;
use crate::store::{MAX_TASK_RECORD_BYTES, MemoryTaskLimits, StoreError, StoredTask, TaskRecord};

/// Returns the JSON of a record, or an error if it is larger than any record may be.
pub(super) fn encode(record: &TaskRecord) -> Result<Vec<u8>, StoreError> {
    if record.memory_bytes() > MAX_TASK_RECORD_BYTES {
        return Err(StoreError::Full);
    }
    serde_json::to_vec(record).map_err(StoreError::unavailable)
}

/// Reads a task of a principal, or of any principal.
pub(super) fn load(
    directory: &TaskDirectory,
    name: &str,
    principal: Option<&Principal>,
    now_ms: u64,
) -> io::Result<Option<StoredTask>> {
    let Some(content) = directory.content(name)? else {
        return Ok(None);
    };
    let is_owner = principal.is_none_or(|principal| content.header.belongs_to(principal));
    if !is_owner || content.header.is_expired(now_ms) {
        return Ok(None);
    }
    let record = decode(directory, name, &content);
    Ok(record.map(|record| content.header.stored(record, now_ms)))
}

/// Decodes the record of a file, or reports the file as damaged.
fn decode(directory: &TaskDirectory, name: &str, content: &TaskContent) -> Option<Arc<TaskRecord>> {
    match content.decode_record() {
        Ok(record) => Some(Arc::new(record)),
        Err(TaskFileError::Damaged(reason)) => {
            directory.report_damage(name, &reason);
            None
        }
        Err(TaskFileError::Io(error)) => {
            directory.report_damage(name, &error.to_string());
            None
        }
    }
}

/// The record of a changed task.
#[derive(Debug, Clone)]
pub(super) enum NewRecord {
    /// This JSON replaces it.
    Json(Arc<Vec<u8>>),
    /// It does not change.
    Unchanged,
    /// It does not change, and the caller needs its content.
    Decoded,
}

/// The outcome of preparing a change.
#[derive(Debug)]
pub(super) enum Preparation {
    Ready(Box<PreparedChange>),
    /// The task does not exist, or the change does not apply to it.
    NotApplicable,
    /// The record is damaged.
    Damaged,
}

/// A change whose file is on the disk.
#[derive(Debug)]
pub(super) struct PreparedChange {
    name: String,
    /// The header that the change is based on.
    before: TaskHeader,
    after: TaskHeader,
    record: Option<Arc<TaskRecord>>,
    new: NewTaskFile,
}

/// A change that happened.
#[derive(Debug)]
pub(super) struct ChangedTask {
    pub(super) header: TaskHeader,
    /// The record, if it was decoded.
    record: Option<Arc<TaskRecord>>,
}

impl ChangedTask {
    pub(super) fn stored(self, now_ms: u64) -> Option<StoredTask> {
        let record = self.record?;
        Some(self.header.stored(record, now_ms))
    }
}

impl PreparedChange {
    /// Reads a task and writes the file of its change.
    pub(super) fn write(
        directory: &TaskDirectory,
        name: String,
        record: NewRecord,
        change: &dyn Fn(&TaskHeader) -> Option<TaskHeader>,
    ) -> io::Result<Preparation> {
        // The record of a task is read only if it is needed.
        let Some(before) = directory.header(&name)? else {
            return Ok(Preparation::NotApplicable);
        };
        if change(&before).is_none() {
            return Ok(Preparation::NotApplicable);
        }
        let (before, json, decoded) = match record {
            NewRecord::Json(json) => (before, json, None),
            NewRecord::Unchanged | NewRecord::Decoded => {
                let Some(content) = directory.content(&name)? else {
                    return Ok(Preparation::NotApplicable);
                };
                let mut decoded = None;
                if matches!(record, NewRecord::Decoded) {
                    decoded = decode(directory, &name, &content);
                    if decoded.is_none() {
                        return Ok(Preparation::Damaged);
                    }
                }
                (content.header, Arc::new(content.record), decoded)
            }
        };
        // The file may have changed between the two reads.
        let Some(after) = change(&before) else {
            return Ok(Preparation::NotApplicable);
        };
        let new = directory.write_new(&after, &json)?;
        Ok(Preparation::Ready(Box::new(Self {
            name,
            before,
            after,
            record: decoded,
            new,
        })))
    }

    /// Publishes the change. Returns `None` if the task has changed since it was read.
    pub(super) fn publish(
        self,
        files: &mut TaskFiles,
        lock: &ProcessLock,
        limits: MemoryTaskLimits,
        now_ms: u64,
    ) -> Result<Option<ChangedTask>, FileCallError> {
        if files.header(lock, &self.name)?.as_ref() != Some(&self.before) {
            return Ok(None);
        }
        files.check_growth(lock, &self.before, &self.after, limits, now_ms)?;
        files.publish(lock, self.new, &self.name, self.after.clone())?;
        Ok(Some(ChangedTask {
            header: self.after,
            record: self.record,
        }))
    }
}

/// The error of a call.
#[derive(Debug)]
pub(super) enum FileCallError {
    Io(io::Error),
    Rejected(StoreError),
}

impl FileCallError {
    pub(super) fn into_store_error(self, directory: &Path) -> StoreError {
        match self {
            Self::Rejected(error) => error,
            Self::Io(error) => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
                _ => {
                    let directory = directory.display();
                    let reason = format!("cannot use the task directory {directory}: {error}");
                    StoreError::unavailable(io::Error::new(error.kind(), reason))
                }
            },
        }
    }
}

impl From<io::Error> for FileCallError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<StoreError> for FileCallError {
    fn from(error: StoreError) -> Self {
        Self::Rejected(error)
    }
}
