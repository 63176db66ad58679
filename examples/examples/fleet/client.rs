//! The client: packs parcels, shows the progress, and ships one after the consent of the user.

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
    let builder = Client::builder("warehouse-client", "1.0.0").on_elicitation(|form| async move {
        println!("{} Yes.", form.message);
        Ok(ElicitResult::accept())
    });
    let client = choice.connect_to_url(builder).await?;
    let (call, mut progress) = client
        .call_tool("pack", json!({"parcels": 3}))
        .with_progress();
    let (packed, ()) = tokio::join!(call.into_future(), async {
        while let Some(report) = progress.next().await {
            println!(
                "{} of {}",
                report.progress,
                report.total.unwrap_or_default()
            );
        }
    });
    println!("{}", packed?.all_text());
    let shipped = client.call_tool("ship", json!({"city": "Oslo"})).await?;
    println!("{}", shipped.all_text());
    client.close().await;
    Ok(())
}
