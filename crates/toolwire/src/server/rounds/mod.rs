//! The rounds of a request that asks for input. Without the feature `input`, a request has one round.

#[cfg(not(feature = "input"))]
mod disabled;
#[cfg(feature = "input")]
mod enabled;

#[cfg(not(feature = "input"))]
pub(crate) use disabled::{RequestRounds, RoundOutcome, of_raw_request, of_request};
#[cfg(feature = "input")]
pub(crate) use enabled::{RequestRounds, RoundOutcome, of_raw_request, of_request};
