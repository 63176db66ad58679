//! The client: uses the tools of both teams as one server, also a tool that is added meanwhile.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::Client;
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let client = choice
        .connect(Client::builder("team-client", "1.0.0"))
        .await?;
    for (tool, arguments) in [
        ("weather_forecast", json!({"city": "Bonn"})),
        ("add_station", json!({"name": "north"})),
        ("weather_north", json!({})),
    ] {
        let result = client.call_tool(tool, arguments).await?;
        println!("{tool}: {}", result.all_text());
    }
    for tool in client.list_tools().await? {
        let schema = tool.input_schema.to_value()?;
        let arguments = schema["properties"].as_object().into_iter().flatten();
        let names: Vec<_> = arguments.map(|(name, _)| name.as_str()).collect();
        println!("{}({})", tool.name, names.join(", "));
    }
    client.close().await;
    Ok(())
}
