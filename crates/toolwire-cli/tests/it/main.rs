//! The `toolwire` program as a real process with real pipes.

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
