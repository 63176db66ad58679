//! Tracks whether a user interaction, such as a login, is active. The server does not cause this delay, so no call
//! times out meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Suspends the timeouts of a client's calls while a user acts, for example during a login. Clones share one counter.
#[derive(Clone, Debug, Default)]
pub struct UserInteraction(Arc<Interactions>);

#[derive(Debug, Default)]
struct Interactions {
    active: AtomicUsize,
    /// The number of interactions that have ended.
    ended: AtomicUsize,
}

impl UserInteraction {
    /// Suspends the timeouts until the guard is dropped.
    #[must_use]
    pub fn begin(&self) -> UserInteractionGuard {
        self.0.active.fetch_add(1, Ordering::Relaxed);
        UserInteractionGuard(Arc::clone(&self.0))
    }

    /// Returns `true` if an interaction is active.
    pub(crate) fn is_active(&self) -> bool {
        self.0.active.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of interactions that have ended.
    pub(crate) fn ended(&self) -> usize {
        self.0.ended.load(Ordering::Relaxed)
    }
}

/// An active user interaction. It ends when this is dropped.
#[derive(Debug)]
pub struct UserInteractionGuard(Arc<Interactions>);

impl Drop for UserInteractionGuard {
    fn drop(&mut self) {
        // Counted first, so that an interaction is never neither active nor ended.
        self.0.ended.fetch_add(1, Ordering::Relaxed);
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}
