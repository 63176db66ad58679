//! Reads the input of a connection, from the first bytes to the end.

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

/// How long aborted requests may take to end.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection with its input.
pub(super) struct LineReader {
    connection: MessageLoop,
    decoder: LineDecoder,
    input: mpsc::Receiver<Chunk>,
    /// The current chunk, and the position of the next unread byte.
    chunk: Vec<u8>,
    at: usize,
    /// Whether requests of this chunk are polled here before they become tasks.
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
    /// Each request of a burst is polled once here, which completes most handlers. A request that is not ready then
    /// becomes a task.
    pub(super) async fn run(mut self) {
        while let Some(mut work) = self.next_work().await {
            loop {
                let polled = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
                self.connection.on_first_poll(work, polled);
                // Lets other tasks of this thread run.
                tokio::task::consume_budget().await;
                match self.next_work_now() {
                    Some(next) => work = next,
                    None => break,
                }
            }
        }
    }

    /// Reads until a request has to be polled. Returns `None` at the end of the connection.
    async fn next_work(&mut self) -> Option<HandlerFuture> {
        loop {
            if let Some(work) = self.next_work_now() {
                return Some(work);
            }
            if let Some(waiting) = self.connection.waiting.take() {
                match self.connection.wait(waiting, &self.input).await {
                    Ok(work) => match work.and_then(|work| self.keep_inline(work)) {
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

    /// Reads the current chunk up to the next request that has to be polled. Returns `None` if the chunk is read, or if
    /// the loop has to wait.
    fn next_work_now(&mut self) -> Option<HandlerFuture> {
        while self.at < self.chunk.len() && self.connection.may_read() {
            let mut rest = &self.chunk[self.at..];
            let frame = self.decoder.next_frame(&mut rest);
            self.at = self.chunk.len() - rest.len();
            let work = match frame {
                Some(Frame::Line(line)) => self.connection.on_line(&line),
                Some(Frame::TooLong) => {
                    let limit = self.connection.limits.message_bytes;
                    self.connection.reject_malformed(too_long(limit));
                    None
                }
                // Only the end of the input produces this frame.
                Some(Frame::Unterminated(_)) | None => None,
            };
            if let Some(work) = work.and_then(|work| self.keep_inline(work)) {
                return Some(work);
            }
        }
        None
    }

    /// Returns the work if it has to be polled here. A request that arrives alone becomes a task at once, so that a
    /// handler that blocks its thread does not delay later messages.
    fn keep_inline(&mut self, work: HandlerFuture) -> Option<HandlerFuture> {
        let is_last = self.at == self.chunk.len();
        if is_last && !self.polls_inline {
            self.connection.spawn(work);
            return None;
        }
        self.polls_inline = true;
        Some(work)
    }

    /// Waits for the next chunk. Returns `false` if the client disconnected or stopped reading, or the server shuts
    /// down.
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

    /// Handles the end of the input: running requests may finish within the drain timeout.
    async fn on_end_of_input(&mut self) {
        if let Some(Frame::Unterminated(line)) = self.decoder.finish() {
            // A truncated last line is not a request.
            if strict_json::read(&line, &strict_json::Limits::default()).is_ok()
                && let Some(work) = self.last_line(&line).await
            {
                self.connection.spawn(work);
            }
        }
        for (_, stream) in self.connection.listen_streams.drain() {
            stream.close_silently();
        }
        self.connection.event_streams.cancel_all();
        for subscription in self.connection.forwarded_subscriptions.drain(..) {
            subscription.cancellation.cancel();
        }
        self.connection.context.client_requests.close();
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

    /// Handles the shutdown of the server: streams get their final message, running requests the drain timeout.
    async fn on_shutdown(&mut self) {
        for (_, stream) in self.connection.listen_streams.drain() {
            stream.cancel_and_conclude(&self.connection.server);
        }
        let context = &self.connection.context;
        for subscription in self.connection.forwarded_subscriptions.drain(..) {
            subscription.cancel_and_conclude(&context.state, &context.out);
        }
        // Responses of the client are not read any more.
        context.client_requests.close();
        self.drain().await;
    }

    /// Waits until running requests have finished, at most for the drain timeout.
    async fn drain(&mut self) {
        let connection = &mut self.connection;
        connection.release();
        let finished = async { while connection.tasks.join_next().await.is_some() {} };
        let broken = connection.context.out.closed_signal().clone();
        tokio::select! {
            () = finished => {}
            () = broken.cancelled() => {}
            () = tokio::time::sleep(connection.limits.drain) => {
                tracing::warn!("requests still ran at the end of the drain timeout");
                // Do not wait any longer for a client that does not read its responses.
                if connection.context.out.is_full() {
                    connection.context.out.fail();
                }
            }
        }
    }

    /// Aborts all remaining requests. The queue is closed first, so that the client does not wait for blocked handlers.
    async fn abort(&mut self) {
        let connection = &mut self.connection;
        connection.context.state.cancel_all();
        connection.context.out.close();
        connection.context.client_requests.close();
        // A handler that blocks its thread cannot be aborted. It must not delay the end of the connection.
        let ended = tokio::time::timeout(ABORT_TIMEOUT, connection.tasks.shutdown());
        if ended.await.is_err() {
            tracing::warn!("a request could not be aborted, because its handler blocks a thread");
        }
    }
}
