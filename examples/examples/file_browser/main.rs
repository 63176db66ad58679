//! A file browser: a directory as a tree of resources, limited to the roots of the client.
//!
//! The server serves the directory in which it is started.
//! Run the server with `cargo run -p toolwire-examples --example file_browser`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::Files::open(".")?.into_server()), client::run).await
}
