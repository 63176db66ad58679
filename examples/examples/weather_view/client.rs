//! The client: a host that shows views, and then a client that has only text.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde::Deserialize;
use serde_json::json;
use toolwire::Client;
use toolwire::apps::host::{ToolCaller, is_visible_to};
use toolwire::types::CallToolResult;
use toolwire_examples::job::ServerChoice;

#[derive(Deserialize)]
struct Forecast {
    summary: String,
    days: Vec<i32>,
}

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let oslo = json!({"city": "Oslo"});
    let host = choice
        .connect(Client::builder("weather-host", "1.0.0").with_views())
        .await?;
    // The model is offered only the tools that are for it.
    let tools = host.list_tools().await?;
    for tool in tools
        .iter()
        .filter(|tool| is_visible_to(tool, ToolCaller::Model))
    {
        println!("a tool for the model: {}", tool.name);
        if let Some(view) = host.view(tool).await? {
            // The document is untrusted. A host shows it in a sandbox with this policy.
            let policy = view.content_security_policy();
            let default = policy.split(';').next().unwrap_or_default();
            println!("  its view is {}, limited to {default}", view.uri());
        }
    }
    // The model gets the text, and the view gets the structured content.
    let result = host.call_tool("forecast", oslo.clone()).await?;
    print("the model and the view get", &result)?;
    // The view calls this tool when the user presses its button.
    let result = host.call_tool("week", json!({"offset": 1})).await?;
    print("after a click", &result)?;
    host.close().await;

    let client = choice
        .connect(Client::builder("weather-client", "1.0.0"))
        .await?;
    let result = client.call_tool("forecast", oslo).await?;
    print("without views", &result)?;
    client.close().await;
    Ok(())
}

fn print(label: &str, result: &CallToolResult) -> serde_json::Result<()> {
    let Forecast { summary, days } = result.structured_content_as()?;
    println!("{label}: {summary} {days:?}");
    Ok(())
}
