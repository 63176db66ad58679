//! Exchange rates: tools that are added and removed while the server runs. Clients are notified that the list changed.
//!
//! Run the server with `cargo run -p toolwire-examples --example exchange_rates`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::server()), client::run).await
}
