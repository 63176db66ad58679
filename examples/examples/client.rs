//! A client for any server: connects to a URL or starts a command, lists the tools and calls one. A middleware reports
//! each request.
//!
//! Run it with `cargo run -p toolwire-examples --example client -- <url>`, or
//! `cargo run -p toolwire-examples --example client -- <command> <argument>…`.

use serde_json::json;
use toolwire::client_middleware::{ClientNext, ClientRequest, from_fn};
use toolwire::{Client, ServerCommand};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("pass a URL or a command")?;
    let reporting = from_fn(async |request: &mut ClientRequest, next: ClientNext<'_>| {
        let outcome = next.run(request).await;
        let end = if outcome.is_ok() {
            "succeeded"
        } else {
            "failed"
        };
        eprintln!("{} {end}", request.method());
        outcome
    });
    let builder = Client::builder("example-client", "1.0.0").with_middleware(reporting);
    let client = if target.starts_with("http") {
        builder.connect(&target).await?
    } else {
        let command = ServerCommand::new(&target).args(arguments);
        builder.spawn(command).await?
    };

    eprintln!("connected with revision {}", client.version());
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
    // Waits for a child process to exit, or for the session to be deleted.
    client.close().await;
    Ok(())
}
