//! A chat with tools: a model chooses tools of the server until it can respond to the user.
//!
//! The model is a script, so the example runs without a network. Replace `client::Model` with calls to a real one.
//! Run the server with `cargo run -p toolwire-examples --example chat`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire::transport::http::HttpOptions;
use toolwire_examples::job::{self, Role};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(address) => job::serve(server::server(), address, HttpOptions::new()).await,
        Role::Client(choice) => client::run(&choice).await,
    }
}
