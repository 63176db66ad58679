//! Serving on standard input and output.
//!
//! A thread reads, a thread writes, and the connection loop runs between them. On Unix the real output is moved to a
//! private descriptor and descriptor 1 points to standard error while serving, so that a stray `println!` cannot tear
//! the protocol apart.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::engine::BoxFuture;
use crate::error::Error;
use crate::server::Server;
use crate::transport::chunk::Chunk;
use crate::transport::duplex::MessageLoop;
use crate::transport::limits::Limits;
use crate::transport::out_stream::OutgoingQueue;
use crate::transport::spare_memory;

/// How much is read at once: little at first, because a process that has just started should answer soon, and most clients
/// never send more.
const FIRST_CHUNK: usize = 4 * 1024;
const CHUNK: usize = 64 * 1024;

/// How many chunks may wait for the connection loop.
const CHUNKS_IN_FLIGHT: usize = 4;

/// How standard input and output are served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StdioOptions {
    /// The bounds of the connection.
    pub limits: Limits,
    /// Leaves descriptor 1 alone. Then nothing else in the process may write to standard output.
    pub share_stdout: bool,
}

impl StdioOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Other bounds.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Leaves descriptor 1 alone.
    #[must_use]
    pub fn with_shared_stdout(mut self) -> Self {
        self.share_stdout = true;
        self
    }
}

/// Standard input and output can carry one connection at a time; whoever holds this has it.
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
    /// Serves on standard input and output until the client hangs up.
    ///
    /// When it returns, running requests are done and everything is written: end the process then, because the thread
    /// that reads may still be waiting. A handler that holds its thread past [`Limits::drain`] is not waited for, but a
    /// runtime that is dropped waits for its threads.
    ///
    /// # Cancellation
    /// Dropping the future ends the connection: handlers are dropped, what was queued is still written by a thread of its
    /// own, and descriptor 1 is put back. The thread that reads cannot be called off: it takes the next bytes of standard
    /// input with it before it ends, so that nobody should read there again.
    ///
    /// # Errors
    /// When standard output cannot be set up, or somebody already serves on it.
    pub async fn serve_stdio(self) -> Result<(), Error> {
        self.serve_stdio_with(StdioOptions::default()).await
    }

    /// [`serve_stdio`](Self::serve_stdio) with options.
    ///
    /// # Errors
    /// When standard output cannot be set up, or somebody already serves on it.
    pub async fn serve_stdio_with(self, options: StdioOptions) -> Result<(), Error> {
        serving(self, options).await
    }

    async fn serve_stdio_to_the_end(self, options: StdioOptions) -> Result<(), Error> {
        let _taken = StdioLock::take()?;
        spare_memory::retain_heap();
        let streams = descriptors::open(options.share_stdout)
            .map_err(|error| Error::io("standard input and output cannot be opened", error))?;
        let out = Arc::new(OutgoingQueue::of_lines(options.limits.outbox()));
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
                // Nobody waits any more when serving was dropped.
                let _ = written.send(());
            }),
        )?;
        let drain = options.limits.drain;
        let broken = out.closed_signal().clone();
        // A task runs where the input is noticed, and what it starts runs there too; the caller's future is woken from
        // afar. Dropping the set ends it.
        let mut serving = JoinSet::new();
        let connection: BoxFuture<'_, ()> =
            Box::pin(MessageLoop::new(self, out, options.limits).run(chunks));
        serving.spawn(connection);
        if let Some(Err(error)) = serving.join_next().await
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
        // The writer drops its end when it is done, in whatever way. A client that left without closing its end of the
        // pipe must not keep the process alive.
        tokio::select! {
            _ = all_written => {}
            () = broken.cancelled() => {}
            () = tokio::time::sleep(drain) => {
                tracing::warn!("the client did not read everything before it left");
            }
        }
        drop(streams.restore);
        Ok(())
    }
}

/// In a box, so that all of it is compiled here, and not anew in each program that serves.
fn serving(server: Server, options: StdioOptions) -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(server.serve_stdio_to_the_end(options))
}

/// Feeds the connection until the input ends or nobody listens.
fn read_chunks(mut input: descriptors::Input, chunks: &mpsc::Sender<Chunk>) {
    let mut size = FIRST_CHUNK;
    loop {
        match descriptors::read(&mut input, size) {
            Ok(bytes) if bytes.is_empty() => return,
            Ok(bytes) => {
                // More was there than had room.
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
                tracing::warn!(%error, "standard input cannot be read any more");
                return;
            }
        }
    }
}

/// Writes until the queue is closed and empty, or the client stops reading.
fn write_messages(mut output: descriptors::Output, out: &OutgoingQueue) {
    let mut buffer = Vec::new();
    while out.take_blocking(&mut buffer) {
        let written = write_all(&mut output, &buffer).and_then(|()| output.flush());
        if let Err(error) = written {
            tracing::debug!(%error, "the client does not read any more");
            return out.fail();
        }
        buffer.clear();
        // One huge answer should not hold its memory for ever.
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

    /// Puts descriptor 1 back where it was.
    pub(super) struct Restore(OwnedFd);

    impl Drop for Restore {
        fn drop(&mut self) {
            // Stray output that still waits in the buffer must not follow the last message. What nobody can take now is
            // thrown away.
            if io::stdout().flush().is_err() && send_nowhere().is_ok() {
                let _ = io::stdout().flush();
            }
            if let Err(error) = rustix::stdio::dup2_stdout(&self.0) {
                tracing::warn!(%error, "standard output could not be restored");
            }
        }
    }

    /// Throws away what is written to descriptor 1.
    fn send_nowhere() -> io::Result<()> {
        let nowhere = File::options().write(true).open("/dev/null")?;
        Ok(rustix::stdio::dup2_stdout(&nowhere)?)
    }

    pub(super) fn open(share_stdout: bool) -> io::Result<StdioHandles> {
        let input = rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?;
        let output = rustix::io::fcntl_dupfd_cloexec(io::stdout().as_fd(), 3)?;
        let restore = if share_stdout {
            None
        } else {
            let original = output.try_clone()?;
            // With standard error closed there is nowhere to send stray output, so it goes nowhere.
            if rustix::stdio::dup2_stdout(io::stderr().as_fd()).is_err() {
                send_nowhere()?;
            }
            Some(Restore(original))
        };
        Ok(StdioHandles {
            input: input.into(),
            output: output.into(),
            restore,
        })
    }

    /// What is there, up to so many bytes; nothing at the end.
    pub(super) fn read(input: &mut Input, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(most);
        rustix::io::read(input, spare_capacity(&mut bytes))?;
        if bytes.len() < most / 2 {
            bytes.shrink_to_fit();
        }
        Ok(bytes)
    }

    /// Some launchers hand over non-blocking descriptors; then waiting is our business.
    pub(super) fn wait_readable(input: &Input) {
        let _ = poll(&mut [PollFd::new(input, PollFlags::IN)], None);
    }

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

    pub(super) fn read(input: &mut Input, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; most];
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
    async fn somebody_else_is_refused_while_one_serves() {
        let taken = StdioLock::take().unwrap();
        for _ in 0..2 {
            let refused = Server::new("test", "1").serve_stdio().await.unwrap_err();
            assert!(refused.to_string().contains("already served"), "{refused}");
        }
        drop(taken);
        drop(StdioLock::take().unwrap());
    }
}
