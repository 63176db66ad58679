//! A server as one route of an axum application.
//!
//! Every framework that mounts `tower` services works the same way. Run it with
//! `cargo run -p toolwire-examples --example axum -- 127.0.0.1:3000`.

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use toolwire::{Server, tool};

/// Greets a person.
#[tool]
async fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let server = Server::new("axum-example", "1.0.0").tool(greet);

    let app = Router::new()
        .route("/health", get(|| async { "fine" }))
        // For options, `HttpService::new(server, options)`.
        .route_service("/mcp", server.clone().into_http_service());

    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, app)
        .with_graceful_shutdown(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                // Ends event streams, and axum waits for the requests in flight.
                server.shutdown();
            }
        })
        .await?;
    Ok(())
}
