//! Locking of a [`Mutex`].

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex and ignores poisoning.
///
/// The critical sections of this crate leave their data consistent at every point that can panic, and a panic in one
/// request must not stop the others.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
