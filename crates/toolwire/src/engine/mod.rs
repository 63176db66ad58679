//! Exchanges: one request, some notices, one outcome.
//!
//! The engine knows connections and running requests but no bytes. A transport gives it a [`TransportContext`] and gets
//! back outcomes; the server floor beside it supplies the handlers.

mod caller;
mod cancellation;
mod catch;
mod clock;
mod connection;
pub(crate) mod exchange;
mod kept;
mod progress;
mod round;
mod scope;
mod token;
pub(crate) mod transport;

pub(crate) use caller::Caller;
pub use cancellation::Cancellation;
pub(crate) use catch::CatchPanic;
pub(crate) use clock::since_epoch;
pub use connection::ConnectionState;
pub(crate) use connection::MessageSize;
pub(crate) use exchange::{Exchange, Outcome, Reply, Route};
pub(crate) use kept::KeptParams;
pub(crate) use round::{Round, Spending};
pub use scope::RequestScope;
pub use token::{Principal, TokenInfo};
pub use transport::{BoxFuture, Notice, NullContext, TransportContext};
