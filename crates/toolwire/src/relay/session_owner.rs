//! The client that a session of the relay was opened for.

use crate::engine::Principal;

/// The client that a session with a legacy upstream server was opened for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SessionOwner {
    pub(super) principal: Principal,
    /// The parameters of `initialize`.
    pub(super) identity: String,
}
