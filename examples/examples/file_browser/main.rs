//! A file browser: a directory as a tree of resources, limited to the roots of the client.
//!
//! The server serves the directory in which it is started.
//! Run the server with `cargo run -p toolwire-examples --example file_browser`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire::transport::http::HttpOptions;
use toolwire_examples::job::{self, Role};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(address) => {
            let files = server::Files::open(".")?;
            job::serve(files.into_server(), address, HttpOptions::new()).await
        }
        Role::Client(choice) => client::run(&choice).await,
    }
}
