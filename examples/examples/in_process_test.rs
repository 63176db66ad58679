//! Tests for your own server: the whole protocol, without a process or a pipe.
//!
//! Handlers are functions, so tests of the logic call them directly. Tests of the protocol use a client in the same
//! process, with the same messages as over stdio.
//! Run it with `cargo run -p toolwire-examples --example in_process_test`, and its tests with
//! `cargo test -p toolwire-examples --example in_process_test`.

use toolwire::{Server, tool};

/// Reverses a text.
#[tool(read_only)]
fn reverse(text: &str) -> String {
    text.chars().rev().collect()
}

/// Build the server in its own function: `main` serves it, and tests connect to it.
fn server() -> Server {
    Server::new("mirror", "1.0.0").tool(reverse)
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    server().serve_stdio().await
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire::testing;

    use super::*;

    #[test]
    fn reverse_returns_the_reversed_text() {
        assert_eq!(reverse::call("straw"), "warts");
    }

    #[tokio::test]
    async fn client_lists_the_tool() {
        let client = testing::client(&server()).await;
        let tools = client.list_tools().await.unwrap();
        assert_eq!(tools[0].name, "reverse");
        assert_eq!(
            tools[0].input_schema.to_value().unwrap()["required"],
            json!(["text"])
        );
    }

    #[tokio::test]
    async fn client_calls_the_tool() {
        let client = testing::client(&server()).await;
        let result = client
            .call_tool("reverse", json!({"text": "straw"}))
            .await
            .unwrap();
        testing::assert_text(&result, "warts");
    }
}
