//! One tool over stdio.

use toolwire::{Server, tool};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("hello", "1.0.0").tool(add).serve_stdio().await
}
