//! The `events/stream` requests of a connection, which are not counted as running requests.

#[cfg(not(feature = "events"))]
mod disabled;
#[cfg(feature = "events")]
mod enabled;

#[cfg(not(feature = "events"))]
pub(super) use disabled::EventStreams;
#[cfg(feature = "events")]
pub(super) use enabled::EventStreams;
