//! The client: uses the tools of both servers through the gateway.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::Client;
use toolwire::types::ElicitResult;
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let builder = Client::builder("gateway-client", "1.0.0").on_elicitation(|form| async move {
        // The gateway names the server that asks.
        println!("{}", form.message);
        Ok(ElicitResult::accept().with_content([("email", "ada@example.com")]))
    });
    let client = choice.connect(builder).await?;
    for tool in client.list_tools().await? {
        let label = tool.title.or(tool.description).unwrap_or_default();
        println!("{}: {label}", tool.name);
    }
    let order = client.call_tool("orders_find_order", json!({"number": 17}));
    println!("{}", order.await?.all_text());
    let ticket = client.call_tool("trains_book", json!({"destination": "Rome"}));
    println!("{}", ticket.await?.all_text());
    // The gateway hides this tool.
    let hidden = client.call_tool("orders_convert", json!({"cents": 2400, "currency": "CHF"}));
    match hidden.await {
        Ok(result) => println!("{}", result.all_text()),
        Err(error) => println!("rejected: {error}"),
    }
    client.close().await;
    Ok(())
}
