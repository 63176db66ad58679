//! Room for what is rarely done.

use std::pin::Pin;

/// Gives a future room of its own, away from whoever might wait for it. Otherwise each that could be needed takes space on
/// the stack, and in the code, of all that pass by: what is used often then lies far apart.
#[cold]
#[inline(never)]
pub(crate) fn box_cold<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
