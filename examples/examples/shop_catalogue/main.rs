//! The catalogue of a shop as resources: text, bytes, a URI template, cache hints, and a counter that clients watch.
//!
//! Run the server with `cargo run -p toolwire-examples --example shop_catalogue`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::server()), client::run).await
}
