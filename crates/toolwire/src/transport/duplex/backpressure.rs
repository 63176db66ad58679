//! What a connection waits for before it reads on. Hardly anything has to, so whoever waits has a box of its own.

use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::engine::BoxFuture;
use crate::transport::chunk::Chunk;
use crate::transport::duplex::running::HandlerFuture;
use crate::transport::duplex::{MessageLoop, refusal};

/// How long a full house is waited for before a request is refused: bursts of short calls pass.
const OVERLOAD_TIMEOUT: Duration = Duration::from_millis(250);

/// What has to be waited for before more is read.
pub(super) enum Backpressure {
    /// Room for an answer: the client does not read those it has.
    Room,
    /// A place for a request: as many run as may.
    Place(HandlerFuture),
    /// What the messages of a batch have to wait for.
    Batch(Vec<Box<RawValue>>),
}

/// Nobody will read an answer.
pub(super) struct PeerGone;

impl MessageLoop {
    /// Waits for what has to be waited for; returns the work whose first turn is due then. An error when the rest of the
    /// input is nobody's any more.
    pub(super) fn wait<'w>(
        &'w mut self,
        waiting: Backpressure,
        input: &'w mpsc::Receiver<Chunk>,
    ) -> BoxFuture<'w, Result<Option<HandlerFuture>, PeerGone>> {
        Box::pin(async move {
            match waiting {
                Backpressure::Room => self.wait_for_capacity(input).await?,
                Backpressure::Batch(messages) => self.on_batch(&messages).await,
                Backpressure::Place(work) => match self.wait_for_permit().await {
                    Ok(()) => return Ok(Some(work)),
                    Err(refusal) => self.answer(refusal),
                },
            }
            Ok(None)
        })
    }

    /// A client that sends without reading waits here, not in our memory. An error when nobody will read the answer: the
    /// server ends, or the client has hung up and read nothing for as long as a hang-up may take.
    async fn wait_for_capacity(&mut self, input: &mpsc::Receiver<Chunk>) -> Result<(), PeerGone> {
        self.release();
        while !self.out().has_room_now() {
            tokio::select! {
                biased;
                () = self.out().has_room() => {}
                () = self.server.shutdown_signal().cancelled() => return Err(PeerGone),
                () = tokio::time::sleep(self.limits.drain) => {
                    if input.is_closed() {
                        tracing::warn!("the client hung up and left its answers unread");
                        self.out().fail();
                        return Err(PeerGone);
                    }
                }
            }
        }
        self.snapshot = None;
        let room = self.out().room();
        self.held.set_room(room);
        match self.out().closed_signal().is_cancelled() {
            true => Err(PeerGone),
            false => Ok(()),
        }
    }

    /// Waits until the request under way may run. A full house is given a moment to empty, once: as long as nothing finishes,
    /// the requests after it are refused at once, so that a cancellation behind them is read soon.
    ///
    /// # Errors
    /// The answer to a request that may not run; it is not under way any more.
    pub(crate) fn wait_for_permit(&mut self) -> BoxFuture<'_, Result<(), Vec<u8>>> {
        Box::pin(async move {
            let request = self.take_started();
            let mut deadline = None;
            loop {
                let finished = self.delivery.finished.count();
                let Err(refused) = self.context.state.check_room(request.size) else {
                    self.overloaded_since = None;
                    self.starting = Some(request);
                    return Ok(());
                };
                self.release();
                if self.overloaded_since == Some(finished) {
                    return Err(refusal(request.id, refused, request.version));
                }
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + OVERLOAD_TIMEOUT);
                let freed =
                    tokio::time::timeout_at(deadline, self.delivery.finished.wait_above(finished));
                self.overloaded_since = freed.await.is_err().then_some(finished);
            }
        })
    }
}
