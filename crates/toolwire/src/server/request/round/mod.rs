//! The state of a round. Without the feature `input`, a request has one round and no state.

#[cfg(not(feature = "input"))]
mod disabled;
#[cfg(feature = "input")]
mod enabled;

#[cfg(not(feature = "input"))]
pub(crate) use disabled::RoundState;
#[cfg(feature = "input")]
pub(crate) use enabled::RoundState;
#[cfg(feature = "input")]
pub(crate) use enabled::SingleUseState;
