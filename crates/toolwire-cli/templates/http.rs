//! An MCP server over HTTP.
//!
//! The first argument is the address, such as `127.0.0.1:3000`. With `--stdio`, the server uses standard input and output;
//! `toolwire dev` starts it like this.

use toolwire::transport::http::{HttpListener, HttpOptions};
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
    let address = std::env::args().nth(1);
    if address.as_deref() == Some("--stdio") {
        return server().serve_stdio().await;
    }
    let address = address.unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    // For clients on other machines, name the host: `.with_public_hosts(["mcp.example.com"])`.
    let options = HttpOptions::new();
    let listener = HttpListener::bind(server(), address, options).await?;
    eprintln!("listening on {}", listener.url());
    listener.run().await
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire::Client;

    use super::*;

    #[tokio::test]
    async fn add_returns_the_sum() -> Result<(), toolwire::Error> {
        let listener = HttpListener::bind(server(), "127.0.0.1:0", HttpOptions::new()).await?;
        let url = listener.url().to_string();
        let serving = tokio::spawn(listener.run());
        let client = Client::connect(&url).await?;
        let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await?;
        assert_eq!(sum.content[0].as_text(), Some("3"));
        serving.abort();
        Ok(())
    }
}
