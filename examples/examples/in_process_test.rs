//! Testing your own server: the whole protocol, without a process or a pipe.
//!
//! Functions stay functions, so logic is tested by calling them. What clients see is tested through `InProcess`, which
//! speaks the same messages as stdio.
//! Run it with `cargo run -p toolwire-examples --example in_process_test`, and its tests with
//! `cargo test -p toolwire-examples --example in_process_test`.

use toolwire::{Server, tool};

/// Reverses a text.
#[tool(read_only)]
fn reverse(text: &str) -> String {
    text.chars().rev().collect()
}

/// Build the server in a function of its own: `main` serves it, tests connect to it.
fn server() -> Server {
    Server::new("mirror", "1.0.0").tool(reverse)
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    server().serve_stdio().await
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolwire::ProtocolVersion;
    use toolwire::transport::InProcess;

    use super::*;

    /// Sends one request of the newest revision, which needs no handshake, and returns the answer.
    async fn ask(method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": ProtocolVersion::LATEST.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut client = InProcess::connect(&server());
        client.send(&request.to_string()).await.unwrap();
        let answer = client.receive().await.unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    #[test]
    fn the_function_reverses() {
        assert_eq!(reverse::call("straw"), "warts");
    }

    #[tokio::test]
    async fn clients_see_the_tool() {
        let answer = ask("tools/list", json!({})).await;
        let tool = &answer["result"]["tools"][0];
        assert_eq!(tool["name"], "reverse");
        assert_eq!(tool["inputSchema"]["required"], json!(["text"]));
    }

    #[tokio::test]
    async fn clients_can_call_the_tool() {
        let call = json!({"name": "reverse", "arguments": {"text": "straw"}});
        let answer = ask("tools/call", call).await;
        assert_eq!(answer["result"]["content"][0]["text"], "warts");
    }
}
