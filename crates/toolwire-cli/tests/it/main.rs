//! The `toolwire` program as its users start it: a real process behind real pipes.

mod accounts;
mod big;
mod calls;
mod cancelling;
mod client;
mod ending;
mod framing;
mod http;
mod load;
#[cfg(target_os = "linux")]
mod memory;
mod process;
mod subscribing;
mod tour;
mod transcripts;
