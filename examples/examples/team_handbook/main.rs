//! The handbook of a team as skills: agents find the instructions for a job and load only what they need.
//!
//! Run the server with `cargo run -p toolwire-examples --example team_handbook`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(server::server, client::run).await
}
