//! What is written to a record.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::connection::{ConnectionRecorder, MAX_BODY_BYTES};
use crate::record::recorder::{RecordLimits, Recorder, blob_directory};

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
    let blobs = blob_directory(&directory.record());
    assert!(!blobs.exists(), "a body at the limit is in the line");
    for _ in 0..2 {
        sent(body(MAX_BODY_BYTES + 1).as_bytes(), &connection);
    }
    assert_eq!(fs::read_dir(&blobs).unwrap().count(), 1);
    let text = directory.text();
    assert_eq!(text.matches(r#""body":"blob:"#).count(), 2);
}

#[test]
fn recording_stops_at_its_limits_with_one_warning() {
    for (limits, expected) in [
        (
            RecordLimits {
                bytes: u64::MAX,
                events: 2,
            },
            3,
        ),
        (
            RecordLimits {
                bytes: 900,
                events: u64::MAX,
            },
            2,
        ),
    ] {
        let directory = Directory::new(&format!("limit-{expected}"));
        let warnings = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&warnings);
        let warn = move |_: &str| {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        let recorder =
            Recorder::with_limits(&directory.record(), "stdio", true, limits, warn).unwrap();
        let connection = recorder.connection(None);
        let text = "a".repeat(if limits.events == 2 { 1 } else { 900 });
        for _ in 0..3 {
            connection.stderr(&text);
        }
        assert_eq!(directory.text().lines().count(), expected);
        assert_eq!(warnings.load(Ordering::Relaxed), 1);
    }
}
