//! The client: submits all texts at once, and then collects the results.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::{Called, Client};
use toolwire_examples::job::ServerChoice;

const TEXTS: [&str; 2] = ["to be or not to be", "call me Ishmael"];

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let builder = Client::builder("counter-client", "1.0.0").with_tasks();
    let client = choice.connect(builder).await?;
    let mut tasks = Vec::new();
    for text in TEXTS {
        let call = client.call_tool("count", json!({"text": text}));
        if let Called::Task(task) = call.as_task().await? {
            println!("queued: {text}");
            tasks.push(task);
        }
    }
    // The ids could be stored: any later process can wait for the results.
    for task in tasks {
        println!("{}", task.wait().await?.all_text());
    }
    client.close().await;
    Ok(())
}
