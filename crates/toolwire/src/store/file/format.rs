//! The content of a task's file: one JSON object on two lines or more.
//!
//! ```text
//! {"task":{"format":1,"id":"…","principal":"…","revision":3,"lease":{…},…,"recordBytes":4711},
//! "record":{"tool":"render",…}}
//! ```
//!
//! The first line has everything that a search for tasks needs, so that the record, which can be megabytes long, is read
//! only if the task is used.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::Principal;
use crate::store::{StoredTask, TaskRecord, Worker};

/// The version of the format.
const FORMAT: u32 = 1;

const HEADER_START: &[u8] = b"{\"task\":";
const HEADER_END: &[u8] = b",\n";
const RECORD_START: &[u8] = b"\"record\":";
const RECORD_END: &[u8] = b"}\n";

/// The maximum length of the first line. Names of principals, tools and workers are much shorter.
const MAX_HEADER: u64 = 1024 * 1024;

/// The first line of a task's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskHeader {
    format: u32,
    pub(super) id: String,
    pub(super) principal: Option<String>,
    pub(super) revision: u64,
    pub(super) lease: Option<FileLease>,
    pub(super) tool: String,
    pub(super) created_at_ms: u64,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) runnable: bool,
    pub(super) is_final: bool,
    /// The size of the record as [`TaskRecord::memory_bytes`] counts it.
    pub(super) memory_bytes: usize,
    /// The length of the record in the file.
    record_bytes: usize,
}

/// The lease of a worker, by the wall clock, which the processes share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileLease {
    worker: String,
    ends_at_ms: u64,
}

impl FileLease {
    pub(super) fn new(worker: &Worker, duration: Duration, now_ms: u64) -> Self {
        let duration = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self {
            worker: worker.id.clone(),
            ends_at_ms: now_ms.saturating_add(duration),
        }
    }
}

impl TaskHeader {
    /// Creates the header of a new task.
    pub(super) fn new(id: &str, principal: &Principal, record: &TaskRecord, json: &[u8]) -> Self {
        Self {
            format: FORMAT,
            id: id.to_owned(),
            principal: principal.as_str().map(str::to_owned),
            revision: 1,
            lease: None,
            tool: record.tool.clone(),
            created_at_ms: record.created_at_ms,
            expires_at_ms: record.expires_at_ms,
            runnable: record.runnable,
            is_final: record.is_final(),
            memory_bytes: record.memory_bytes(),
            record_bytes: json.len(),
        }
    }

    /// Returns this header with the lease of another owner, or without one.
    pub(super) fn with_lease(&self, lease: Option<FileLease>) -> Self {
        Self {
            lease: lease.filter(|_| !self.is_final),
            ..self.clone()
        }
    }

    /// Returns the header of the same task after a replacement of its record. `new` is the header of a new task with
    /// that record. A final record ends the lease.
    pub(super) fn replaced_by(&self, new: &Self) -> Self {
        Self {
            id: self.id.clone(),
            principal: self.principal.clone(),
            revision: self.revision + 1,
            ..new.clone()
        }
        .with_lease(self.lease.clone())
    }

    pub(super) fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_at_ms.is_some_and(|expiry| expiry <= now_ms)
    }

    pub(super) fn belongs_to(&self, principal: &Principal) -> bool {
        self.principal.as_deref() == principal.as_str()
    }

    /// Returns the id of the worker whose lease lasts.
    pub(super) fn owner(&self, now_ms: u64) -> Option<&str> {
        let lease = self.lease.as_ref()?;
        (lease.ends_at_ms > now_ms).then_some(lease.worker.as_str())
    }

    /// Returns the id of the worker that had the last lease, which may have ended.
    pub(super) fn lease_holder(&self) -> Option<&str> {
        self.lease.as_ref().map(|lease| lease.worker.as_str())
    }

    /// Returns `true` if a worker can claim the task.
    pub(super) fn is_claimable(&self, tools: &[String], now_ms: u64) -> bool {
        self.runnable
            && !self.is_final
            && !self.is_expired(now_ms)
            && self.owner(now_ms).is_none()
            && tools.contains(&self.tool)
    }

    pub(super) fn stored(&self, record: Arc<TaskRecord>, now_ms: u64) -> StoredTask {
        let principal = Principal::from_stored(self.principal.as_deref());
        let mut stored = StoredTask::new(self.id.clone(), principal, record, self.revision);
        stored.owner = self.owner(now_ms).map(str::to_owned);
        stored
    }

    /// Returns the first line of the file.
    fn line(&self) -> io::Result<Vec<u8>> {
        let mut line = HEADER_START.to_vec();
        serde_json::to_writer(&mut line, self)?;
        line.extend_from_slice(HEADER_END);
        Ok(line)
    }

    /// Overwrites the header `before` in its file with this one. Returns `false` and changes nothing if this is not
    /// possible, because the lines have different lengths, or because another version wrote the file. The caller has
    /// the lock between processes.
    pub(super) fn overwrite(&self, before: &Self, path: &Path) -> io::Result<bool> {
        let (old, new) = (before.line()?, self.line()?);
        if old.len() != new.len() {
            return Ok(false);
        }
        let mut file = File::options().read(true).write(true).open(path)?;
        let mut line = vec![0; old.len()];
        file.read_exact(&mut line)?;
        if line != old {
            return Ok(false);
        }
        let differs = |at: &usize| old[*at] != new[*at];
        if let (Some(first), Some(last)) = (
            (0..old.len()).find(differs),
            (0..old.len()).rev().find(differs),
        ) {
            file.seek(SeekFrom::Start(first as u64))?;
            file.write_all(&new[first..=last])?;
        }
        Ok(true)
    }

    /// Writes a file with this header and a record.
    pub(super) fn write(&self, record: &[u8], file: &mut impl Write) -> io::Result<()> {
        let mut start = self.line()?;
        start.extend_from_slice(RECORD_START);
        file.write_all(&start)?;
        file.write_all(record)?;
        file.write_all(RECORD_END)
    }
}

/// The header and the record of a file. The record is not decoded.
#[derive(Debug)]
pub(super) struct TaskContent {
    pub(super) header: TaskHeader,
    pub(super) record: Vec<u8>,
}

impl TaskContent {
    pub(super) fn decode_record(&self) -> Result<TaskRecord, TaskFileError> {
        serde_json::from_slice(&self.record).map_err(|error| damaged_at("record", &error))
    }
}

/// The reason why a file is not usable.
#[derive(Debug)]
pub(super) enum TaskFileError {
    Io(io::Error),
    Damaged(String),
}

impl From<io::Error> for TaskFileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads the header of a file, or returns `None` if the file does not exist.
pub(super) fn read_header(path: &Path) -> Result<Option<TaskHeader>, TaskFileError> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    let (header, _) = start_reading(file)?;
    Ok(Some(header))
}

/// Reads a file, or returns `None` if it does not exist.
pub(super) fn read_content(path: &Path) -> Result<Option<TaskContent>, TaskFileError> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    let (header, mut rest) = start_reading(file)?;
    let mut record = Vec::with_capacity(header.record_bytes + RECORD_END.len());
    rest.read_to_end(&mut record)?;
    if !record.ends_with(RECORD_END) || record.len() != header.record_bytes + RECORD_END.len() {
        return Err(TaskFileError::Damaged(
            "the end of the record is missing".to_owned(),
        ));
    }
    record.truncate(header.record_bytes);
    Ok(Some(TaskContent { header, record }))
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the header and checks the length of the file. Returns a reader at the start of the record.
fn start_reading(file: File) -> Result<(TaskHeader, BufReader<File>), TaskFileError> {
    let metadata = file.metadata()?;
    let damaged = |reason: &str| Err(TaskFileError::Damaged(reason.to_owned()));
    if !metadata.is_file() {
        return damaged("it is not a regular file");
    }
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    reader
        .by_ref()
        .take(MAX_HEADER)
        .read_until(b'\n', &mut line)?;
    let header = line
        .strip_prefix(HEADER_START)
        .and_then(|rest| rest.strip_suffix(HEADER_END));
    let Some(header) = header else {
        return damaged("the first line is not the header of a task");
    };
    let header: TaskHeader =
        serde_json::from_slice(header).map_err(|error| damaged_at("header", &error))?;
    if header.format != FORMAT {
        let reason = format!(
            "another version of this program wrote it (format {})",
            header.format
        );
        return Err(TaskFileError::Damaged(reason));
    }
    let mut start = [0; RECORD_START.len()];
    if reader.read_exact(&mut start).is_err() || start != *RECORD_START {
        return damaged("the record is missing");
    }
    let others = line.len() + RECORD_START.len() + RECORD_END.len();
    if metadata.len() != others.saturating_add(header.record_bytes) as u64 {
        return damaged("its length is not that of its record");
    }
    Ok((header, reader))
}

/// Describes invalid JSON by its position only, because the message repeats content of the file.
fn damaged_at(part: &str, error: &serde_json::Error) -> TaskFileError {
    let (line, column) = (error.line(), error.column());
    TaskFileError::Damaged(format!(
        "the JSON of its {part} is invalid at line {line}, column {column}"
    ))
}
