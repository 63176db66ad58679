//! `--access-log`: a line of JSON for each HTTP request, in a file or on standard error.
//!
//! A thread writes the lines, so that a slow disk delays no response.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use toolwire::transport::http::AccessRecord;

use crate::failure::Failure;
use crate::screen::Screen;

/// The maximum number of lines that wait for the disk. A line has at most a few KiB.
const MAX_QUEUED_LINES: usize = 8192;

/// The longest time that the end of a command waits for the disk.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

/// The access log of a command. Clones are handles to the same log.
#[derive(Clone)]
pub(crate) struct AccessLog {
    sender: Sender<Message>,
    queue: Arc<LogQueue>,
}

enum Message {
    Line(String),
    /// Everything before it is written when the thread responds.
    Flush(SyncSender<()>),
}

#[derive(Default)]
struct LogQueue {
    lines: AtomicUsize,
    /// The lines that were lost since the last line was written.
    lost: AtomicU64,
    needs_reopen: AtomicBool,
}

impl AccessLog {
    /// Opens the log, if there is a path.
    pub(crate) fn open_if(
        path: Option<&Path>,
        screen: &Arc<Screen>,
    ) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open(path, screen)).transpose()
    }

    /// Opens the file to append to it, and starts the thread. `-` is standard error.
    fn open(path: &Path, screen: &Arc<Screen>) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::usage(format!("--access-log {}: {error}", path.display()))
                .with_advice("name a file that can be written, or `-` for standard error")
        };
        let output = LogOutput::open(path).map_err(failed)?;
        let (sender, receiver) = channel();
        let queue = Arc::<LogQueue>::default();
        let (of_thread, screen) = (Arc::clone(&queue), Arc::clone(screen));
        let thread = std::thread::Builder::new().name("access-log".to_owned());
        let started = thread.spawn(move || write_lines(output, &receiver, &of_thread, &screen));
        started.map_err(failed)?;
        Ok(Self { sender, queue })
    }

    /// Returns the function that writes the record of a request.
    pub(crate) fn writer(&self) -> impl Fn(&AccessRecord) + Send + Sync + 'static {
        let log = self.clone();
        move |record| log.add(record.to_string())
    }

    /// Adds a line. One that does not fit is lost and counted.
    fn add(&self, line: String) {
        if self.queue.lines.fetch_add(1, Ordering::Relaxed) >= MAX_QUEUED_LINES {
            self.queue.lines.fetch_sub(1, Ordering::Relaxed);
            self.queue.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // The thread ends only after all senders.
        let _ = self.sender.send(Message::Line(line));
    }

    /// Opens the file again before the next line, for programs that rotate log files.
    pub(crate) fn reopen(&self) {
        self.queue.needs_reopen.store(true, Ordering::Relaxed);
    }

    /// Waits until everything is written, up to 2 s.
    pub(crate) fn flush(&self) {
        let (done, written) = sync_channel(1);
        if self.sender.send(Message::Flush(done)).is_ok() {
            let _ = written.recv_timeout(FINISH_TIMEOUT);
        }
    }
}

/// Where the lines go.
enum LogOutput {
    StandardError,
    File { path: PathBuf, file: File },
}

impl LogOutput {
    fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::StandardError);
        }
        Ok(Self::File {
            path: path.to_owned(),
            file: private_file(path)?,
        })
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        let text = format!("{line}\n");
        match self {
            Self::StandardError => io::stderr().write_all(text.as_bytes()),
            Self::File { file, .. } => file.write_all(text.as_bytes()),
        }
    }

    fn reopen(&mut self, screen: &Screen) {
        let Self::File { path, file } = self else {
            return;
        };
        match private_file(path) {
            Ok(opened) => *file = opened,
            Err(error) => {
                let path = path.display();
                screen.warn(&format!(
                    "the access log {path} cannot be opened again: {error}"
                ));
            }
        }
    }
}

/// Opens a file to append to it. A new file is readable for its owner only, because it has the URIs of resources. A link as
/// the last part of the path is not followed.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;

        // Opening a pipe does not block.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("it is not a regular file"))
}

/// Writes the lines until the log is dropped. This is the thread.
fn write_lines(
    mut output: LogOutput,
    messages: &Receiver<Message>,
    queue: &LogQueue,
    screen: &Screen,
) {
    let mut has_failed = false;
    for message in messages {
        let line = match message {
            Message::Line(line) => line,
            Message::Flush(done) => {
                let _ = done.send(());
                continue;
            }
        };
        if queue.needs_reopen.swap(false, Ordering::Relaxed) {
            output.reopen(screen);
        }
        match output.write(&line) {
            Ok(()) => has_failed = false,
            // The next failures have the same cause.
            Err(error) if !has_failed => {
                screen.warn(&format!("the access log cannot be written: {error}"));
                has_failed = true;
            }
            Err(_) => {}
        }
        queue.lines.fetch_sub(1, Ordering::Relaxed);
        let lost = queue.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            screen.warn(&format!(
                "the disk is too slow for the access log, which lost {lost} lines"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_lost_and_counted() {
        let (sender, messages) = channel();
        let log = AccessLog {
            sender,
            queue: Arc::default(),
        };
        for _ in 0..=MAX_QUEUED_LINES {
            log.add(String::new());
        }
        assert_eq!(messages.try_iter().count(), MAX_QUEUED_LINES);
        assert_eq!(log.queue.lost.load(Ordering::Relaxed), 1);
    }
}
