//! The client: reads the catalogue, completes the name of a shelf, and watches the counter of visits.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use toolwire::types::{
    CompletionArgument, ResourceContents, ResourceTemplateReference, SubscriptionFilter,
};
use toolwire::{Change, Client};
use toolwire_examples::job::ServerChoice;

const VISITS: &str = "shop://visits";

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let client = choice
        .connect(Client::builder("shop-client", "1.0.0"))
        .await?;
    for resource in client.list_resources().await? {
        print(&client, &resource.uri).await?;
    }

    // The user has typed a letter of the variable `shelf`.
    let templates = client.list_resource_templates().await?;
    let template = templates.first().ok_or("the shop has no template")?;
    let template = ResourceTemplateReference::new(&template.uri_template);
    let typed = CompletionArgument::new("shelf", "b");
    let shelves = client.complete(template, typed).await?;
    println!("shelves with b: {}", shelves.completion.values.join(", "));
    print(&client, "shop://shelves/bread?page=2&tags=fresh").await?;

    let filter = SubscriptionFilter::new().with_resource(VISITS);
    let mut changes = client.listen(filter).await?;
    client.call_tool("visit", ()).await?;
    if let Some(Change::ResourceUpdated(uri)) = changes.next().await? {
        // A change has no content, so the resource is read again.
        print(&client, &uri).await?;
    }
    client.close().await;
    Ok(())
}

async fn print(client: &Client, uri: &str) -> Result<(), toolwire::Error> {
    for content in client.read_resource(uri).await?.contents {
        match content {
            ResourceContents::Text(text) => println!("{uri}: {}", text.text),
            ResourceContents::Blob(blob) => {
                println!("{uri}: {}", blob.mime_type.unwrap_or_default());
            }
            _ => println!("{uri}: another kind of contents"),
        }
    }
    Ok(())
}
