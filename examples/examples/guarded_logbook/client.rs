//! The client: writes more lines than the limit permits, and tries a tool that the policy denies.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::{Value, json};
use toolwire::Client;
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let client = choice
        .connect(Client::builder("logbook-client", "1.0.0"))
        .await?;
    let tools = client.list_tools().await?;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    println!("tools: {}", names.join(", "));
    for line in ["lamp replaced", "door painted", "roof mended"] {
        call(&client, "write_line", json!({"line": line})).await?;
    }
    call(&client, "read_line", json!({"number": 2})).await?;
    call(&client, "delete_lines", json!({})).await?;
    client.close().await;
    Ok(())
}

/// Prints the text of the handler, or why the server rejected the call. Other errors end the program.
async fn call(client: &Client, tool: &str, arguments: Value) -> Result<(), Box<dyn Error>> {
    match client.call_tool(tool, arguments).await {
        // The second text is the time, which a middleware adds.
        Ok(result) => {
            let text = result.content.first().and_then(|block| block.as_text());
            println!("{tool}: {}", text.unwrap_or_default());
        }
        Err(error) => {
            let Some(rejected) = error.rpc() else {
                return Err(error.into());
            };
            println!("{tool} is rejected: {}", rejected.message);
        }
    }
    Ok(())
}
