//! The input of a connection, from its first bytes to its end.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc;
use toolwire_proto::framing::{Frame, LineDecoder};
use toolwire_proto::strict_json;

use crate::transport::chunk::Chunk;
use crate::transport::duplex::backpressure::PeerGone;
use crate::transport::duplex::running::HandlerFuture;
use crate::transport::duplex::{MessageLoop, too_long};

/// How long requests that were cut off may take to clean up behind themselves.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection and what it reads.
pub(super) struct LineReader {
    connection: MessageLoop,
    decoder: LineDecoder,
    input: mpsc::Receiver<Chunk>,
    /// What is being read, and how far.
    chunk: Vec<u8>,
    at: usize,
    /// Requests of this chunk are polled by the reader first.
    polls_inline: bool,
}

impl LineReader {
    pub(super) fn new(connection: MessageLoop, input: mpsc::Receiver<Chunk>) -> Self {
        Self {
            decoder: LineDecoder::new(connection.limits.message_bytes),
            connection,
            input,
            chunk: Vec::new(),
            at: 0,
            polls_inline: false,
        }
    }

    /// Reads the connection to its end.
    ///
    /// Each request of a burst is polled once here, which is all that most handlers need. A request that is not ready then
    /// becomes a task.
    pub(super) async fn run(mut self) {
        while let Some(mut work) = self.next_turn().await {
            loop {
                let polled = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
                self.connection.settle(work, polled);
                // Other tasks of this thread get their share of it.
                tokio::task::consume_budget().await;
                match self.next_turn_now() {
                    Some(next) => work = next,
                    None => break,
                }
            }
        }
    }

    /// Reads on until a request is to be polled; `None` when the connection has ended.
    async fn next_turn(&mut self) -> Option<HandlerFuture> {
        loop {
            if let Some(work) = self.next_turn_now() {
                return Some(work);
            }
            if let Some(waiting) = self.connection.waiting.take() {
                match self.connection.wait(waiting, &self.input).await {
                    Ok(work) => match work.and_then(|work| self.give_turn(work)) {
                        Some(work) => return Some(work),
                        None => continue,
                    },
                    Err(PeerGone) => self.at = self.chunk.len(),
                }
            }
            self.connection.end_chunk();
            if !self.next_chunk().await {
                return None;
            }
        }
    }

    /// Reads what is here up to the next request that is to be polled. `None` when all was read, or when something has to
    /// be waited for.
    fn next_turn_now(&mut self) -> Option<HandlerFuture> {
        while self.at < self.chunk.len() && self.connection.may_read() {
            let mut rest = &self.chunk[self.at..];
            let frame = self.decoder.next_frame(&mut rest);
            self.at = self.chunk.len() - rest.len();
            let work = match frame {
                Some(Frame::Line(line)) => self.connection.on_line(&line),
                Some(Frame::TooLong) => {
                    let limit = self.connection.limits.message_bytes;
                    self.connection.refuse_unreadable(too_long(limit));
                    None
                }
                // Only the end of the input yields one.
                Some(Frame::Unterminated(_)) | None => None,
            };
            if let Some(work) = work.and_then(|work| self.give_turn(work)) {
                return Some(work);
            }
        }
        None
    }

    /// Returns the work if it is to be polled here. A request that comes alone becomes a task at once, so that a handler
    /// that blocks its thread does not delay the messages after it.
    fn give_turn(&mut self, work: HandlerFuture) -> Option<HandlerFuture> {
        let is_last = self.at == self.chunk.len();
        if is_last && !self.polls_inline {
            self.connection.spawn(work);
            return None;
        }
        self.polls_inline = true;
        Some(work)
    }

    /// Waits for more to read. False when the client has hung up or stopped reading, or the server shuts down.
    async fn next_chunk(&mut self) -> bool {
        let broken = self.connection.out().closed_signal().clone();
        let shutdown = self.connection.server.shutdown_signal().clone();
        loop {
            tokio::select! {
                chunk = self.input.recv() => match chunk {
                    Some(chunk) => {
                        if let Some(sender) = chunk.sender {
                            self.connection.set_sender(sender);
                        }
                        (self.chunk, self.at) = (chunk.bytes, 0);
                        self.polls_inline = false;
                        return true;
                    }
                    None => break self.on_end_of_input().await,
                },
                Some(_) = self.connection.tasks.join_next() => {}
                () = broken.cancelled() => break,
                () = shutdown.cancelled() => break self.on_shutdown().await,
            }
        }
        self.abort().await;
        false
    }

    /// The client hung up: what it still waits for is finished, within bounds.
    async fn on_end_of_input(&mut self) {
        if let Some(Frame::Unterminated(line)) = self.decoder.finish() {
            // A torn last line is nobody's request.
            if strict_json::read(&line, &strict_json::Limits::default()).is_ok()
                && let Some(work) = self.last_line(&line).await
            {
                self.connection.spawn(work);
            }
        }
        self.connection.listens.clear();
        self.connection.context.caller.close();
        self.drain().await;
    }

    async fn last_line(&mut self, line: &[u8]) -> Option<HandlerFuture> {
        while !self.connection.may_read() {
            let waiting = self.connection.waiting.take()?;
            self.connection.wait(waiting, &self.input).await.ok()?;
        }
        let work = self.connection.on_line(line);
        match self.connection.waiting.take() {
            Some(waiting) => self.connection.wait(waiting, &self.input).await.ok()?,
            None => work,
        }
    }

    /// The server ends: streams get their last word, running requests a moment.
    async fn on_shutdown(&mut self) {
        for (_, stream) in self.connection.listens.drain() {
            stream.cancel_and_conclude(&self.connection.server);
        }
        self.drain().await;
    }

    /// Gives what runs its time to finish.
    async fn drain(&mut self) {
        let connection = &mut self.connection;
        connection.release();
        let finished = async { while connection.tasks.join_next().await.is_some() {} };
        let broken = connection.context.out.closed_signal().clone();
        tokio::select! {
            () = finished => {}
            () = broken.cancelled() => {}
            () = tokio::time::sleep(connection.limits.drain) => {
                tracing::warn!("requests still ran when the time to finish was over");
                // Those that only wait to be read have waited long enough.
                if connection.context.out.is_full() {
                    connection.context.out.fail();
                }
            }
        }
    }

    /// Ends what is left, now. The client is told first: it need not wait for what cannot be ended.
    async fn abort(&mut self) {
        let connection = &mut self.connection;
        connection.context.state.cancel_all();
        connection.context.out.close();
        connection.context.caller.close();
        // A handler that blocks its thread cannot be ended; it must not hold the connection back either.
        let ended = tokio::time::timeout(ABORT_TIMEOUT, connection.tasks.shutdown());
        if ended.await.is_err() {
            tracing::warn!("a request could not be ended: its handler blocks a thread");
        }
    }
}
