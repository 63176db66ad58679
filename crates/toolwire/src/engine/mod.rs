//! Exchanges: one request, its notifications and its outcome.
//!
//! The engine knows connections and running requests, but no bytes. A transport passes it a [`TransportContext`] and
//! receives outcomes. The `server` module supplies the handlers.

#[cfg_attr(not(feature = "input"), path = "no_caller.rs")]
mod caller;
mod cancellation;
mod catch;
#[cfg(any(feature = "client", feature = "http-server", feature = "input"))]
mod clock;
mod connection;
pub(crate) mod exchange;
mod kept;
mod name_hashing;
mod progress;
mod rarely;
#[cfg_attr(not(feature = "input"), path = "no_round.rs")]
mod round;
mod scope;
mod slow_poll;
mod token;
pub(crate) mod transport;

pub(crate) use caller::ClientRequests;
pub use cancellation::Cancellation;
pub(crate) use catch::CatchPanic;
#[cfg(any(feature = "client", feature = "http-server", feature = "input"))]
pub(crate) use clock::{deadline_after, since_epoch};
pub use connection::ConnectionState;
#[cfg(any(feature = "http-server", feature = "input"))]
pub(crate) use connection::json_bytes;
pub(crate) use connection::{MAX_PEER_BYTES, MessageSize};
pub(crate) use exchange::{EncodedResult, Exchange, MethodRoute, Outcome};
pub(crate) use kept::RequestParams;
pub(crate) use name_hashing::BuildNameHasher;
pub(crate) use rarely::box_cold;
pub(crate) use round::RoundState;
#[cfg(feature = "input")]
pub(crate) use round::SingleUseState;
pub use scope::RequestScope;
pub(crate) use slow_poll::{SlowPoll, report_blocking};
pub use token::{Principal, TokenInfo};
pub use transport::{BoxFuture, NullContext, OutgoingNotification, TransportContext};
