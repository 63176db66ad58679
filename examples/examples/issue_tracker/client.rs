//! The client: lists the issues and closes the first.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::Client;
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let mut builder = Client::builder("tracker-client", "1.0.0");
    if let Ok(token) = std::env::var("TRACKER_TOKEN") {
        builder = builder.with_bearer_token(&token)?;
    }
    let client = choice.connect(builder).await?;

    // The list has only the tools that the token permits.
    let tools = client.list_tools().await?;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    println!("tools: {}", names.join(", "));
    println!("{}", client.call_tool("list_issues", ()).await?.all_text());

    for number in [1, 1] {
        match client
            .call_tool("close_issue", json!({"number": number}))
            .await
        {
            Ok(result) => println!("{}", result.all_text()),
            Err(error) => println!("not permitted: {error}"),
        }
    }
    client.close().await;
    Ok(())
}
