//! Ledgers of requests in flight, one for each direction.
//!
//! [`InboundLedger`] knows what the peer asked and may still be answered; [`OutboundLedger`] knows what was asked of the
//! peer and until when an answer is awaited. Both are bounded, and neither waits or reads a clock.

mod inbound;
mod outbound;

use std::fmt;

use serde_json::json;
use toolwire_types::ErrorObject;

pub use inbound::{CancelPolicy, ExchangeKey, InboundLedger, SendState};
pub use outbound::{OutboundLedger, RequestTimeouts, spellings};

/// Whether a client may take a request back.
///
/// Spec 2025-11-25, basic/utilities/cancellation: a client must not cancel `initialize`. Nor does it cancel
/// `server/discover`: a server that leaves it unanswered may be one that takes nothing before `initialize`.
#[must_use]
pub fn is_cancellable(method: &str) -> bool {
    !matches!(method, "initialize" | "server/discover")
}

/// How many requests may be in flight in one direction of one connection, unless told otherwise.
pub const DEFAULT_IN_FLIGHT: usize = 1024;

/// The ledger is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Overloaded;

impl Overloaded {
    /// For bounds that are kept elsewhere.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl fmt::Display for Overloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many requests in flight")
    }
}

impl std::error::Error for Overloaded {}

impl From<Overloaded> for ErrorObject {
    fn from(overloaded: Overloaded) -> Self {
        Self::internal(overloaded.to_string()).with_data(json!({ "reason": "overloaded" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_questions_of_a_connection_are_not_taken_back() {
        assert!(!is_cancellable("initialize"));
        assert!(!is_cancellable("server/discover"));
        assert!(is_cancellable("tools/call"));
        assert!(is_cancellable("subscriptions/listen"));
    }
}
