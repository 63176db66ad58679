//! A logbook that agents write to: each request is timed, limited for each caller, checked by a policy, and audited.
//!
//! The audit log goes to standard error.
//! Run the server with `cargo run -p toolwire-examples --example guarded_logbook`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(server::server, client::run).await
}
