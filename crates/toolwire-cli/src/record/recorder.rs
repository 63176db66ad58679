//! Writes a record while a command runs.
//!
//! Each event is written at once with one call, so that the file is complete up to the last event even if the process is
//! killed, and no event stays in memory. The file is new, and only its owner can read it.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use toolwire_proto::task_rules::time_text;

use crate::record::event::{BLOB_PREFIX, FORMAT, Header, LAYOUT, Line};
use crate::record::redaction::REDACTED;

/// The limits of a record. Recording stops at the first one, with a warning. The command continues.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordLimits {
    /// The bytes of the record and its blobs together: 1 GiB.
    pub(super) bytes: u64,
    /// The events: 5,000,000.
    pub(super) events: u64,
}

impl Default for RecordLimits {
    fn default() -> Self {
        Self {
            bytes: 1024 * 1024 * 1024,
            events: 5_000_000,
        }
    }
}

/// Writes one record.
pub(crate) struct Recorder {
    output: Mutex<RecordOutput>,
    started: Instant,
    redacts: bool,
    limits: RecordLimits,
    pub(super) next_connection: AtomicU64,
    warn: Box<dyn Fn(&str) + Send + Sync>,
}

struct RecordOutput {
    /// `None` after a failure or a limit.
    file: Option<File>,
    blobs: PathBuf,
    bytes: u64,
    events: u64,
}

impl Recorder {
    /// Creates the file, which must not exist, and writes the header. `target` is the transport.
    ///
    /// # Errors
    /// Returns an error if the file exists or cannot be written.
    pub(crate) fn create(
        path: &Path,
        target: &str,
        redacts: bool,
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Arc<Self>> {
        Self::with_limits(path, target, redacts, RecordLimits::default(), warn)
    }

    pub(super) fn with_limits(
        path: &Path,
        target: &str,
        redacts: bool,
        limits: RecordLimits,
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Arc<Self>> {
        let mut file = new_file(path)?;
        let redacted = REDACTED.iter().filter(|_| redacts);
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since_epoch.map_or(0, |time| time.as_millis());
        let header = Header {
            format: FORMAT.to_owned(),
            layout: LAYOUT,
            began: time_text(u64::try_from(millis).unwrap_or(0)),
            tool: format!("toolwire {}", env!("CARGO_PKG_VERSION")),
            redacted: redacted.map(|what| (*what).to_owned()).collect(),
            target: target.to_owned(),
        };
        let mut line = serde_json::to_vec(&header)?;
        line.push(b'\n');
        file.write_all(&line)?;
        Ok(Arc::new(Self {
            output: Mutex::new(RecordOutput {
                file: Some(file),
                blobs: blob_directory(path),
                bytes: line.len() as u64,
                events: 0,
            }),
            started: Instant::now(),
            redacts,
            limits,
            next_connection: AtomicU64::new(1),
            warn: Box::new(warn),
        }))
    }

    /// Returns `true` if secrets are replaced.
    pub(super) fn redacts(&self) -> bool {
        self.redacts
    }

    pub(super) fn write(&self, mut line: Line<'_>) {
        let mut output = self.output();
        if output.file.is_none() {
            return;
        }
        line.t = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let Err(problem) = output.write(&line, self.limits) else {
            return;
        };
        output.file = None;
        drop(output);
        (self.warn)(&format!("the record is incomplete: {problem}"));
    }

    /// Writes a body to a file of its own. Returns the text that refers to it.
    pub(super) fn write_blob(&self, body: &str) -> Option<String> {
        let digest = hex(&Sha256::digest(body.as_bytes()));
        let mut output = self.output();
        output.file.as_ref()?;
        match output.write_blob(&digest, body) {
            Ok(()) => Some(format!("{BLOB_PREFIX}{digest}")),
            Err(error) => {
                output.file = None;
                drop(output);
                (self.warn)(&format!("the record is incomplete: {error}"));
                None
            }
        }
    }

    fn output(&self) -> MutexGuard<'_, RecordOutput> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl RecordOutput {
    fn write(&mut self, line: &Line<'_>, limits: RecordLimits) -> Result<(), String> {
        let mut bytes = serde_json::to_vec(line).map_err(|error| error.to_string())?;
        bytes.push(b'\n');
        let size = self.bytes.saturating_add(bytes.len() as u64);
        if size > limits.bytes || self.events >= limits.events {
            return Err(format!(
                "it has reached its limit of {} bytes or {} events",
                limits.bytes, limits.events
            ));
        }
        let file = self.file.as_mut().ok_or("it is closed")?;
        file.write_all(&bytes).map_err(|error| error.to_string())?;
        self.bytes = size;
        self.events += 1;
        Ok(())
    }

    fn write_blob(&mut self, digest: &str, body: &str) -> io::Result<()> {
        let mut directories = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut directories, 0o700);
        match directories.create(&self.blobs) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // A link could lead elsewhere.
        if !fs::symlink_metadata(&self.blobs)?.is_dir() {
            return Err(io::Error::other(
                "the place of its large bodies is not a directory",
            ));
        }
        match new_file(&self.blobs.join(digest)) {
            // The same body was written before.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            file => {
                file?.write_all(body.as_bytes())?;
                self.bytes = self.bytes.saturating_add(body.len() as u64);
                Ok(())
            }
        }
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

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
