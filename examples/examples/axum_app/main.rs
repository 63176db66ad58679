//! An axum application with an MCP endpoint: shared state, a middleware around all routes, and access tokens.
//!
//! Run the server with `cargo run -p toolwire-examples --example axum_app -- 127.0.0.1:3000`, and the client with
//! `-- client http://127.0.0.1:3000/mcp`.

mod client;
mod server;

use toolwire_examples::job::Role;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(address) => {
            let address = address.unwrap_or_else(|| "127.0.0.1:3000".to_owned());
            server::run(&address).await
        }
        Role::Client(choice) => client::run(&choice).await,
    }
}
