//! A gateway: one server with the tools of two other servers, which run as child processes.
//!
//! The servers are those of the examples `chat` and `train_booking`. They are parts of this program, so that nothing else
//! has to be built. A gateway without code is `toolwire gateway` with a configuration such as `gateway/gateway.toml`.
//! Run the server with `cargo run -p toolwire-examples --example gateway`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
#[path = "../chat/server.rs"]
mod orders;
mod server;
#[path = "../train_booking/server.rs"]
mod trains;

use toolwire_examples::job::Role;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(Some(name)) if name == server::ORDERS => {
            Ok(orders::server().serve_stdio().await?)
        }
        Role::Server(Some(name)) if name == server::TRAINS => {
            Ok(trains::server().serve_stdio().await?)
        }
        Role::Server(address) => server::run(address).await,
        Role::Client(choice) => client::run(&choice).await,
    }
}
