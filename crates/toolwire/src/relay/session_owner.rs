//! The client that a session of the relay was opened for.

use toolwire_types::RawJson;

use crate::engine::Principal;
use crate::server::request::Exchange;

/// The client that a session with a legacy upstream server was opened for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SessionOwner {
    /// The principal of the caller, also if callers share connections. The server may ask after the end of a call, and
    /// that request must not reach another caller.
    pub(super) principal: Principal,
    /// The parameters of `initialize`.
    pub(super) identity: String,
}

impl SessionOwner {
    /// Returns the client of a request, with these parameters of `initialize`.
    pub(super) fn of(exchange: &Exchange, identity: &RawJson) -> Self {
        Self {
            principal: Principal::of(exchange.context.auth()),
            identity: identity.get().to_owned(),
        }
    }
}
