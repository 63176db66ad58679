//! The parts that servers, clients and transports share: connections, requests to the peer, cancellation, the encoding
//! of outcomes, checks against schemas.
//!
//! The engine knows neither handlers nor sockets. A transport passes it a [`TransportContext`].

mod cancellation;
mod catch;
mod client_requests;
#[cfg(any(
    feature = "client",
    feature = "events",
    feature = "http-server",
    feature = "input"
))]
mod clock;
mod connection;
mod connection_info;
mod deprecation;
pub(crate) mod encoding;
#[cfg(feature = "client")]
mod key_locks;
mod name_hashing;
#[cfg(feature = "http-server")]
pub(crate) mod node_number;
mod notification_queue;
mod peer_text;
pub(crate) mod schema_check;
pub(crate) mod schema_pool;
mod slow_poll;
mod token;
pub(crate) mod transport;
#[cfg(feature = "input")]
mod url_elicitations;

use std::pin::Pin;

pub use cancellation::Cancellation;
pub(crate) use catch::{CatchPanic, catch_panic};
pub(crate) use client_requests::ClientRequests;
#[cfg(any(
    feature = "client",
    feature = "events",
    feature = "http-server",
    feature = "input"
))]
pub(crate) use clock::{deadline_after, since_epoch};
pub use connection::ConnectionState;
pub(crate) use connection::peer_info::MAX_PEER_BYTES;
#[cfg(feature = "http-server")]
pub(crate) use connection::peer_info::PeerInfo;
#[cfg(any(
    feature = "http-server",
    feature = "input",
    all(feature = "events", feature = "http-client")
))]
pub(crate) use connection::peer_info::json_bytes;
pub(crate) use connection::{DEFAULT_LOG_LEVEL, MessageSize};
pub use connection_info::ConnectionInfo;
#[cfg(any(feature = "client", feature = "input"))]
pub(crate) use deprecation::warn_about_request;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) use deprecation::warn_deprecated;
pub(crate) use deprecation::warn_if_deprecated;
pub(crate) use encoding::{EncodedResult, Outcome};
#[cfg(all(feature = "events", feature = "http-client"))]
pub(crate) use key_locks::KeyGuard;
#[cfg(feature = "client")]
pub(crate) use key_locks::KeyLocks;
pub(crate) use name_hashing::BuildNameHasher;
pub(crate) use notification_queue::{NotificationQueue, QueueFull};
pub(crate) use peer_text::PeerText;
pub(crate) use slow_poll::{SlowPoll, report_blocking};
pub use token::{Principal, TokenInfo};
pub use transport::{BoxFuture, NullContext, OutgoingNotification, TransportContext};
#[cfg(feature = "input")]
pub(crate) use url_elicitations::UrlElicitations;

/// Boxes a future of a cold path, so that it does not enlarge the caller's state machine and code.
#[cold]
#[inline(never)]
pub(crate) fn boxed_cold<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
