//! The client: starts a report, does something else, responds to the input request, and collects the result.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::types::ElicitResult;
use toolwire::{Called, Client};
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let builder = Client::builder("report-client", "1.0.0")
        .with_tasks()
        .on_elicitation(|form| async move {
            println!("the server asks: {}", form.message);
            Ok(ElicitResult::accept().with_content([("value", json!(true))]))
        });
    let client = choice.connect(builder).await?;

    let call = client.call_tool("write_report", json!({"year": 2026}));
    match call.as_task().await? {
        Called::Task(task) => {
            println!("the report is a task");
            println!("{}", task.wait().await?.all_text());
        }
        Called::Completed(result) => println!("{}", result.all_text()),
    }

    // An argument outside the schema fails at once. No task is created.
    let wrong = client.call_tool("write_report", json!({"year": 1066}));
    let rejected = wrong.await?;
    println!("rejected: {}", rejected.all_text());
    client.close().await;
    Ok(())
}
