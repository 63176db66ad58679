//! The client: permits one directory as a root, lists it, reads each file, and tries to leave it.

#![expect(deprecated, reason = "the example shows a deprecated feature")]
#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde::Deserialize;
use serde_json::json;
use toolwire::Client;
use toolwire::types::Root;
use toolwire_examples::job::ServerChoice;

#[derive(Deserialize)]
struct Listing {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    uri: Option<String>,
}

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let root = std::fs::canonicalize(".")?.join("public");
    let root = Root::new(format!("file://{}", root.display()));
    let builder = Client::builder("files-client", "1.0.0").with_roots([root]);
    let client = choice.connect(builder).await?;

    let listed = client.call_tool("list", json!({"path": "public"})).await?;
    let listing: Listing = listed.structured_content_as()?;
    for Entry { name, uri } in listing.entries {
        let Some(uri) = uri else {
            println!("{name}/");
            continue;
        };
        let file = client.read_resource(&uri).await?;
        let text = file.contents[0].as_text().unwrap_or_default();
        println!("{name}: {}", text.lines().next().unwrap_or_default());
    }

    for path in [".", "../.."] {
        let rejected = client.call_tool("list", json!({"path": path})).await?;
        println!("{path}: {}", rejected.all_text());
    }
    for uri in ["files:///secret.txt", "files:///public/../secret.txt"] {
        match client.read_resource(uri).await {
            Ok(_) => println!("{uri}: not rejected"),
            Err(error) => println!("{uri}: {error}"),
        }
    }
    client.close().await;
    Ok(())
}
