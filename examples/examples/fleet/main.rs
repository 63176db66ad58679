//! One node of a service that runs on several nodes: any node can serve any request of any client.
//!
//! The nodes share sessions, resumable streams, changes and the key of request state through Redis or Valkey. A balancer
//! in front of them needs no affinity. On SIGTERM, a node completes its running calls and exits. The directory `fleet`
//! contains a container image, a compose file and a Helm chart for this program.
//!
//! Run a node with `cargo run -p toolwire-examples --example fleet -- redis://127.0.0.1 127.0.0.1:3001`, and again with
//! another port. `FLEET_REDIS` and `FLEET_ADDRESS` replace the arguments, and `FLEET_HOSTS` lists the public host names.
//! Run the client with `-- client http://127.0.0.1:3001/mcp`, or with the URL of a balancer.

mod client;
mod limits;
mod server;

use toolwire_examples::job::Role;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(_) => server::run().await,
        Role::Client(choice) => client::run(&choice).await,
    }
}
