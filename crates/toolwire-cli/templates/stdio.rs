//! An MCP server on standard input and output.

use toolwire::{Server, tool};

/// Adds two integers.
#[tool(read_only)]
async fn add(
    /** The first number. */
    a: i64,
    /** The second number. */
    b: i64,
) -> i64 {
    a.saturating_add(b)
}

fn server() -> Server {
    Server::new("my-server", env!("CARGO_PKG_VERSION")).tool(add)
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    server().serve_stdio().await
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire::Client;

    use super::*;

    #[tokio::test]
    async fn add_returns_the_sum() -> Result<(), toolwire::Error> {
        let client = Client::in_process(&server()).await?;
        let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await?;
        assert_eq!(sum.content[0].as_text(), Some("3"));
        Ok(())
    }
}
