//! Locking of a [`Mutex`].

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks the mutex and ignores poisoning: the critical sections of this crate leave their data consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
