//! Our client over HTTP: against our server in every era, and against servers that are hostile or sloppy.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod asking;
mod calls;
mod cancelling;
mod double;
mod eras;
mod fake;
mod headers;
mod oldest;
#[cfg(feature = "tls")]
mod over_tls;
mod resuming;
mod reuse;
mod script;
mod secrets;
mod sessions;
mod streams;
