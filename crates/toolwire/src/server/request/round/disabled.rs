//! The state of a round without the feature `input`: a handler runs once, so nothing is stored for a next round.

/// The state of the only round. It is empty.
#[derive(Debug)]
pub(crate) struct RoundState;

impl RoundState {
    /// Returns `false`: a request cannot ask for input.
    #[expect(clippy::unused_self, reason = "the same signature as with `input`")]
    pub(crate) fn is_retry(&self) -> bool {
        false
    }
}
