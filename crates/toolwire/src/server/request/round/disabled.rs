//! The state of a round without the feature `input`: a handler runs once, so nothing is stored for a next round.

/// The state of the only round. It is empty.
#[derive(Debug)]
pub(crate) struct RoundState;
