//! A chat with tools: a model chooses tools of the server until it can respond to the user.
//!
//! The model is a script, so the example runs without a network. Replace `client::Model` with calls to a real one.
//! Run the server with `cargo run -p toolwire-examples --example chat`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::server()), client::run).await
}
