//! Writes the lines and blobs of a record in a thread of its own, so that a slow disk delays no message.
//!
//! Each line is written at once with one call. So the file is complete up to the last line that was written, even if the
//! process is killed.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::record::event::Line;
use crate::sync::lock;

/// The longest time that the end of a command waits for the disk.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// The limits of a record. Recording stops at the first one, with a warning. The command continues.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordLimits {
    /// The bytes of the record and its blobs together: 1 GiB.
    pub(crate) bytes: u64,
    /// The events: 5,000,000.
    pub(crate) events: u64,
    /// The bytes that wait for the disk: 64 MiB.
    pub(crate) queued_bytes: usize,
    /// The lines and blobs that wait for the disk: 100,000.
    pub(crate) queued_entries: usize,
}

impl Default for RecordLimits {
    fn default() -> Self {
        Self {
            bytes: 1024 * 1024 * 1024,
            events: 5_000_000,
            queued_bytes: 64 * 1024 * 1024,
            queued_entries: 100_000,
        }
    }
}

/// The queue between the tasks that record and the thread that writes.
pub(super) struct WriteQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    limits: RecordLimits,
    started: Instant,
    warn: Box<dyn Fn(&str) + Send + Sync>,
}

#[derive(Debug, Default)]
struct QueueState {
    entries: VecDeque<QueuedWrite>,
    /// The number and the bytes of the entries that are not yet written.
    queued_entries: usize,
    queued_bytes: usize,
    /// The bytes of the record and its blobs, with those that are queued.
    bytes: u64,
    events: u64,
    /// The digests of the blobs.
    blobs: HashSet<String>,
    /// Whether there is something but the starts of connections.
    has_content: bool,
    /// Set after a failure, at a limit, and at the end.
    is_closed: bool,
    /// Set if a record without content is removed.
    removes_empty: bool,
    /// Set when the thread has ended.
    is_finished: bool,
}

#[derive(Debug)]
enum QueuedWrite {
    Line(Vec<u8>),
    Blob { digest: String, body: String },
}

impl QueuedWrite {
    fn len(&self) -> usize {
        match self {
            Self::Line(bytes) => bytes.len(),
            Self::Blob { body, .. } => body.len(),
        }
    }
}

impl WriteQueue {
    /// Creates the file of a record, which must not exist, writes its first line, and starts the thread.
    ///
    /// # Errors
    /// Returns an error if the file exists or cannot be written.
    pub(super) fn start(
        path: &Path,
        first_line: &[u8],
        limits: RecordLimits,
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Arc<Self>> {
        let mut file = new_file(path)?;
        let queue = Arc::new(Self {
            state: Mutex::new(QueueState {
                bytes: first_line.len() as u64,
                ..QueueState::default()
            }),
            changed: Condvar::new(),
            limits,
            started: Instant::now(),
            warn: Box::new(warn),
        });
        let path = path.to_owned();
        let written = file.write_all(first_line).and_then(|()| {
            let (queue, path) = (Arc::clone(&queue), path.clone());
            let thread = std::thread::Builder::new().name("record".to_owned());
            thread.spawn(move || queue.run(file, &path))
        });
        if let Err(error) = written {
            // The file is empty, and would prevent the next attempt.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(queue)
    }

    /// Adds a line with the time of this moment.
    pub(super) fn line(&self, mut line: Line<'_>) {
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        // Under the lock, so that the lines are in the order of their times.
        line.t = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut bytes = match serde_json::to_vec(&line) {
            Ok(bytes) => bytes,
            Err(error) => return self.fail(state, &error.to_string()),
        };
        bytes.push(b'\n');
        if state.events >= self.limits.events {
            return self.fail_at_limit(state);
        }
        state.events += 1;
        self.add(state, QueuedWrite::Line(bytes), line.kind != "connection");
    }

    /// Adds a blob, unless the record has it. Returns `false` if it cannot be recorded.
    pub(super) fn blob(&self, digest: &str, body: String) -> bool {
        let mut state = self.state();
        if state.is_closed {
            return false;
        }
        if !state.blobs.insert(digest.to_owned()) {
            return true;
        }
        let digest = digest.to_owned();
        self.add(state, QueuedWrite::Blob { digest, body }, true)
    }

    /// Adds an entry within the limits. Otherwise recording stops.
    fn add(
        &self,
        mut state: MutexGuard<'_, QueueState>,
        entry: QueuedWrite,
        is_content: bool,
    ) -> bool {
        let bytes = state.bytes.saturating_add(entry.len() as u64);
        if bytes > self.limits.bytes {
            self.fail_at_limit(state);
            return false;
        }
        let queued_bytes = state.queued_bytes + entry.len();
        if queued_bytes > self.limits.queued_bytes
            || state.queued_entries >= self.limits.queued_entries
        {
            self.fail(state, "messages arrive faster than the disk can write them");
            return false;
        }
        state.bytes = bytes;
        state.queued_bytes = queued_bytes;
        state.queued_entries += 1;
        state.has_content |= is_content;
        state.entries.push_back(entry);
        drop(state);
        self.changed.notify_all();
        true
    }

    fn fail_at_limit(&self, state: MutexGuard<'_, QueueState>) {
        let RecordLimits { bytes, events, .. } = self.limits;
        let problem = format!("it has reached its limit of {bytes} bytes or {events} events");
        self.fail(state, &problem);
    }

    /// Stops recording with a warning. What is queued is written.
    fn fail(&self, mut state: MutexGuard<'_, QueueState>, problem: &str) {
        state.is_closed = true;
        drop(state);
        self.changed.notify_all();
        (self.warn)(&format!("the record is incomplete: {problem}"));
    }

    /// Ends the record, and waits until everything is written. With `removes_empty`, a record without messages is removed.
    pub(super) fn finish(&self, removes_empty: bool) {
        let mut state = self.state();
        state.is_closed = true;
        state.removes_empty |= removes_empty;
        self.changed.notify_all();
        let deadline = Instant::now() + FINISH_TIMEOUT;
        while !state.is_finished {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                return (self.warn)("the record is incomplete: the disk does not respond");
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until everything that was queued is written, also if the record has reached a limit meanwhile.
    pub(super) fn flush(&self) {
        let deadline = Instant::now() + FINISH_TIMEOUT;
        let mut state = self.state();
        while state.queued_entries > 0 && !state.is_finished {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writes what is queued until the end. This is the thread.
    fn run(&self, mut file: File, path: &Path) {
        let blobs = blob_directory(path);
        while let Some(entries) = self.next_entries() {
            for entry in entries {
                let written = match &entry {
                    QueuedWrite::Line(bytes) => file.write_all(bytes),
                    QueuedWrite::Blob { digest, body } => write_blob(&blobs, digest, body),
                };
                if let Err(error) = written {
                    let mut state = self.state();
                    state.entries.clear();
                    self.fail(state, &error.to_string());
                    break;
                }
                let mut state = self.state();
                state.queued_entries -= 1;
                state.queued_bytes -= entry.len();
                if state.queued_entries == 0 {
                    self.changed.notify_all();
                }
            }
        }
        let mut state = self.state();
        if state.removes_empty && !state.has_content {
            // It would only prevent the next attempt.
            let _ = fs::remove_file(path);
        }
        state.is_finished = true;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for entries. Returns `None` at the end.
    fn next_entries(&self) -> Option<VecDeque<QueuedWrite>> {
        let mut state = self.state();
        loop {
            if !state.entries.is_empty() {
                return Some(std::mem::take(&mut state.entries));
            }
            if state.is_closed {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }
}

/// Writes a body to a file of its own, which is named by its digest.
fn write_blob(directory: &Path, digest: &str, body: &str) -> io::Result<()> {
    let mut directories = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut directories, 0o700);
    match directories.create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // A link could lead elsewhere.
    if !fs::symlink_metadata(directory)?.is_dir() {
        return Err(io::Error::other(
            "the place of its large bodies is not a directory",
        ));
    }
    let path = directory.join(digest);
    match new_file(&path) {
        // An earlier record has the same body. Replaying verifies its digest.
        Err(error)
            if error.kind() == io::ErrorKind::AlreadyExists
                && fs::symlink_metadata(&path)?.is_file() =>
        {
            Ok(())
        }
        file => file?.write_all(body.as_bytes()),
    }
}

/// Returns the directory for the bodies of a record that are too long for a line.
pub(super) fn blob_directory(record: &Path) -> PathBuf {
    let mut name = record.file_name().unwrap_or_default().to_owned();
    name.push(".blobs");
    record.with_file_name(name)
}

/// Creates a file that only its owner can read. A link is not followed, because the file must not exist.
fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
