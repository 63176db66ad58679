//! The requests of a connection that are running.

use tokio::time::Instant;
use toolwire_proto::requests::{self, ExchangeKey, InboundLedger, Overloaded};
use toolwire_types::RequestId;

use crate::engine::Cancellation;

#[derive(Debug, Default)]
pub(super) struct InFlight {
    pub(super) ledger: InboundLedger<RunningEntry>,
    pub(super) bytes: usize,
}

impl InFlight {
    pub(super) fn check_capacity(&self, size: MessageSize) -> Result<(), Overloaded> {
        let is_too_much = self.bytes > 0 && self.bytes.saturating_add(size.bytes) > size.limit;
        if is_too_much || self.ledger.is_full() {
            Err(Overloaded::new())
        } else {
            Ok(())
        }
    }

    pub(super) fn enter(
        &mut self,
        id: &RequestId,
        cancellable: requests::CancelPolicy,
        cancellation: &Cancellation,
        size: MessageSize,
        begun: Option<Instant>,
    ) -> ExchangeKey {
        let running = RunningEntry {
            cancellation: cancellation.clone(),
            bytes: size.bytes,
            begun,
        };
        self.bytes += size.bytes;
        self.ledger.enter(id.clone(), cancellable, running)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.ledger.is_full() || !self.ledger.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct RunningEntry {
    pub(super) cancellation: Cancellation,
    /// The size of the request's message.
    pub(super) bytes: usize,
    /// When the request began. `None` if only its own connection can cancel it.
    #[cfg_attr(
        not(feature = "http-server"),
        expect(dead_code, reason = "only sessions over HTTP compare it")
    )]
    pub(super) begun: Option<Instant>,
}

/// The size of a request's message, and the limit for all running requests together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageSize {
    pub(crate) bytes: usize,
    pub(crate) limit: usize,
}
