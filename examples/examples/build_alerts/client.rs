//! The client: waits for builds of one branch, and reads the notes that were written while it was away.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde::Deserialize;
use serde_json::json;
use toolwire::Client;
use toolwire::events::{EventItem, EventOccurrence, EventSubscription};
use toolwire_examples::job::ServerChoice;

#[derive(Deserialize)]
struct Build {
    number: u64,
    branch: String,
}

#[derive(Deserialize)]
struct NoteWritten {
    number: usize,
}

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let client = choice
        .connect(Client::builder("alerts-client", "1.0.0"))
        .await?;
    // The server sends only the builds that this client is interested in.
    let mut builds = client
        .subscribe_events("build.finished", json!({"branch": "main"}))
        .await?;
    let mut notes = client.subscribe_events("note.written", json!({})).await?;
    for branch in ["draft", "main"] {
        let built = client.call_tool("build", json!({"branch": branch})).await?;
        println!("{}", built.all_text());
    }
    let Build { number, branch } = next(&mut builds).await?.data.parse()?;
    println!("alert: build {number} of {branch}");

    client
        .call_tool("write", json!({"text": "buy milk"}))
        .await?;
    print_note(&client, &next(&mut notes).await?).await?;
    // The state can be stored. Another process continues with it after the last event that it received.
    let state = notes.state();
    drop(notes);
    client
        .call_tool("write", json!({"text": "call Bob"}))
        .await?;
    let mut notes = client.resume_events(state).await?;
    print_note(&client, &next(&mut notes).await?).await?;
    client.close().await;
    Ok(())
}

async fn next(events: &mut EventSubscription) -> Result<EventOccurrence, Box<dyn Error>> {
    match events.next().await? {
        Some(EventItem::Event(event)) => Ok(event),
        Some(EventItem::Gap) => Err("events were missed; read everything again".into()),
        Some(EventItem::Failed(error)) => Err(error.message.into()),
        _ => Err("the subscription has ended".into()),
    }
}

/// Fetches a note. Its event has only the number, because events should be small.
async fn print_note(client: &Client, event: &EventOccurrence) -> Result<(), Box<dyn Error>> {
    let NoteWritten { number } = event.data.parse()?;
    let text = client.call_tool("read", json!({"number": number})).await?;
    println!("note {number}: {}", text.all_text());
    Ok(())
}
