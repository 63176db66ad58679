//! Boxes the futures of cold paths.

use std::pin::Pin;

/// Boxes a future of a cold path, so that it does not enlarge the caller's state machine and code.
#[cold]
#[inline(never)]
pub(crate) fn box_cold<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
