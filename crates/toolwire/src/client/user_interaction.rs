//! Whether a user is being asked to log in. However long that takes, it is no fault of the server, so no deadline ends a
//! call meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the requests of a client that wait for a user.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserInteraction(Arc<AtomicUsize>);

impl UserInteraction {
    /// A request waits until the guard is dropped.
    #[cfg(feature = "oauth-client")]
    pub(crate) fn begin(&self) -> UserInteractionGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        UserInteractionGuard(Arc::clone(&self.0))
    }

    /// Whether any request waits.
    pub(crate) fn is_active(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// A request that waits.
#[cfg(feature = "oauth-client")]
#[derive(Debug)]
pub(crate) struct UserInteractionGuard(Arc<AtomicUsize>);

#[cfg(feature = "oauth-client")]
impl Drop for UserInteractionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
