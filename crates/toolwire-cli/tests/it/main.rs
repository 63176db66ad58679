//! The `toolwire` program as a real process with real pipes.

mod accounts;
#[cfg(unix)]
mod bundle;
mod calls;
mod cancellation;
mod client;
#[cfg(unix)]
mod demo_crate;
#[cfg(unix)]
mod dev;
#[cfg(unix)]
mod doctor;
mod exit;
mod framing;
mod gateway;
mod http;
mod inspect;
mod install;
mod large_messages;
mod load;
#[cfg(target_os = "linux")]
mod memory;
mod new;
mod nodes;
mod process;
mod proxy;
#[cfg(target_os = "linux")]
mod proxy_exit;
#[cfg(target_os = "linux")]
mod proxy_kills;
#[cfg(unix)]
mod record;
#[cfg(target_os = "linux")]
mod soak;
mod subscriptions;
#[cfg(feature = "otel")]
mod telemetry;
mod tour;
mod transcripts;
