//! A long report as a task: the call returns at once, the client shows the status and collects the result later.
//!
//! Clients without tasks wait for the result in the same call.
//! Run the server with `cargo run -p toolwire-examples --example annual_report`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::server()), client::run).await
}
