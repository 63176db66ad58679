//! The client: shows the form of the server and fills it in, except for a trip that the user does not want.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::Client;
use toolwire::types::{ElicitRequestFormParams, ElicitResult};
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let builder = Client::builder("booking-client", "1.0.0")
        .on_elicitation(|form| async move { Ok(fill_in(&form)) });
    let client = choice.connect(builder).await?;
    for destination in ["Rome", "Atlantis"] {
        let booked = client
            .call_tool("book", json!({"destination": destination}))
            .await?;
        println!("{}", booked.all_text());
    }
    client.close().await;
    Ok(())
}

/// Returns the input of the user. A real client shows a form with these fields.
fn fill_in(form: &ElicitRequestFormParams) -> ElicitResult {
    println!("the server asks: {}", form.message);
    if let Ok(schema) = form.schema() {
        for name in schema.properties.keys() {
            let required = if schema.is_required(name) {
                ""
            } else {
                " (optional)"
            };
            println!("  {name}{required}");
        }
    }
    if form.message.contains("Atlantis") {
        return ElicitResult::decline();
    }
    // The client adds the default of the field that is missing here, the number of seats.
    ElicitResult::accept().with_content([("email", "ada@example.com"), ("class", "first")])
}
