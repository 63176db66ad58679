//! A train ticket: the call asks the user for what is missing, with a form that the user accepts, declines or cancels.
//!
//! One handler serves every revision. The example `onboarding` explains how, and has several elicitations.
//! Run the server with `cargo run -p toolwire-examples --example train_booking`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::server()), client::run).await
}
