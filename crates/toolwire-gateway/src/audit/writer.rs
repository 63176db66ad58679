//! The thread that writes the audit log.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::config::AuditConfig;
use crate::private_file;
use crate::sync::lock;

/// The maximum number of lines that wait to be written.
pub(crate) const MAX_QUEUED_LINES: usize = 8192;

/// The maximum number of bytes of the lines that wait to be written.
pub(crate) const MAX_QUEUED_BYTES: usize = 16 * 1024 * 1024;

/// The time between two attempts to write while the file cannot be written.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The queue of the audit log. The thread ends after the queue is dropped.
#[derive(Debug)]
pub(crate) struct AuditQueue {
    sender: Sender<AuditMessage>,
    fill: Arc<Mutex<QueueFill>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What waits in the queue.
#[derive(Debug, Default)]
struct QueueFill {
    lines: usize,
    bytes: usize,
    /// The lines that were lost since the last line was written.
    lost: u64,
}

/// A message to the thread.
#[derive(Debug)]
pub(crate) enum AuditMessage {
    Line(String),
    Reopen,
    /// The new limits of the file.
    Configure(RotationLimits),
}

/// When a new file begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RotationLimits {
    max_bytes: u64,
    older_files: u32,
}

impl RotationLimits {
    fn of(config: &AuditConfig) -> Self {
        Self {
            max_bytes: config.max_bytes,
            older_files: config.files,
        }
    }
}

impl AuditQueue {
    /// Opens the file, and starts the thread.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, and if another process writes it.
    pub(crate) fn start(config: &AuditConfig) -> io::Result<Self> {
        let file = LogFile::open(config)?;
        let (sender, receiver) = channel();
        let fill = Arc::default();
        let filled = Arc::clone(&fill);
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = thread.spawn(move || write_all(file, &receiver, &filled))?;
        Ok(Self {
            sender,
            fill,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Returns a queue that no thread empties.
    #[cfg(test)]
    pub(crate) fn stalled() -> (Self, Receiver<AuditMessage>) {
        let (sender, receiver) = channel();
        let queue = Self {
            sender,
            fill: Arc::default(),
            thread: Mutex::default(),
        };
        (queue, receiver)
    }

    /// Returns the number of lost lines.
    #[cfg(test)]
    pub(crate) fn lost(&self) -> u64 {
        lock(&self.fill).lost
    }

    /// Returns the thread, the first time.
    pub(crate) fn take_thread(&self) -> Option<JoinHandle<()>> {
        lock(&self.thread).take()
    }

    /// Returns `true` if no further line fits.
    pub(crate) fn is_full(&self) -> bool {
        let fill = lock(&self.fill);
        fill.lines >= MAX_QUEUED_LINES || fill.bytes >= MAX_QUEUED_BYTES
    }

    /// Adds a line without its line end. A line that does not fit is lost and counted.
    pub(crate) fn push(&self, line: String) {
        {
            let mut fill = lock(&self.fill);
            let bytes = fill.bytes.saturating_add(line.len());
            if fill.lines >= MAX_QUEUED_LINES || bytes > MAX_QUEUED_BYTES {
                fill.lost += 1;
                return;
            }
            fill.lines += 1;
            fill.bytes = bytes;
        }
        // The thread ends after its senders.
        let _ = self.sender.send(AuditMessage::Line(line));
    }

    /// Opens the file again, after another program has moved it.
    pub(crate) fn reopen(&self) {
        let _ = self.sender.send(AuditMessage::Reopen);
    }

    /// Changes when a new file begins.
    pub(crate) fn configure(&self, config: &AuditConfig) {
        let limits = RotationLimits::of(config);
        let _ = self.sender.send(AuditMessage::Configure(limits));
    }
}

fn write_all(mut file: LogFile, messages: &Receiver<AuditMessage>, fill: &Mutex<QueueFill>) {
    while let Ok(message) = messages.recv() {
        match message {
            AuditMessage::Reopen => file.reopen(),
            AuditMessage::Configure(limits) => file.limits = limits,
            AuditMessage::Line(line) => {
                let lost = std::mem::take(&mut lock(fill).lost);
                if lost > 0 {
                    file.write(&format!(r#"{{"time":{},"lostLines":{lost}}}"#, now()));
                }
                file.write(&line);
                let mut fill = lock(fill);
                fill.lines -= 1;
                fill.bytes -= line.len();
            }
        }
    }
    let lost = lock(fill).lost;
    if lost > 0 {
        file.write(&format!(r#"{{"time":{},"lostLines":{lost}}}"#, now()));
    }
}

/// Returns the time in milliseconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// The file, and the older files beside it.
struct LogFile {
    path: PathBuf,
    limits: RotationLimits,
    file: File,
}

impl LogFile {
    fn open(config: &AuditConfig) -> io::Result<Self> {
        let file = open_locked(&config.file)?;
        Ok(Self {
            path: config.file.clone(),
            limits: RotationLimits::of(config),
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
        // Another program may have truncated the file.
        let mut bytes = self.file.metadata()?.len();
        if bytes > 0 && bytes + length > self.limits.max_bytes {
            self.rotate()?;
            bytes = self.file.metadata()?.len();
        }
        let mut text = String::with_capacity(line.len() + 1);
        text.push_str(line);
        text.push('\n');
        let written = self.file.write_all(text.as_bytes());
        if written.is_err() {
            // A part of a line must not stay.
            let _ = self.file.set_len(bytes);
        }
        written
    }

    /// Begins a new file: `audit.jsonl` becomes `audit.jsonl.1`, and that becomes `audit.jsonl.2`.
    ///
    /// Only files before the first free number move, so that a rotation that failed in the middle loses nothing when it is
    /// repeated.
    fn rotate(&mut self) -> io::Result<()> {
        let last = self.limits.older_files;
        if last == 0 {
            fs::remove_file(&self.path)?;
        }
        let is_free = |number: &u32| !older(&self.path, *number).exists();
        let free = (1..=last).find(is_free).unwrap_or(last);
        for number in (0..free).rev() {
            let (from, to) = (older(&self.path, number), older(&self.path, number + 1));
            match fs::rename(from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.file = open_locked(&self.path)?;
        Ok(())
    }

    fn reopen(&mut self) {
        // The lock of the open file would exclude this process, too.
        if private_file::is_at(&self.file, &self.path) {
            return;
        }
        match open_locked(&self.path) {
            Ok(file) => self.file = file,
            Err(error) => {
                let path = self.path.display();
                tracing::error!(%path, %error, "the audit log cannot be opened again");
            }
        }
    }
}

/// Opens a file that no other process writes. Two writers would remove each other's lines when they begin a new file.
fn open_locked(path: &Path) -> io::Result<File> {
    let file = private_file::append(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another process writes it; set another `file` in [audit]",
        )),
        // A file system without locks.
        Err(TryLockError::Error(error)) => {
            let path = path.display();
            tracing::warn!(%path, %error, "the audit log cannot be locked");
            Ok(file)
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

    /// Waits until all lines are written.
    fn finish(queue: AuditQueue) {
        let thread = queue.take_thread().expect("it was started");
        drop(queue);
        thread.join().expect("it does not panic");
    }

    #[test]
    fn files_rotate_by_size() {
        let scratch = Scratch::new("audit");
        let mut config = AuditConfig::new(scratch.path("a.jsonl"));
        (config.max_bytes, config.files) = (10, 2);
        let queue = AuditQueue::start(&config).unwrap();
        for line in ["1234", "5678", "9", "abcdefghijkl", "m"] {
            queue.push(line.to_owned());
        }
        finish(queue);
        assert_eq!(read(&scratch.path("a.jsonl")), "m\n");
        assert_eq!(read(&scratch.path("a.jsonl.1")), "abcdefghijkl\n");
        assert_eq!(read(&scratch.path("a.jsonl.2")), "9\n");
        assert!(!scratch.path("a.jsonl.3").exists());
    }

    #[test]
    fn truncated_file_is_not_full() {
        let scratch = Scratch::new("audit");
        let mut config = AuditConfig::new(scratch.path("a.jsonl"));
        config.max_bytes = 10;
        let mut file = LogFile::open(&config).unwrap();
        file.write("12345678");
        // A program for rotation has copied the file and truncates it.
        let other = File::options().write(true).open(&config.file).unwrap();
        other.set_len(0).unwrap();
        file.write("9");
        assert_eq!(read(&config.file), "9\n");
        assert!(!scratch.path("a.jsonl.1").exists());
    }

    #[test]
    fn moved_file_is_opened_again() {
        let scratch = Scratch::new("audit");
        let path = scratch.path("a.jsonl");
        let queue = AuditQueue::start(&AuditConfig::new(&path)).unwrap();
        // The file is at its place.
        queue.reopen();
        queue.push("one".to_owned());
        while read(&path) != "one\n" {
            std::thread::yield_now();
        }
        fs::rename(&path, scratch.path("moved")).unwrap();
        queue.reopen();
        queue.push("two".to_owned());
        finish(queue);
        assert_eq!(read(&scratch.path("moved")), "one\n");
        assert_eq!(read(&path), "two\n");
    }

    #[test]
    fn queue_is_limited_by_lines_and_bytes() {
        let (queue, lines) = AuditQueue::stalled();
        for _ in 0..MAX_QUEUED_LINES {
            assert!(!queue.is_full());
            queue.push(String::new());
        }
        assert!(queue.is_full());
        assert_eq!(queue.lost(), 0);
        // The lines of requests that were running when the queue became full.
        queue.push(String::new());
        assert_eq!(queue.lost(), 1);
        assert_eq!(lines.try_iter().count(), MAX_QUEUED_LINES);

        let (queue, lines) = AuditQueue::stalled();
        queue.push("x".repeat(MAX_QUEUED_BYTES - 1));
        assert!(!queue.is_full());
        queue.push("xx".to_owned());
        assert_eq!(queue.lost(), 1);
        queue.push("x".to_owned());
        assert!(queue.is_full());
        assert_eq!(lines.try_iter().count(), 2);
    }

    #[test]
    fn lost_lines_are_counted_in_the_log() {
        let scratch = Scratch::new("audit");
        let path = scratch.path("a.jsonl");
        let queue = AuditQueue::start(&AuditConfig::new(&path)).unwrap();
        lock(&queue.fill).lost = 2;
        queue.push("{}".to_owned());
        finish(queue);
        let text = read(&path);
        assert!(
            text.contains(r#""lostLines":2}"#) && text.ends_with("{}\n"),
            "{text}"
        );
    }

    #[test]
    fn file_has_one_writer() {
        let scratch = Scratch::new("audit");
        let config = AuditConfig::new(scratch.path("a.jsonl"));
        let queue = AuditQueue::start(&config).unwrap();
        let error = AuditQueue::start(&config).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        finish(queue);
        finish(AuditQueue::start(&config).unwrap());
    }

    #[test]
    fn repeated_rotation_loses_no_file() {
        let scratch = Scratch::new("audit");
        let mut config = AuditConfig::new(scratch.path("a.jsonl"));
        (config.max_bytes, config.files) = (10, 3);
        // The state after a rotation that moved only the oldest file.
        for (number, text) in [("", "new\n"), (".1", "b\n"), (".3", "c\n")] {
            fs::write(scratch.path(&format!("a.jsonl{number}")), text).unwrap();
        }
        LogFile::open(&config).unwrap().rotate().unwrap();
        let older = |number: u32| read(&scratch.path(&format!("a.jsonl.{number}")));
        assert_eq!(read(&scratch.path("a.jsonl")), "");
        assert_eq!([older(1), older(2), older(3)], ["new\n", "b\n", "c\n"]);
    }
}
