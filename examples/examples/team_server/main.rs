//! One server for several teams: the server of another team is mounted under a prefix, with a fixed argument and without
//! one tool.
//!
//! Run the server with `cargo run -p toolwire-examples --example team_server`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::server()), client::run).await
}
