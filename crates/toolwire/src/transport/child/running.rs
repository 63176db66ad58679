//! A server process while it runs, and how it ends.
//!
//! ```text
//!  runs ──► its output ends, it exits, its input breaks, or the client closes
//!             │  its input is closed; if the client gives up before it is connected, SIGTERM at once
//!             ▼
//!           has ended? ──no, after the grace──► SIGTERM ──no──► SIGKILL
//!             │
//!             ▼
//!           the rest of its output is read, then everybody who waits hears how it ended
//!             │
//!             ▼
//!           whoever is left in its process group goes the same way
//! ```
//!
//! All of that happens in one task, so that it goes on when nobody waits for it. When the runtime shuts down before it
//! is finished, [`Process`] kills what is left.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolwire_proto::framing::{Frame, LineDecoder};
use toolwire_proto::strict_json;

use crate::client::config::ClientLimits;
use crate::client::incoming::IncomingMessages;
use crate::client::stream_transport::{StreamReader, StreamShutdown, StreamTransport};
use crate::engine::BoxFuture;
use crate::error::{Closure, ServerExit};
use crate::transport::child::command::{ServerCommand, StderrOption};
use crate::transport::child::process::{Force, GroupHandle, Pipes, Process, describe};
use crate::transport::child::stderr::{StderrTail, drain, last_line};
use crate::transport::child::stdin::{Stdin, wait_raised, write};

/// How much is read at once; as much as a pipe holds.
const CHUNK: usize = 64 * 1024;

/// How many answers and notices may wait for a server that does not read, beside the calls.
const EXTRA_PERMITS: usize = 1024;

/// Connects a client with a process that was just started.
pub(super) fn run(
    process: Process,
    pipes: Pipes,
    command: &ServerCommand,
    limits: &ClientLimits,
    inbox: Arc<IncomingMessages>,
) -> StreamTransport {
    let explained = watch::Sender::new(false);
    let most_waiting = limits.calls_in_flight.saturating_add(EXTRA_PERMITS);
    let (stdin, queue) = Stdin::new(most_waiting, explained.subscribe());
    let (stop, asked_to_stop) = watch::channel(Stop::NotRequested);
    let (gone, is_gone) = watch::channel(false);
    let ending = ProcessGuard {
        stop,
        gone: is_gone,
        group: process.handle(),
    };
    let (pipe, reader) = StreamTransport::new(Arc::new(stdin), inbox, Box::new(ending));
    let reader = Arc::new(reader);
    let words = Arc::new(StderrTail::default());
    let closing = watch::Sender::new(false);
    let writing = tokio::spawn(write(pipes.stdin, queue, closing.subscribe()));
    let reading = tokio::spawn(read(
        pipes.stdout,
        limits.message_bytes,
        Arc::clone(&reader),
    ));
    let draining = pipes.stderr.map(|stderr| {
        let words = Arc::clone(&words);
        let listener = match &command.stderr {
            StderrOption::Captured(listener) => listener.clone(),
            StderrOption::Inherited => None,
        };
        tokio::spawn(async move { drain(stderr, &words, listener).await })
    });
    let running = ServerProcess {
        process,
        name: command.to_string(),
        grace: limits.exit_grace,
        closing,
        explained,
        writing,
        reading,
        draining,
        reader,
        words,
    };
    tokio::spawn(running.until_gone(asked_to_stop, gone));
    pipe
}

/// What the client wants from the process. Later variants override earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    NotRequested,
    /// End after the input is closed, with a grace for work in progress.
    Close,
    /// End now: SIGTERM was sent.
    Terminate,
}

/// The client's hold on the process. Dropped, it asks the process to end, so that a connection that is given up half way
/// leaves nothing behind.
#[derive(Debug)]
struct ProcessGuard {
    stop: watch::Sender<Stop>,
    gone: watch::Receiver<bool>,
    group: GroupHandle,
}

impl ProcessGuard {
    fn request(&self, wanted: Stop) {
        self.stop
            .send_modify(|current| *current = wanted.max(*current));
    }
}

impl StreamShutdown for ProcessGuard {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.abandon();
        let mut gone = self.gone.clone();
        Box::pin(async move { wait_raised(&mut gone).await })
    }

    fn abandon(&self) {
        self.request(Stop::Close);
    }

    fn terminate(&self) {
        self.request(Stop::Terminate);
        // Not left to the task: the program may exit before the task runs.
        self.group.force(Force::Terminate);
    }
}

/// Everything that belongs to one process.
#[derive(Debug)]
struct ServerProcess {
    process: Process,
    name: String,
    grace: Duration,
    /// Raised when the server's input is to be closed.
    closing: watch::Sender<bool>,
    /// Raised when calls can be told why they fail.
    explained: watch::Sender<bool>,
    writing: JoinHandle<()>,
    reading: JoinHandle<()>,
    draining: Option<JoinHandle<()>>,
    reader: Arc<StreamReader>,
    words: Arc<StderrTail>,
}

impl ServerProcess {
    async fn until_gone(
        mut self,
        mut asked_to_stop: watch::Receiver<Stop>,
        gone: watch::Sender<bool>,
    ) {
        tokio::select! {
            _ = self.process.ended() => {}
            _ = &mut self.reading => {}
            _ = &mut self.writing => {}
            // Whoever closes the client knows why calls fail.
            _ = asked_to_stop.wait_for(|stop| *stop != Stop::NotRequested) => {
                self.explained.send_replace(true);
            }
        }
        self.closing.send_replace(true);
        let forces: &[Force] = match *asked_to_stop.borrow() {
            Stop::Terminate => &[Force::Kill],
            Stop::NotRequested | Stop::Close => &[Force::Terminate, Force::Kill],
        };
        let mut forces = forces.iter().copied();
        let status = self.ended(&mut forces).await;
        self.drain_output().await;
        self.report(status);
        self.end_group(forces).await;
        self.writing.abort();
        self.reading.abort();
        if let Some(draining) = &self.draining {
            draining.abort();
        }
        self.process.over();
        gone.send_replace(true);
    }

    /// Waits for the end of the process, with more and more force.
    async fn ended(&mut self, forces: &mut impl Iterator<Item = Force>) -> Option<ExitStatus> {
        loop {
            if let Ok(status) = timeout(self.grace, self.process.ended()).await {
                return status;
            }
            let Some(force) = forces.next() else {
                return self.process.ended().await;
            };
            // Nobody has to wait for the end of a server that cannot be spoken to any more.
            let reason = "closed its input or output but did not end";
            self.explain(Closure {
                reason: format!("the server process {} {reason}", self.name),
                exit: None,
            });
            self.process.force(force);
        }
    }

    /// Takes what the process wrote before it ended. What it started may still hold the other ends of the pipes, so that
    /// the output never ends; then the grace has to do.
    async fn drain_output(&mut self) {
        let rest = async {
            finished(&mut self.reading).await;
            if let Some(draining) = &mut self.draining {
                finished(draining).await;
            }
        };
        let _ = timeout(self.grace, rest).await;
    }

    fn report(&self, status: Option<ExitStatus>) {
        let stderr = self.words.text();
        let mut reason = format!("the server process {} {}", self.name, describe(status));
        if let Some(line) = last_line(&stderr) {
            reason.push_str("; its last words: ");
            reason.push_str(&line);
        }
        tracing::debug!(reason, "a server process is gone");
        let exit = ServerExit {
            code: status.and_then(|status| status.code()),
            stderr,
        };
        self.explain(Closure {
            reason,
            exit: Some(exit),
        });
    }

    /// Tells everybody who waits why; the first reason counts.
    fn explain(&self, closure: Closure) {
        self.reader.ended(closure);
        self.explained.send_replace(true);
    }

    /// Ends what the process has left behind.
    async fn end_group(&mut self, mut forces: impl Iterator<Item = Force>) {
        while timeout(self.grace, self.process.group_ended())
            .await
            .is_err()
        {
            let Some(force) = forces.next() else { return };
            self.process.force(force);
        }
    }
}

/// Reads messages until the server closes its output.
async fn read(mut stdout: impl AsyncRead + Unpin, longest: usize, reader: Arc<StreamReader>) {
    let mut decoder = LineDecoder::new(longest);
    let mut chunk = vec![0; CHUNK];
    loop {
        let mut rest = match stdout.read(&mut chunk).await {
            Ok(0) => break,
            Ok(length) => &chunk[..length],
            Err(error) => {
                tracing::debug!(%error, "the server's output cannot be read");
                break;
            }
        };
        while let Some(frame) = decoder.next_frame(&mut rest) {
            take(frame, &decoder, &reader);
        }
    }
    if let Some(frame) = decoder.finish() {
        take(frame, &decoder, &reader);
    }
}

fn take(frame: Frame<'_>, decoder: &LineDecoder, reader: &StreamReader) {
    match frame {
        Frame::Line(line) => reader.message(&line),
        Frame::TooLong => reader.too_long(decoder.skipped_head()),
        // A last message without a newline is still one. Half a message says less than the end that follows.
        Frame::Unterminated(line) => {
            match strict_json::read(&line, &strict_json::Limits::default()) {
                Ok(_) => reader.message(&line),
                Err(_) => reader.skipped("half a line"),
            }
        }
    }
}

/// Waits for a task, also for one that was already waited for.
async fn finished(task: &mut JoinHandle<()>) {
    if !task.is_finished() {
        // A task that panicked is finished, too.
        let _ = task.await;
    }
}
