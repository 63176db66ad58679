//! Records of what the inspector exchanges with the server: one that the page starts and stops, and that of `--record`.
//!
//! A record of the page begins with the messages that opened the connection, because a server of the legacy era accepts
//! nothing before them. It is in a temporary file of this command until the next record begins.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use toolwire::transport::http_client::HttpClient;
use toolwire::types::RequestId;

use crate::inspect::log::Log;
use crate::record::{ConnectionRecorder, RecordError, RecordLimits, Recorder, single_file};
use crate::sync::lock;
use crate::temporary_directory::TemporaryDirectory;

/// The maximum number of messages that open a connection. Later ones are not part of a record that begins later.
const MAX_OPENING: usize = 64;

/// The maximum size in bytes of these messages.
const MAX_OPENING_BYTES: usize = 1024 * 1024;

/// The limits of a record of the page: 64 MiB and 200,000 events.
const PAGE_LIMITS: RecordLimits = RecordLimits {
    bytes: 64 * 1024 * 1024,
    events: 200_000,
    queued_bytes: 64 * 1024 * 1024,
    queued_entries: 100_000,
};

/// Writes the records. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Recordings {
    state: Arc<Mutex<RecordingState>>,
    /// The transport to the server.
    transport: &'static str,
    /// The limits of a record of the page.
    limits: RecordLimits,
    pub(super) log: Arc<Log>,
}

#[derive(Debug, Default)]
struct RecordingState {
    /// `true` until the connection is open.
    is_opening: bool,
    opening: Vec<OpeningMessage>,
    opening_bytes: usize,
    /// The record of `--record`.
    file: Option<ActiveRecord>,
    /// The record that the page started.
    page: Option<ActiveRecord>,
    /// The file of the last record of the page.
    stored: Option<TemporaryRecord>,
}

#[derive(Debug)]
struct OpeningMessage {
    is_sent: bool,
    bytes: Vec<u8>,
    stream: Option<Value>,
}

/// A record that is being written.
#[derive(Debug)]
struct ActiveRecord {
    recorder: Arc<Recorder>,
    /// The current connection. It begins with the first event.
    connection: Option<ConnectionRecorder>,
}

impl ActiveRecord {
    fn new(recorder: Arc<Recorder>) -> Self {
        Self {
            recorder,
            connection: None,
        }
    }

    fn connection(&mut self) -> &ConnectionRecorder {
        let recorder = &self.recorder;
        self.connection
            .get_or_insert_with(|| recorder.connection(None))
    }
}

/// The reason why a record cannot be started or read.
#[derive(Debug)]
pub(super) enum RecordingError {
    /// A record is being written already.
    Running,
    /// No record was started.
    Absent,
    /// The record cannot be written.
    Write(io::Error),
    /// The record cannot be read.
    Read(RecordError),
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running => f.write_str("a record is being written; stop it first"),
            Self::Absent => f.write_str("there is no record; start one first"),
            Self::Write(error) => write!(f, "the record cannot be written: {error}"),
            Self::Read(error) => write!(f, "the record cannot be read: {error}"),
        }
    }
}

impl Recordings {
    /// Creates the records of connections with this transport.
    pub(super) fn new(transport: &'static str, log: &Arc<Log>) -> Self {
        Self {
            state: Arc::default(),
            transport,
            limits: PAGE_LIMITS,
            log: Arc::clone(log),
        }
    }

    /// Writes all messages to the record of `--record`, too.
    pub(super) fn set_file(&self, recorder: Arc<Recorder>) {
        self.lock().file = Some(ActiveRecord::new(recorder));
    }

    /// Begins another connection in all records.
    pub(super) fn begin_connection(&self) {
        let mut state = self.lock();
        state.is_opening = true;
        state.opening.clear();
        state.opening_bytes = 0;
        for record in state.active() {
            record.connection = None;
        }
    }

    /// Ends the messages that open a connection.
    pub(super) fn end_opening(&self) {
        self.lock().is_opening = false;
    }

    /// Records a message. `stream` is the request on whose stream it arrived.
    pub(super) fn message(&self, is_sent: bool, bytes: &[u8], stream: Option<&RequestId>) {
        let mut state = self.lock();
        if !state.is_opening && state.file.is_none() && state.page.is_none() {
            return;
        }
        let stream = stream.and_then(|id| serde_json::to_value(id).ok());
        for record in state.active() {
            let stream = stream.clone();
            record.connection().message(is_sent, bytes, stream);
        }
        let size = state.opening_bytes + bytes.len();
        if state.is_opening && state.opening.len() < MAX_OPENING && size <= MAX_OPENING_BYTES {
            state.opening_bytes = size;
            state.opening.push(OpeningMessage {
                is_sent,
                bytes: bytes.to_vec(),
                stream,
            });
        }
    }

    /// Records a line of the server's standard error.
    pub(super) fn stderr(&self, line: &str) {
        for record in self.lock().active() {
            record.connection().stderr(line);
        }
    }

    /// Returns an HTTP client that records the headers of requests and responses.
    pub(super) fn http_client(&self, mut inner: Arc<dyn HttpClient>) -> Arc<dyn HttpClient> {
        for record in self.lock().active() {
            inner = record.connection().http_client(inner);
        }
        inner
    }

    /// Starts a record of the page, which replaces the last one. Secrets are replaced.
    pub(super) fn start(&self) -> Result<(), RecordingError> {
        let mut state = self.lock();
        if state.page.is_some() {
            return Err(RecordingError::Running);
        }
        let stored = TemporaryRecord::new().map_err(RecordingError::Write)?;
        let log = Arc::clone(&self.log);
        let recorder = Recorder::with_limits(
            &stored.path,
            self.transport,
            true,
            self.limits,
            move |problem| log.note(problem),
        );
        let mut record = ActiveRecord::new(recorder.map_err(RecordingError::Write)?);
        for message in &state.opening {
            let stream = message.stream.clone();
            record
                .connection()
                .message(message.is_sent, &message.bytes, stream);
        }
        state.page = Some(record);
        state.stored = Some(stored);
        Ok(())
    }

    /// Stops the record of the page, and waits until it is written. Without one, nothing happens.
    pub(super) fn stop(&self) {
        let record = self.lock().page.take();
        if let Some(record) = record {
            record.recorder.finish(false);
        }
    }

    /// Stops all records, and deletes that of the page.
    pub(super) fn close(&self) {
        let state = std::mem::take(&mut *self.lock());
        drop(state);
    }

    /// Returns the text of the record of the page, or of what is written so far.
    pub(super) fn text(&self) -> Result<String, RecordingError> {
        let (path, running) = {
            let state = self.lock();
            let stored = state.stored.as_ref().ok_or(RecordingError::Absent)?;
            let running = state.page.as_ref();
            (
                stored.path.clone(),
                running.map(|record| Arc::clone(&record.recorder)),
            )
        };
        if let Some(recorder) = running {
            recorder.flush();
        }
        single_file(&path).map_err(RecordingError::Read)
    }

    /// Returns what the page shows about its record.
    pub(super) fn value(&self) -> Value {
        let state = self.lock();
        json!({ "running": state.page.is_some(), "stored": state.stored.is_some() })
    }

    fn lock(&self) -> MutexGuard<'_, RecordingState> {
        lock(&self.state)
    }
}

impl RecordingState {
    fn active(&mut self) -> impl Iterator<Item = &mut ActiveRecord> {
        self.file.iter_mut().chain(&mut self.page)
    }
}

/// The place of a record that is deleted with this value.
#[derive(Debug)]
struct TemporaryRecord {
    _directory: TemporaryDirectory,
    path: PathBuf,
}

impl TemporaryRecord {
    /// Creates a directory that only its owner can use.
    fn new() -> io::Result<Self> {
        let directory = TemporaryDirectory::new("toolwire-inspect")?;
        let path = directory.path().join("inspect.mcplog");
        Ok(Self {
            _directory: directory,
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::inspect::log::LogLimits;

    use super::*;

    fn recordings() -> Recordings {
        let log = Arc::new(Log::new(LogLimits::default()));
        Recordings::new("stdio", &log)
    }

    fn send(recordings: &Recordings, text: &str) {
        recordings.message(true, text.as_bytes(), None);
    }

    /// Returns the bodies of the messages in the record.
    fn bodies(recordings: &Recordings) -> Vec<Value> {
        let text = recordings.text().expect("a record");
        let lines = text.lines().skip(1).map(serde_json::from_str::<Value>);
        let lines = lines.map(|line| line.expect("JSON"));
        let messages = lines.filter(|line| line["kind"] == "message");
        messages.map(|line| line["body"].clone()).collect()
    }

    #[test]
    fn record_begins_with_the_opening_of_the_connection() {
        let recordings = recordings();
        recordings.begin_connection();
        send(&recordings, r#"{"method":"initialize"}"#);
        recordings.end_opening();
        send(&recordings, r#"{"method":"before"}"#);
        assert!(matches!(recordings.text(), Err(RecordingError::Absent)));
        recordings.start().expect("a record");
        assert!(matches!(recordings.start(), Err(RecordingError::Running)));
        send(&recordings, r#"{"method":"during","password":"canary"}"#);
        recordings.stop();
        send(&recordings, r#"{"method":"after"}"#);
        let methods: Vec<Value> = bodies(&recordings)
            .iter()
            .map(|body| body["method"].clone())
            .collect();
        assert_eq!(methods, ["initialize", "during"]);
        assert!(!recordings.text().expect("a record").contains("canary"));
    }

    #[test]
    fn large_body_is_part_of_the_text() {
        let recordings = recordings();
        recordings.start().expect("a record");
        let text = "x".repeat(2 * 1024 * 1024);
        send(&recordings, &json!({ "params": text }).to_string());
        assert_eq!(bodies(&recordings), [json!({ "params": text })]);
    }

    #[test]
    fn messages_of_the_opening_are_limited() {
        let recordings = recordings();
        recordings.begin_connection();
        for _ in 0..=MAX_OPENING {
            send(&recordings, "{}");
        }
        recordings.start().expect("a record");
        assert_eq!(bodies(&recordings).len(), MAX_OPENING);
        recordings.stop();
        recordings.begin_connection();
        send(
            &recordings,
            &json!("x".repeat(MAX_OPENING_BYTES - 2)).to_string(),
        );
        send(&recordings, "{}");
        recordings.start().expect("another record");
        assert_eq!(bodies(&recordings).len(), 1);
    }

    #[test]
    fn record_ends_at_its_limits() {
        let check = |limits: RecordLimits, expected: usize| {
            let mut recordings = recordings();
            recordings.limits = limits;
            recordings.start().expect("a record");
            for _ in 0..4 {
                send(&recordings, "{}");
            }
            assert_eq!(bodies(&recordings).len(), expected, "{limits:?}");
            let notes = recordings.log.after(0, usize::MAX);
            let is_incomplete = notes.iter().any(|note| note.text.contains("incomplete"));
            assert_eq!(is_incomplete, expected < 4, "{limits:?}");
            recordings.text().expect("a record").len() as u64
        };
        // The start of a connection is an event too.
        let events = |events| RecordLimits {
            events,
            ..PAGE_LIMITS
        };
        let whole = check(events(5), 4);
        check(events(4), 3);
        let bytes = |bytes| RecordLimits {
            bytes,
            ..PAGE_LIMITS
        };
        // The times in the lines may have another number of digits.
        check(bytes(whole + 100), 4);
        check(bytes(whole - 30), 3);
        let defaults = (PAGE_LIMITS.bytes, PAGE_LIMITS.events);
        assert_eq!(defaults, (64 * 1024 * 1024, 200_000));
    }

    #[test]
    fn temporary_files_are_deleted() {
        let recordings = recordings();
        recordings.start().expect("a record");
        let path = {
            let state = recordings.lock();
            state.stored.as_ref().map(|stored| stored.path.clone())
        };
        let path = path.expect("a file");
        let directory = path.parent().expect("a directory");
        assert!(directory.exists());
        drop(recordings);
        assert!(!directory.exists());
    }
}
