//! Serves a connection on stdin and stdout.
//!
//! One thread reads, one thread writes, and the message loop runs between them. On Unix the original stdout is moved to
//! a private descriptor, and descriptor 1 refers to stderr while serving. A stray `println!` therefore cannot corrupt
//! the protocol stream.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::engine::BoxFuture;
use crate::error::Error;
use crate::server::Server;
use crate::transport::chunk::Chunk;
use crate::transport::duplex::MessageLoop;
use crate::transport::limits::Limits;
use crate::transport::outgoing_queue::{OutgoingQueue, retain_heap};
use crate::transport::start_message;

/// The size of the first read. It is small, because a new process should respond quickly and most clients never send
/// more.
const FIRST_CHUNK: usize = 4 * 1024;
/// The size of later reads, after a read filled its buffer.
const CHUNK: usize = 64 * 1024;

/// The number of chunks that may wait for the message loop.
const CHUNKS_IN_FLIGHT: usize = 4;

/// Options of the stdio transport.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StdioOptions {
    /// The limits of the connection.
    pub limits: Limits,
    /// Leaves descriptor 1 unchanged. Then no other code in the process may write to stdout.
    pub share_stdout: bool,
    /// Writes no line to standard error if the server is started in a terminal.
    pub hide_start_message: bool,
}

impl StdioOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limits of the connection.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Leaves descriptor 1 unchanged. Then no other code in the process may write to stdout.
    #[must_use]
    pub fn with_shared_stdout(mut self) -> Self {
        self.share_stdout = true;
        self
    }

    /// Writes no line to standard error if the server is started in a terminal.
    #[must_use]
    pub fn without_start_message(mut self) -> Self {
        self.hide_start_message = true;
        self
    }
}

/// Exclusive use of stdin and stdout, which can carry one connection at a time.
struct StdioLock;

static TAKEN: AtomicBool = AtomicBool::new(false);

impl StdioLock {
    fn take() -> Result<Self, Error> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            let error = io::Error::other("a process has one standard input and output");
            return Err(Error::io(
                "standard input and output are already served",
                error,
            ));
        }
        Ok(Self)
    }
}

impl Drop for StdioLock {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::SeqCst);
    }
}

impl Server {
    /// Serves on stdin and stdout until the client closes stdin.
    ///
    /// If stdin and stderr are terminals, a line on stderr says that the server waits for messages, and how a client
    /// starts it; see [`StdioOptions::without_start_message`].
    ///
    /// When it returns, running requests have finished and everything is written. End the process then, because the
    /// reader thread may still be blocked. A handler that blocks its thread longer than [`Limits::drain`] is not waited
    /// for, but a dropped runtime waits for its threads.
    ///
    /// # Cancellation
    /// Dropping the future closes the connection: handlers are dropped, a separate thread still writes queued messages,
    /// and descriptor 1 is restored. The reader thread cannot be stopped: it consumes the next bytes of stdin before it
    /// ends, so the program must not read stdin afterwards.
    ///
    /// # Errors
    /// Returns an error if stdout cannot be set up, if stdin and stdout are already served, or if an extension needs
    /// something that the server does not offer.
    #[doc(alias = "StdioServerTransport")]
    pub async fn serve_stdio(self) -> Result<(), Error> {
        self.serve_stdio_with(StdioOptions::default()).await
    }

    /// Serves like [`serve_stdio`](Self::serve_stdio), with options.
    ///
    /// # Errors
    /// Returns an error if stdout cannot be set up, if stdin and stdout are already served, or if an extension needs
    /// something that the server does not offer.
    pub async fn serve_stdio_with(self, options: StdioOptions) -> Result<(), Error> {
        serving(self, options).await
    }

    async fn serve_stdio_to_the_end(self, options: StdioOptions) -> Result<(), Error> {
        self.check_start()?;
        let _lock = StdioLock::take()?;
        retain_heap();
        let streams = descriptors::open(options.share_stdout)
            .map_err(|error| Error::io("standard input and output cannot be opened", error))?;
        if !options.hide_start_message {
            start_message::write_for_stdio(&self.snapshot().info);
        }
        self.start_inspection();
        let out = OutgoingQueue::of_lines(options.limits.outbox());
        let out = Arc::new(out.reporting_to(&self));
        let (sender, chunks) = mpsc::channel(CHUNKS_IN_FLIGHT);
        let (written, all_written) = oneshot::channel();
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(run)
                .map_err(|error| {
                    Error::io(
                        "a thread for standard input or output cannot be started",
                        error,
                    )
                })
        };
        let (input, output) = (streams.input, streams.output);
        spawn(
            "toolwire-stdin",
            Box::new(move || read_chunks(input, &sender)),
        )?;
        let writer = Arc::clone(&out);
        spawn(
            "toolwire-stdout",
            Box::new(move || {
                write_messages(output, &writer);
                // The receiver is gone if the future was dropped.
                let _ = written.send(());
            }),
        )?;
        let drain = options.limits.drain;
        let broken = out.closed_signal().clone();
        // A task runs on the worker that receives the input, and so do the tasks it spawns. The caller's future would
        // be woken on another worker. Dropping the set ends the task.
        let mut serving = JoinSet::new();
        let server = self.clone();
        let connection: BoxFuture<'_, ()> =
            Box::pin(MessageLoop::on_stdio(self, out, options.limits).run(chunks));
        serving.spawn(connection);
        if let Some(Err(error)) = serving.join_next().await
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
        // The client waits for the end of the process, so tasks get no time.
        server.stop_tasks(Duration::ZERO).await;
        // The writer drops its sender when it ends for any reason. A client that disconnected without closing its end
        // of the pipe must not keep the process alive.
        tokio::select! {
            _ = all_written => {}
            () = broken.cancelled() => {}
            () = tokio::time::sleep(drain) => {
                tracing::warn!("the client disconnected before it read all messages");
            }
        }
        drop(streams.restore);
        Ok(())
    }
}

/// Boxes the future, so that it is compiled in this crate and not in each program that serves.
fn serving(server: Server, options: StdioOptions) -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(server.serve_stdio_to_the_end(options))
}

/// Reads chunks until the input ends or the message loop is gone.
fn read_chunks(mut input: descriptors::Input, chunks: &mpsc::Sender<Chunk>) {
    let mut size = FIRST_CHUNK;
    loop {
        match descriptors::read(&mut input, size) {
            Ok(bytes) if bytes.is_empty() => return,
            Ok(bytes) => {
                // The read filled its buffer, so more is available.
                if bytes.len() == size {
                    size = CHUNK;
                }
                if chunks.blocking_send(bytes.into()).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                descriptors::wait_readable(&input);
            }
            Err(error) => {
                tracing::warn!(%error, "stdin cannot be read");
                return;
            }
        }
    }
}

/// Writes messages until the queue is closed and empty, or the client stops reading.
fn write_messages(mut output: descriptors::Output, out: &OutgoingQueue) {
    let mut buffer = Vec::new();
    while out.take_blocking(&mut buffer) {
        let written = write_all(&mut output, &buffer).and_then(|()| output.flush());
        if let Err(error) = written {
            tracing::debug!(%error, "the client stopped reading");
            return out.fail();
        }
        buffer.clear();
        // Do not retain the memory of one huge response.
        buffer.shrink_to(1024 * 1024);
    }
}

fn write_all(output: &mut descriptors::Output, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                descriptors::wait_writable(output);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(unix)]
mod descriptors {
    use std::fs::File;
    use std::io::{self, Write as _};
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::buffer::spare_capacity;
    use rustix::event::{PollFd, PollFlags, poll};

    pub(super) type Input = File;
    pub(super) type Output = File;

    pub(super) struct StdioHandles {
        pub(super) input: Input,
        pub(super) output: Output,
        pub(super) restore: Option<Restore>,
    }

    /// Restores descriptor 1 when it is dropped.
    pub(super) struct Restore(OwnedFd);

    impl Drop for Restore {
        fn drop(&mut self) {
            // Buffered stray output must not follow the last message. Output that cannot be written now is discarded.
            if io::stdout().flush().is_err() && discard_stdout().is_ok() {
                let _ = io::stdout().flush();
            }
            if let Err(error) = rustix::stdio::dup2_stdout(&self.0) {
                tracing::warn!(%error, "stdout could not be restored");
            }
        }
    }

    /// Discards everything that is written to descriptor 1.
    fn discard_stdout() -> io::Result<()> {
        let null = File::options().write(true).open("/dev/null")?;
        Ok(rustix::stdio::dup2_stdout(&null)?)
    }

    pub(super) fn open(share_stdout: bool) -> io::Result<StdioHandles> {
        let input = rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?;
        let output = rustix::io::fcntl_dupfd_cloexec(io::stdout().as_fd(), 3)?;
        let restore = if share_stdout {
            None
        } else {
            let original = output.try_clone()?;
            // If stderr is closed, stray output is discarded.
            if rustix::stdio::dup2_stdout(io::stderr().as_fd()).is_err() {
                discard_stdout()?;
            }
            Some(Restore(original))
        };
        Ok(StdioHandles {
            input: input.into(),
            output: output.into(),
            restore,
        })
    }

    /// Reads the available bytes, at most `limit`. Returns no bytes at the end of the input.
    pub(super) fn read(input: &mut Input, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(limit);
        rustix::io::read(input, spare_capacity(&mut bytes))?;
        if bytes.len() < limit / 2 {
            bytes.shrink_to_fit();
        }
        Ok(bytes)
    }

    /// Waits for input. Some launchers pass non-blocking descriptors.
    pub(super) fn wait_readable(input: &Input) {
        let _ = poll(&mut [PollFd::new(input, PollFlags::IN)], None);
    }

    /// Waits until output is possible. Some launchers pass non-blocking descriptors.
    pub(super) fn wait_writable(output: &Output) {
        let _ = poll(&mut [PollFd::new(output, PollFlags::OUT)], None);
    }
}

#[cfg(not(unix))]
mod descriptors {
    use std::io::{self, Read as _};

    pub(super) type Input = io::Stdin;
    pub(super) type Output = io::Stdout;

    pub(super) struct StdioHandles {
        pub(super) input: Input,
        pub(super) output: Output,
        pub(super) restore: Option<()>,
    }

    pub(super) fn open(_share_stdout: bool) -> io::Result<StdioHandles> {
        Ok(StdioHandles {
            input: io::stdin(),
            output: io::stdout(),
            restore: None,
        })
    }

    pub(super) fn read(input: &mut Input, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; limit];
        let length = input.read(&mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    pub(super) fn wait_readable(_input: &Input) {
        std::thread::yield_now();
    }

    pub(super) fn wait_writable(_output: &Output) {
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stdio_can_be_served_only_once_at_a_time() {
        let lock = StdioLock::take().unwrap();
        for _ in 0..2 {
            let error = Server::new("test", "1").serve_stdio().await.unwrap_err();
            assert!(error.to_string().contains("already served"), "{error}");
        }
        drop(lock);
        drop(StdioLock::take().unwrap());
    }
}
