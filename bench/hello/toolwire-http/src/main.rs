//! One tool over HTTP.

use toolwire::{Server, tool};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    let server = Server::new("hello", "1.0.0").tool(add);
    server.serve_http("127.0.0.1:3000").await
}
