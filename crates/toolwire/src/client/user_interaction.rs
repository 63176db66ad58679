//! Tracks whether a user interaction, such as a login, is active. The server does not cause this delay, so no call
//! times out meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the user interactions of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserInteraction(Arc<AtomicUsize>);

impl UserInteraction {
    /// Begins an interaction, which ends when the guard is dropped.
    #[cfg(feature = "oauth-client")]
    pub(crate) fn begin(&self) -> UserInteractionGuard {
        self.0.fetch_add(1, Ordering::Relaxed);
        UserInteractionGuard(Arc::clone(&self.0))
    }

    /// Returns `true` if an interaction is active.
    pub(crate) fn is_active(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// An active interaction.
#[cfg(feature = "oauth-client")]
#[derive(Debug)]
pub(crate) struct UserInteractionGuard(Arc<AtomicUsize>);

#[cfg(feature = "oauth-client")]
impl Drop for UserInteractionGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
