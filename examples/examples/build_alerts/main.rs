//! Alerts: clients receive finished builds and new notes as they happen, and continue where they stopped.
//!
//! The events are polled or received on a stream. The extension is a draft of 2026-07-28, and the feature `events` of
//! toolwire is off by default.
//! Run the server with `cargo run -p toolwire-examples --example build_alerts`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::server()), client::run).await
}
