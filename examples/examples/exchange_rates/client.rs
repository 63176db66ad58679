//! The client: fetches the list of tools again after each change, as a host does for its model.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::types::SubscriptionFilter;
use toolwire::{Client, Subscription};
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let client = choice
        .connect(Client::builder("exchange-client", "1.0.0"))
        .await?;
    let filter = SubscriptionFilter::new().with_tools_list_changed();
    let mut changes = client.listen(filter).await?;
    print_tools(&client).await?;

    client
        .call_tool("learn", json!({"currency": "chf", "rate": 0.95}))
        .await?;
    await_change(&mut changes).await?;
    print_tools(&client).await?;
    let francs = client.call_tool("to_chf", json!({"amount": 20})).await?;
    println!("20 are {} francs", francs.all_text());

    client
        .call_tool("forget", json!({"currency": "chf"}))
        .await?;
    await_change(&mut changes).await?;
    print_tools(&client).await?;
    client.close().await;
    Ok(())
}

async fn await_change(changes: &mut Subscription) -> Result<(), Box<dyn Error>> {
    let change = changes.next().await?;
    change.ok_or("the server ended the subscription")?;
    Ok(())
}

async fn print_tools(client: &Client) -> Result<(), toolwire::Error> {
    let tools = client.list_tools().await?;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    println!("tools: {}", names.join(", "));
    Ok(())
}
