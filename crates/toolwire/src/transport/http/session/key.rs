//! The identity of a session on this node.

use crate::engine::{Cancellation, Principal};

/// The id and the principal of a session, and the signal that it has ended. Clones share the signal.
#[derive(Debug, Clone)]
pub(crate) struct SessionKey {
    pub(crate) id: String,
    pub(crate) principal: Principal,
    /// Raised when the session has ended.
    pub(crate) ended: Cancellation,
}
