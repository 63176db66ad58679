//! The client: restocks and sells with the token in `SHOP_TOKEN`.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::Client;
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let token = std::env::var("SHOP_TOKEN").unwrap_or_else(|_| "token-of-bob".to_owned());
    let builder = Client::builder("shop-client", "1.0.0").with_bearer_token(&token)?;
    let client = choice.connect_to_url(builder).await?;

    let stock = client.call_tool("restock", json!({"cups": 1})).await?;
    println!("in stock: {}", stock.all_text());
    for _ in 0..2 {
        match client.call_tool("sell", ()).await {
            Ok(result) => println!("{}", result.all_text()),
            Err(error) => println!("not permitted: {error}"),
        }
    }
    client.close().await;
    Ok(())
}
