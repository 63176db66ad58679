use toolwire::{Server, tool};

/// Adds two integers.
#[tool]
async fn add(
    /** The first number. */
    a: i64,
    /** The second number. */
    b: i64,
) -> i64 {
    a + b
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("calc", "1.0.0").tool(add).serve_stdio().await
}
