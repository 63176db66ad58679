//! Ledgers of requests in flight, one for each direction.
//!
//! [`InboundLedger`] records which requests of the peer may still get a response. [`OutboundLedger`] records which
//! requests were sent to the peer, with the deadlines of their responses. Both are bounded, and neither waits or reads
//! a clock.

mod inbound;
mod outbound;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde_json::json;
use toolwire_types::{ErrorObject, code};

pub use inbound::{CancelPolicy, ExchangeKey, InboundLedger, SendState};
pub use outbound::{OutboundLedger, RequestTimeouts, spellings};

/// Returns `true` if a client may cancel a request of this method.
///
/// Spec 2025-11-25, basic/utilities/cancellation: a client must not cancel `initialize`. It does not cancel
/// `server/discover` either: a server that sends no response to it may accept nothing before `initialize`.
#[must_use]
pub fn is_cancellable(method: &str) -> bool {
    !matches!(method, "initialize" | "server/discover")
}

/// Returns `true` if a client may send a message of this method again when it does not know whether the server received
/// the first one.
///
/// These messages only read, or a second one has the effect of the first. A second `initialize` opens another session:
/// the id of the first one never arrived, so nothing refers to it. All other messages may have an effect, or ask the
/// user for input, and are sent once.
#[must_use]
pub fn is_repeatable(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "notifications/initialized"
            | "notifications/cancelled"
            | "server/discover"
            | "ping"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
    )
}

/// The default limit of requests in flight in one direction of one connection.
pub const DEFAULT_IN_FLIGHT: usize = 1024;

/// The error of a full ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Overloaded;

impl Overloaded {
    /// Creates the error, for limits outside of the ledgers.
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
        overloaded_error(overloaded.to_string())
    }
}

/// The value of `data.reason` in the error of a request that was not processed.
const OVERLOADED: &str = "overloaded";

/// Returns the error of a request that the server cannot process at the moment, so that the client may send it again.
#[must_use]
pub fn overloaded_error(message: impl Into<Cow<'static, str>>) -> ErrorObject {
    ErrorObject::internal(message).with_data(json!({ "reason": OVERLOADED }))
}

/// Returns `true` for an error of [`overloaded_error`].
#[must_use]
pub fn is_overloaded(error: &ErrorObject) -> bool {
    #[derive(Deserialize)]
    struct Data<'a> {
        #[serde(borrow)]
        reason: Cow<'a, str>,
    }

    let data = error
        .data
        .as_ref()
        .filter(|_| error.code == code::INTERNAL_ERROR);
    let data = data.and_then(|data| serde_json::from_str::<Data<'_>>(data.get()).ok());
    data.is_some_and(|data| data.reason == OVERLOADED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_requests_of_a_connection_are_not_cancellable() {
        assert!(!is_cancellable("initialize"));
        assert!(!is_cancellable("server/discover"));
        assert!(is_cancellable("tools/call"));
        assert!(is_cancellable("subscriptions/listen"));
    }

    #[test]
    fn overloaded_errors_are_recognized() {
        assert!(is_overloaded(&Overloaded::new().into()));
        assert!(is_overloaded(&overloaded_error("later")));
        let check = |code: i64, data: serde_json::Value| {
            let error = ErrorObject::new(code, "no").with_data(data);
            assert!(!is_overloaded(&error), "{error:?}");
        };
        assert!(!is_overloaded(&ErrorObject::internal("no")));
        check(-32603, json!({"reason": "broken"}));
        check(-32603, json!({"reason": 7}));
        check(-32603, json!("overloaded"));
        check(-32602, json!({"reason": "overloaded"}));
    }

    #[test]
    fn only_messages_without_an_effect_of_their_own_are_repeatable() {
        for method in ["initialize", "server/discover", "ping", "tools/list"] {
            assert!(is_repeatable(method), "{method}");
        }
        // Handlers of prompts and resources may ask the user for input.
        for method in [
            "tools/call",
            "prompts/get",
            "resources/read",
            "resources/subscribe",
            "logging/setLevel",
            "acme/list",
            "",
        ] {
            assert!(!is_repeatable(method), "{method}");
        }
    }
}
