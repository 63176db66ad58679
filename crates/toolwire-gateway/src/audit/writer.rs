//! The thread that writes the audit log.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::audit::line::now;
use crate::config::AuditConfig;
use crate::private_file;

/// The maximum number of lines that wait to be written.
pub(crate) const MAX_QUEUED_LINES: usize = 8192;

/// The maximum number of bytes of the lines that wait to be written.
pub(crate) const MAX_QUEUED_BYTES: usize = 16 * 1024 * 1024;

/// The time between two attempts to write while the file cannot be written.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The queue of the audit log. The thread ends after the last queue is dropped.
#[derive(Debug)]
pub(crate) struct AuditQueue {
    sender: Sender<AuditMessage>,
    fill: Arc<QueueFill>,
}

/// What waits in the queue.
#[derive(Debug, Default)]
struct QueueFill {
    lines: AtomicUsize,
    bytes: AtomicUsize,
    /// The lines that were lost since the last line was written.
    lost: AtomicU64,
}

/// A message to the thread.
#[derive(Debug)]
pub(crate) enum AuditMessage {
    Line(String),
    Reopen,
}

impl AuditQueue {
    /// Opens the file, and starts the thread.
    pub(crate) fn start(config: &AuditConfig) -> io::Result<(Self, JoinHandle<()>)> {
        let file = LogFile::open(config)?;
        let (sender, receiver) = channel();
        let fill = Arc::new(QueueFill::default());
        let filled = Arc::clone(&fill);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = thread.spawn(move || write_all(file, &receiver, &filled))?;
        Ok((Self { sender, fill }, thread))
    }

    /// Returns a queue that no thread empties.
    #[cfg(test)]
    pub(crate) fn stalled() -> (Self, Receiver<AuditMessage>) {
        let (sender, receiver) = channel();
        let fill = Arc::default();
        (Self { sender, fill }, receiver)
    }

    /// Returns the number of lost lines.
    #[cfg(test)]
    pub(crate) fn lost(&self) -> u64 {
        self.fill.lost.load(Ordering::Relaxed)
    }

    /// Returns `true` if no further line fits.
    pub(crate) fn is_full(&self) -> bool {
        self.fill.lines.load(Ordering::Relaxed) >= MAX_QUEUED_LINES
            || self.fill.bytes.load(Ordering::Relaxed) >= MAX_QUEUED_BYTES
    }

    /// Adds a line without its line end.
    pub(crate) fn push(&self, line: String) {
        self.fill.lines.fetch_add(1, Ordering::Relaxed);
        self.fill.bytes.fetch_add(line.len(), Ordering::Relaxed);
        // The thread ends after its senders.
        let _ = self.sender.send(AuditMessage::Line(line));
    }

    /// Counts a line that is not written.
    pub(crate) fn lose(&self) {
        self.fill.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Opens the file again, after another program has moved it.
    pub(crate) fn reopen(&self) {
        let _ = self.sender.send(AuditMessage::Reopen);
    }
}

fn write_all(mut file: LogFile, messages: &Receiver<AuditMessage>, fill: &QueueFill) {
    while let Ok(message) = messages.recv() {
        match message {
            AuditMessage::Reopen => file.reopen(),
            AuditMessage::Line(line) => {
                let lost = fill.lost.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    file.write(&format!(r#"{{"time":{},"lostLines":{lost}}}"#, now()));
                }
                file.write(&line);
                fill.lines.fetch_sub(1, Ordering::Relaxed);
                fill.bytes.fetch_sub(line.len(), Ordering::Relaxed);
            }
        }
    }
}

/// The file, and the older files beside it.
struct LogFile {
    path: PathBuf,
    max_bytes: u64,
    older_files: u32,
    file: File,
    bytes: u64,
}

impl LogFile {
    fn open(config: &AuditConfig) -> io::Result<Self> {
        let file = private_file::append(&config.file)?;
        Ok(Self {
            path: config.file.clone(),
            max_bytes: config.max_bytes,
            older_files: config.files,
            bytes: file.metadata()?.len(),
            file,
        })
    }

    /// Writes a line. If that fails, tries again until it succeeds. Meanwhile the queue fills.
    fn write(&mut self, line: &str) {
        let mut is_logged = false;
        while let Err(error) = self.try_write(line) {
            if !is_logged {
                let path = self.path.display();
                tracing::error!(%path, %error, "the audit log cannot be written");
                is_logged = true;
            }
            std::thread::sleep(RETRY_DELAY);
            self.reopen();
        }
    }

    fn try_write(&mut self, line: &str) -> io::Result<()> {
        let length = line.len() as u64 + 1;
        if self.bytes > 0 && self.bytes + length > self.max_bytes {
            self.rotate()?;
        }
        let mut text = String::with_capacity(line.len() + 1);
        text.push_str(line);
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        if written.is_ok() {
            self.bytes += length;
        } else {
            // A part of a line must not stay.
            let _ = self.file.set_len(self.bytes);
        }
        written
    }

    /// Begins a new file: `audit.jsonl` becomes `audit.jsonl.1`, and that becomes `audit.jsonl.2`.
    fn rotate(&mut self) -> io::Result<()> {
        if self.older_files == 0 {
            fs::remove_file(&self.path)?;
        }
        for number in (0..self.older_files).rev() {
            let (from, to) = (older(&self.path, number), older(&self.path, number + 1));
            match fs::rename(from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.file = private_file::append(&self.path)?;
        self.bytes = 0;
        Ok(())
    }

    fn reopen(&mut self) {
        match private_file::append(&self.path) {
            Ok(file) => {
                self.bytes = file.metadata().map_or(0, |metadata| metadata.len());
                self.file = file;
            }
            Err(error) => {
                let path = self.path.display();
                tracing::error!(%path, %error, "the audit log cannot be opened again");
            }
        }
    }
}

/// Returns the path of an older file. The file itself has the number 0.
fn older(path: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{number}"));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn files_rotate_by_size() {
        let scratch = Scratch::new("audit");
        let mut config = AuditConfig::new(scratch.path("a.jsonl"));
        (config.max_bytes, config.files) = (10, 2);
        let (queue, thread) = AuditQueue::start(&config).unwrap();
        for line in ["1234", "5678", "9", "abcdefghijkl", "m"] {
            queue.push(line.to_owned());
        }
        drop(queue);
        thread.join().unwrap();
        assert_eq!(read(&scratch.path("a.jsonl")), "m\n");
        assert_eq!(read(&scratch.path("a.jsonl.1")), "abcdefghijkl\n");
        assert_eq!(read(&scratch.path("a.jsonl.2")), "9\n");
        assert!(!scratch.path("a.jsonl.3").exists());
    }

    #[test]
    fn moved_file_is_opened_again() {
        let scratch = Scratch::new("audit");
        let path = scratch.path("a.jsonl");
        let (queue, thread) = AuditQueue::start(&AuditConfig::new(&path)).unwrap();
        queue.push("one".to_owned());
        while read(&path) != "one\n" {
            std::thread::yield_now();
        }
        fs::rename(&path, scratch.path("moved")).unwrap();
        queue.reopen();
        queue.push("two".to_owned());
        drop(queue);
        thread.join().unwrap();
        assert_eq!(read(&scratch.path("moved")), "one\n");
        assert_eq!(read(&path), "two\n");
    }

    #[test]
    fn queue_is_limited_by_lines_and_bytes() {
        let (queue, _receiver) = AuditQueue::stalled();
        for _ in 0..MAX_QUEUED_LINES {
            assert!(!queue.is_full());
            queue.push(String::new());
        }
        assert!(queue.is_full());
        let (queue, _receiver) = AuditQueue::stalled();
        queue.push("x".repeat(MAX_QUEUED_BYTES - 1));
        assert!(!queue.is_full());
        queue.push("x".to_owned());
        assert!(queue.is_full());
    }

    #[test]
    fn lost_lines_are_counted_in_the_log() {
        let scratch = Scratch::new("audit");
        let path = scratch.path("a.jsonl");
        let (queue, thread) = AuditQueue::start(&AuditConfig::new(&path)).unwrap();
        queue.lose();
        queue.lose();
        queue.push("{}".to_owned());
        drop(queue);
        thread.join().unwrap();
        let text = read(&path);
        assert!(
            text.contains(r#""lostLines":2}"#) && text.ends_with("{}\n"),
            "{text}"
        );
    }
}
