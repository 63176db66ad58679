//! A forecast with a view: hosts show an HTML document for the call, and other clients get text.
//!
//! Run the server with `cargo run -p toolwire-examples --example weather_view`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments. To see the view in the browser, use
//! `toolwire view open forecast city=Oslo -- cargo run -p toolwire-examples --example weather_view`.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    job::run(|| Ok(server::server()), client::run).await
}
