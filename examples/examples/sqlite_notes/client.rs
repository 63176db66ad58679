//! The client: stores notes, searches, and reads the best note.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde::Deserialize;
use serde_json::json;
use toolwire::Client;
use toolwire_examples::job::ServerChoice;

const NOTES: [(&str, &str); 3] = [
    (
        "Bread",
        "Knead the dough for ten minutes, then bake it at 230 degrees.",
    ),
    ("Tea", "Pour water of 80 degrees on the leaves and wait."),
    (
        "Baking times",
        "Rolls bake for fifteen minutes, bread for forty.",
    ),
];

#[derive(Deserialize)]
struct Hits {
    hits: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    uri: String,
    title: String,
    excerpt: String,
}

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let client = choice
        .connect(Client::builder("notes-client", "1.0.0"))
        .await?;
    for (title, text) in NOTES {
        let stored = client
            .call_tool("add", json!({"title": title, "text": text}))
            .await?;
        println!("stored {title} as {}", stored.all_text());
    }
    for words in ["minutes baking", "\"NEAR(", "80"] {
        let found = client.call_tool("search", json!({"words": words})).await?;
        let Hits { hits } = found.structured_content_as()?;
        println!("{words}: {} found", hits.len());
        for hit in &hits {
            println!("  {}: {}", hit.title, hit.excerpt);
        }
        if let Some(best) = hits.first() {
            let note = client.read_resource(&best.uri).await?;
            println!("  {}", note.contents[0].as_text().unwrap_or_default());
        }
    }
    client.close().await;
    Ok(())
}
