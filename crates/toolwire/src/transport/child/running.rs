//! Runs a server process and ends it.
//!
//! ```text
//!  runs ──► its stdout ends, it exits, its stdin breaks, or the client closes
//!             │  stdin is closed; SIGTERM at once if the client is dropped before it is connected
//!             ▼
//!           has exited? ──no, after the grace period──► SIGTERM ──no──► SIGKILL
//!             │
//!             ▼
//!           the rest of its output is read, then pending calls fail with the exit status
//!             │
//!             ▼
//!           the rest of its process group is ended in the same way
//! ```
//!
//! One task does all of this, so that it continues without a waiting caller. If the runtime shuts down first,
//! [`Process`] kills the remaining processes.

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
use crate::transport::child::output::{OutputTail, quote};
use crate::transport::child::process::{Force, GroupHandle, Pipes, Process, describe};
use crate::transport::child::stderr::drain;
use crate::transport::child::stdin::{Stdin, wait_until_set, write};

/// The size of one read in bytes: the capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// How many responses and notifications may wait for a server that does not read, in addition to the calls.
const EXTRA_PERMITS: usize = 1024;

/// Connects a client to a started process.
pub(super) fn run(
    process: Process,
    pipes: Pipes,
    command: &ServerCommand,
    limits: &ClientLimits,
    incoming: Arc<IncomingMessages>,
) -> StreamTransport {
    let closure_recorded = watch::Sender::new(false);
    let max_waiting = limits.calls_in_flight.saturating_add(EXTRA_PERMITS);
    let (stdin, queue) = Stdin::new(max_waiting, closure_recorded.subscribe());
    let (stop, stop_requests) = watch::channel(StopRequest::NotRequested);
    let (process_ended, on_process_ended) = watch::channel(false);
    let output = Arc::new(ProcessOutput::default());
    let shutdown = ProcessGuard {
        stop,
        process_ended: on_process_ended,
        group: process.handle(),
        grace: limits.exit_grace,
        output: Arc::clone(&output),
    };
    let (transport, reader) = StreamTransport::new(Arc::new(stdin), incoming, Box::new(shutdown));
    let reader = Arc::new(reader);
    let closing = watch::Sender::new(false);
    let writing = tokio::spawn(write(pipes.stdin, queue, closing.subscribe()));
    let reading = tokio::spawn(read(
        pipes.stdout,
        limits.message_bytes,
        Arc::clone(&reader),
        Arc::clone(&output),
    ));
    let draining = pipes.stderr.map(|stderr| {
        let output = Arc::clone(&output);
        let listener = match &command.stderr {
            StderrOption::Captured(listener) => listener.clone(),
            StderrOption::Inherited => None,
        };
        tokio::spawn(async move { drain(stderr, &output.stderr, listener).await })
    });
    let running = ServerProcess {
        process,
        name: command.to_string(),
        grace: limits.exit_grace,
        closing,
        closure_recorded,
        writing,
        reading,
        draining,
        reader,
        output,
    };
    tokio::spawn(running.supervise(stop_requests, process_ended));
    transport
}

/// The last output of a process.
#[derive(Debug, Default)]
struct ProcessOutput {
    stderr: OutputTail,
    /// The lines on stdout that are not messages.
    stdout: OutputTail,
}

/// How the client wants the process to end. Later variants override earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StopRequest {
    NotRequested,
    /// Exit after stdin is closed, with a grace period for running work.
    Close,
    /// Exit now: SIGTERM was sent.
    Terminate,
}

/// The client's handle of the process. Dropping it requests the end of the process, so that an incomplete connection
/// leaves no process behind.
#[derive(Debug)]
struct ProcessGuard {
    stop: watch::Sender<StopRequest>,
    process_ended: watch::Receiver<bool>,
    group: GroupHandle,
    grace: Duration,
    output: Arc<ProcessOutput>,
}

impl ProcessGuard {
    fn request(&self, requested: StopRequest) {
        self.stop
            .send_modify(|current| *current = requested.max(*current));
    }
}

impl StreamShutdown for ProcessGuard {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.abandon();
        let mut process_ended = self.process_ended.clone();
        Box::pin(async move { wait_until_set(&mut process_ended).await })
    }

    fn abandon(&self) {
        self.request(StopRequest::Close);
    }

    fn terminate(&self) {
        self.request(StopRequest::Terminate);
        // Sent here and not by the task, because the program may exit before the task runs.
        self.group.force(Force::Terminate);
    }

    fn grace(&self) -> Duration {
        self.grace
    }

    fn output(&self) -> Option<String> {
        quote(&self.output.stderr.text(), &self.output.stdout.text())
    }
}

/// A server process with its tasks.
#[derive(Debug)]
struct ServerProcess {
    process: Process,
    name: String,
    grace: Duration,
    /// Set when the server's stdin has to be closed.
    closing: watch::Sender<bool>,
    /// Set when the reason of the closure is recorded.
    closure_recorded: watch::Sender<bool>,
    writing: JoinHandle<()>,
    reading: JoinHandle<()>,
    draining: Option<JoinHandle<()>>,
    reader: Arc<StreamReader>,
    output: Arc<ProcessOutput>,
}

impl ServerProcess {
    /// Waits for the end of the process or of the client, then ends the process and its group.
    async fn supervise(
        mut self,
        mut stop_requests: watch::Receiver<StopRequest>,
        process_ended: watch::Sender<bool>,
    ) {
        tokio::select! {
            _ = self.process.wait() => {}
            _ = &mut self.reading => {}
            _ = &mut self.writing => {}
            // The client closed the connection, so calls fail without a further reason.
            _ = stop_requests.wait_for(|stop| *stop != StopRequest::NotRequested) => {
                self.closure_recorded.send_replace(true);
            }
        }
        self.closing.send_replace(true);
        let forces: &[Force] = match *stop_requests.borrow() {
            StopRequest::Terminate => &[Force::Kill],
            StopRequest::NotRequested | StopRequest::Close => &[Force::Terminate, Force::Kill],
        };
        let mut forces = forces.iter().copied();
        let status = self.wait_with_forces(&mut forces).await;
        self.drain_output().await;
        self.report(status);
        self.end_group(forces).await;
        self.writing.abort();
        self.reading.abort();
        if let Some(draining) = &self.draining {
            draining.abort();
        }
        self.process.set_ended();
        process_ended.send_replace(true);
    }

    /// Waits for the end of the process, and applies the next force after each grace period.
    async fn wait_with_forces(
        &mut self,
        forces: &mut impl Iterator<Item = Force>,
    ) -> Option<ExitStatus> {
        loop {
            if let Ok(status) = timeout(self.grace, self.process.wait()).await {
                return status;
            }
            let Some(force) = forces.next() else {
                return self.process.wait().await;
            };
            // Calls need not wait for the end of a server that cannot communicate any more.
            let reason = "closed its input or output but did not end";
            self.record_closure(Closure {
                reason: format!("the server process {} {reason}", self.name),
                exit: None,
            });
            self.process.force(force);
        }
    }

    /// Reads the remaining output of the process. Processes that it started may still hold the pipes, so that the
    /// output never ends. The wait is therefore limited to the grace period.
    async fn drain_output(&mut self) {
        let rest = async {
            join(&mut self.reading).await;
            if let Some(draining) = &mut self.draining {
                join(draining).await;
            }
        };
        let _ = timeout(self.grace, rest).await;
    }

    fn report(&self, status: Option<ExitStatus>) {
        let (stderr, stdout) = (self.output.stderr.text(), self.output.stdout.text());
        let mut reason = format!("the server process {} {}", self.name, describe(status));
        if let Some(quoted) = quote(&stderr, &stdout) {
            reason.push_str("; ");
            reason.push_str(&quoted);
        }
        tracing::debug!(reason, "a server process ended");
        let exit = ServerExit {
            code: status.and_then(|status| status.code()),
            stderr,
            stdout,
        };
        self.record_closure(Closure {
            reason,
            exit: Some(exit),
        });
    }

    /// Fails the pending calls with this reason. Only the first reason counts.
    fn record_closure(&self, closure: Closure) {
        self.reader.close(closure);
        self.closure_recorded.send_replace(true);
    }

    /// Ends the remaining processes of the group.
    async fn end_group(&mut self, mut forces: impl Iterator<Item = Force>) {
        while timeout(self.grace, self.process.wait_for_group())
            .await
            .is_err()
        {
            let Some(force) = forces.next() else { return };
            self.process.force(force);
        }
    }
}

/// Reads messages until the server closes its stdout.
async fn read(
    mut stdout: impl AsyncRead + Unpin,
    max_bytes: usize,
    reader: Arc<StreamReader>,
    output: Arc<ProcessOutput>,
) {
    let mut decoder = LineDecoder::new(max_bytes);
    let mut chunk = vec![0; CHUNK];
    loop {
        let mut rest = match stdout.read(&mut chunk).await {
            Ok(0) => break,
            Ok(length) => &chunk[..length],
            Err(error) => {
                tracing::debug!(%error, "the server's stdout cannot be read");
                break;
            }
        };
        while let Some(frame) = decoder.next_frame(&mut rest) {
            handle_frame(frame, &decoder, &reader, &output.stdout);
        }
    }
    if let Some(frame) = decoder.finish() {
        handle_frame(frame, &decoder, &reader, &output.stdout);
    }
}

fn handle_frame(
    frame: Frame<'_>,
    decoder: &LineDecoder,
    reader: &StreamReader,
    stray_lines: &OutputTail,
) {
    match frame {
        Frame::Line(line) => {
            if !reader.on_line(&line) {
                stray_lines.push_line(&line);
            }
        }
        Frame::TooLong => reader.on_too_long(decoder.skipped_head()),
        // A complete last message without a newline is valid. An incomplete one is skipped.
        Frame::Unterminated(line) => {
            match strict_json::read(&line, &strict_json::Limits::default()) {
                Ok(_) => reader.on_message(&line),
                Err(_) => {
                    stray_lines.push_line(&line);
                    reader.count_skipped("an incomplete line");
                }
            }
        }
    }
}

/// Waits for a task that may already have been awaited.
async fn join(task: &mut JoinHandle<()>) {
    if !task.is_finished() {
        // An error means that the task panicked, so it is finished.
        let _ = task.await;
    }
}
