//! Writes a record while a command runs. The file is new, and only its owner can read it.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use toolwire_proto::task_rules::time_text;

use crate::record::event::{BLOB_PREFIX, FORMAT, Header, LAYOUT, Line};
use crate::record::redaction::REDACTED;
use crate::record::write_queue::{RecordLimits, WriteQueue};

/// Writes one record.
pub(crate) struct Recorder {
    queue: Arc<WriteQueue>,
    redacts: bool,
    pub(super) next_connection: AtomicU64,
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

    /// Creates the file like [`Recorder::create`], with other limits.
    pub(crate) fn with_limits(
        path: &Path,
        target: &str,
        redacts: bool,
        limits: RecordLimits,
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> io::Result<Arc<Self>> {
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
        Ok(Arc::new(Self {
            queue: WriteQueue::start(path, &line, limits, warn)?,
            redacts,
            next_connection: AtomicU64::new(1),
        }))
    }

    /// Ends the record, and waits until everything is written. After a command that failed, a record without messages is
    /// removed, because it would prevent the next attempt.
    pub(crate) fn finish(&self, has_failed: bool) {
        self.queue.finish(has_failed);
    }

    /// Waits until everything up to now is written.
    pub(crate) fn flush(&self) {
        self.queue.flush();
    }

    /// Returns `true` if secrets are replaced.
    pub(super) fn redacts(&self) -> bool {
        self.redacts
    }

    pub(super) fn write(&self, line: Line<'_>) {
        self.queue.line(line);
    }

    /// Writes a body to a file of its own. Returns the text that refers to it.
    pub(super) fn write_blob(&self, body: String) -> Option<String> {
        let digest = hex(&Sha256::digest(body.as_bytes()));
        let is_recorded = self.queue.blob(&digest, body);
        is_recorded.then(|| format!("{BLOB_PREFIX}{digest}"))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.finish(false);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
