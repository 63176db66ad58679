//! What is written to a record.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::connection::{ConnectionRecorder, MAX_BODY_BYTES};
use crate::record::recorder::Recorder;
use crate::record::write_queue::{RecordLimits, blob_directory};

/// A directory of its own, which is removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("toolwire-record-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn record(&self) -> PathBuf {
        self.0.join("a.mcplog")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.record()).unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sent(bytes: &[u8], connection: &ConnectionRecorder) {
    connection.message(true, bytes, None);
}

#[test]
fn body_is_written_as_it_is_in_one_line() {
    let directory = Directory::new("body");
    let recorder = Recorder::create(&directory.record(), "stdio", true, |_| {}).unwrap();
    let connection = recorder.connection(None);
    sent(b"{ \"a\":1.0,\n\"b\" : [] }", &connection);
    sent(b"not a message password=hunter2", &connection);
    connection.stderr("ready");
    recorder.finish(false);
    let text = directory.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(
        lines[2].ends_with(r#""body":{ "a":1.0, "b" : [] }}"#),
        "{text}"
    );
    assert!(lines[3].contains(r#""kind":"line""#), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(
        lines[4].ends_with(r#""kind":"stderr","text":"ready"}"#),
        "{text}"
    );
}

#[test]
fn existing_file_is_not_overwritten() {
    let directory = Directory::new("existing");
    fs::write(directory.record(), "mine").unwrap();
    let error = Recorder::create(&directory.record(), "stdio", true, |_| {}).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(directory.text(), "mine");
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = Directory::new("private");
    let recorder = Recorder::create(&directory.record(), "stdio", false, |_| {}).unwrap();
    let long = format!("\"{}\"", "a".repeat(MAX_BODY_BYTES));
    sent(long.as_bytes(), &recorder.connection(None));
    recorder.finish(false);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory.record()), 0o600);
    let blobs = blob_directory(&directory.record());
    assert_eq!(mode(&blobs), 0o700);
    let blob = fs::read_dir(&blobs).unwrap().next().unwrap().unwrap();
    assert_eq!(mode(&blob.path()), 0o600);
}

#[test]
fn body_over_the_limit_has_a_file_of_its_own() {
    let directory = Directory::new("blob");
    let recorder = Recorder::create(&directory.record(), "stdio", true, |_| {}).unwrap();
    let connection = recorder.connection(None);
    let body = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2));
    sent(body(MAX_BODY_BYTES).as_bytes(), &connection);
    for _ in 0..2 {
        sent(body(MAX_BODY_BYTES + 1).as_bytes(), &connection);
    }
    recorder.finish(false);
    let blobs = blob_directory(&directory.record());
    assert_eq!(fs::read_dir(&blobs).unwrap().count(), 1);
    let text = directory.text();
    assert_eq!(text.matches(r#""body":"blob:"#).count(), 2);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;

    let directory = Directory::new("links");
    let elsewhere = directory.0.join("elsewhere");
    symlink(&elsewhere, directory.record()).unwrap();
    let error = Recorder::create(&directory.record(), "stdio", true, |_| {}).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert!(!elsewhere.exists());

    fs::remove_file(directory.record()).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, blob_directory(&directory.record())).unwrap();
    let (warnings, warn) = counted_warnings();
    let recorder = Recorder::create(&directory.record(), "stdio", true, warn).unwrap();
    let long = format!("\"{}\"", "a".repeat(MAX_BODY_BYTES));
    sent(long.as_bytes(), &recorder.connection(None));
    recorder.finish(false);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(warnings.load(Ordering::Relaxed), 1);
}

#[test]
fn record_of_a_failed_command_is_removed_if_it_is_empty() {
    for (has_message, has_failed, remains) in [
        (false, true, false),
        (false, false, true),
        (true, true, true),
    ] {
        let directory = Directory::new(&format!("failed-{has_message}-{has_failed}"));
        let recorder = Recorder::create(&directory.record(), "stdio", true, |_| {}).unwrap();
        let connection = recorder.connection(None);
        if has_message {
            sent(b"{}", &connection);
        }
        recorder.finish(has_failed);
        assert_eq!(directory.record().exists(), remains);
    }
}

fn counted_warnings() -> (Arc<AtomicU64>, impl Fn(&str) + Send + Sync) {
    let warnings = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&warnings);
    let warn = move |_: &str| {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    (warnings, warn)
}

/// Writes with limits. Returns the number of lines and of warnings.
fn written_within(
    name: &str,
    limits: RecordLimits,
    write: impl FnOnce(&ConnectionRecorder),
) -> (usize, u64) {
    let directory = Directory::new(name);
    let (warnings, warn) = counted_warnings();
    let recorder = Recorder::with_limits(&directory.record(), "stdio", true, limits, warn).unwrap();
    write(&recorder.connection(None));
    recorder.finish(false);
    let lines = directory.text().lines().count();
    (lines, warnings.load(Ordering::Relaxed))
}

#[test]
fn recording_stops_at_its_limits_with_one_warning() {
    let unlimited = RecordLimits::default();
    // Writes three lines of this length.
    let check = |name: &str, limits: RecordLimits, length: usize, expected| {
        let text = "a".repeat(length);
        let written = written_within(name, limits, |connection| {
            for _ in 0..3 {
                connection.stderr(&text);
            }
        });
        assert_eq!(written, expected, "{name}");
    };
    let events = |events| RecordLimits {
        events,
        ..unlimited
    };
    // The header is no event, and the start of the connection is one.
    check("events", events(4), 1, (5, 0));
    check("event", events(2), 1, (3, 1));
    let bytes = RecordLimits {
        bytes: 1200,
        ..unlimited
    };
    check("bytes", bytes, 1200, (2, 1));
    let queued = RecordLimits {
        queued_bytes: 1000,
        ..unlimited
    };
    check("queued", queued, 1000, (2, 1));
    let none = RecordLimits {
        queued_entries: 0,
        ..unlimited
    };
    check("entries", none, 1, (1, 1));
}

#[test]
fn blob_counts_for_the_limit_of_bytes() {
    let long = format!("\"{}\"", "a".repeat(MAX_BODY_BYTES));
    let check = |name: &str, bytes: usize, expected| {
        let limits = RecordLimits {
            bytes: bytes as u64,
            ..RecordLimits::default()
        };
        let written = written_within(name, limits, |connection| sent(long.as_bytes(), connection));
        assert_eq!(written, expected, "{name}");
    };
    // The lines of this record are shorter than 2 KiB together.
    check("blob-within", long.len() + 2048, (3, 0));
    check("blob-over", long.len(), (2, 1));
}
