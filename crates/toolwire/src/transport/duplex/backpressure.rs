//! Waits of a connection before it reads on. They are rare, so their futures are boxed.

use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::engine::BoxFuture;
use crate::transport::chunk::Chunk;
use crate::transport::duplex::running::HandlerFuture;
use crate::transport::duplex::{MessageLoop, error_response};

/// How long a request waits for a permit before it is rejected. Bursts of short calls pass.
const OVERLOAD_TIMEOUT: Duration = Duration::from_millis(250);

/// The reason why the loop does not read on.
pub(super) enum Backpressure {
    /// The queue has no capacity for a response, because the client does not read.
    QueueFull,
    /// The maximum number of requests runs. This request waits for a permit.
    PermitNeeded(HandlerFuture),
    /// The messages of a batch, which may have to wait for permits.
    Batch(Vec<Box<RawValue>>),
}

/// The client will read no more responses.
pub(super) struct PeerGone;

impl MessageLoop {
    /// Waits for the end of the backpressure, and returns the work to be polled next.
    ///
    /// # Errors
    /// Returns an error if the rest of the input must not be read.
    pub(super) fn wait<'w>(
        &'w mut self,
        waiting: Backpressure,
        input: &'w mpsc::Receiver<Chunk>,
    ) -> BoxFuture<'w, Result<Option<HandlerFuture>, PeerGone>> {
        Box::pin(async move {
            match waiting {
                Backpressure::QueueFull => self.wait_for_capacity(input).await?,
                Backpressure::Batch(messages) => self.on_batch(&messages).await,
                Backpressure::PermitNeeded(work) => match self.wait_for_permit().await {
                    Ok(()) => return Ok(Some(work)),
                    Err(response) => self.respond(response),
                },
            }
            Ok(None)
        })
    }

    /// Waits until the queue has capacity, so that a client that does not read cannot fill the memory.
    ///
    /// # Errors
    /// Returns an error if the server shuts down, or if the client disconnected and read nothing for the drain timeout.
    async fn wait_for_capacity(&mut self, input: &mpsc::Receiver<Chunk>) -> Result<(), PeerGone> {
        self.release();
        while !self.out().has_capacity() {
            tokio::select! {
                biased;
                () = self.out().wait_for_capacity() => {}
                () = self.server.shutdown_signal().cancelled() => return Err(PeerGone),
                () = tokio::time::sleep(self.limits.drain) => {
                    if input.is_closed() {
                        tracing::warn!("the client disconnected without reading all responses");
                        self.out().fail();
                        return Err(PeerGone);
                    }
                }
            }
        }
        self.snapshot = None;
        let capacity = self.out().remaining_capacity();
        self.responses.set_capacity(capacity);
        if self.out().closed_signal().is_cancelled() {
            Err(PeerGone)
        } else {
            Ok(())
        }
    }

    /// Waits until the starting request may run.
    ///
    /// The wait is limited to [`OVERLOAD_TIMEOUT`], once. While no request finishes, later requests are rejected at
    /// once, so that a cancellation behind them is read soon.
    ///
    /// # Errors
    /// Returns the response of a rejected request, which is no longer starting.
    pub(crate) fn wait_for_permit(&mut self) -> BoxFuture<'_, Result<(), Vec<u8>>> {
        Box::pin(async move {
            let request = self.take_started();
            let mut deadline = None;
            loop {
                let finished = self.response_sink.finished.count();
                let Err(rejection) = self.context.state.check_capacity(request.size) else {
                    self.completed_at_overload = None;
                    self.starting = Some(request);
                    return Ok(());
                };
                self.release();
                if self.completed_at_overload == Some(finished) {
                    return Err(error_response(request.id, rejection, request.version));
                }
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + OVERLOAD_TIMEOUT);
                let freed = tokio::time::timeout_at(
                    deadline,
                    self.response_sink.finished.wait_above(finished),
                );
                self.completed_at_overload = freed.await.is_err().then_some(finished);
            }
        })
    }
}
