//! A client for any server: connects to a URL, or starts a command, shows what the server offers and calls a tool.
//!
//! Run it with `cargo run -p toolwire-examples --example client -- <url>`, or
//! `cargo run -p toolwire-examples --example client -- <command> <argument>…`.

use serde_json::json;
use toolwire::{Client, ServerCommand};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments
        .next()
        .ok_or("give a URL, or a command to start")?;
    let builder = Client::builder("example-client", "1.0.0");
    let client = if target.starts_with("http") {
        builder.connect(&target).await?
    } else {
        let command = ServerCommand::new(&target).args(arguments);
        builder.spawn(command).await?
    };

    eprintln!("connected, speaking {}", client.version());
    for tool in client.list_tools().await? {
        eprintln!(
            "tool {}: {}",
            tool.name,
            tool.description.unwrap_or_default()
        );
        if tool.name == "add" {
            let sum = client.call_tool("add", json!({"a": 20, "b": 22})).await?;
            eprintln!("20 + 22 = {}", sum.content[0].as_text().unwrap_or("?"));
        }
    }
    // Without this the end would not wait for a child process, or for the session to be deleted.
    client.close().await;
    Ok(())
}
