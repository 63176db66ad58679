//! Rules about the URIs of resources that several upstreams have.

use toolwire::types::{CompletionArgument, ResourceTemplateReference, SubscriptionFilter};
use toolwire::{
    CompletionRequest, CompletionValues, ResourceHandler, ResourceTemplateHandler,
    TemplateArguments,
};

use super::rules::client_of_upstream;
use super::*;

const NOTE: &str = "notes:a";
const TEMPLATE: &str = "notes:by/{name}";
const NOTE_BY: &str = "notes:by/ann";

/// Returns a server with a note, and with notes by name.
fn notes() -> Server {
    let read_note = async |_: RequestContext, uri: String| uri;
    let read = async |_: RequestContext, uri: String, _: TemplateArguments| uri;
    let complete =
        async |_: RequestContext, _: CompletionRequest| CompletionValues::from(vec!["ann"]);
    let template = ResourceTemplateHandler::new(TEMPLATE, "by name", read);
    Server::new("notes", "1.0.0")
        .with_resource_subscriptions()
        .resource(ResourceHandler::new(NOTE, "note", read_note))
        .resource_template(template.with_completion("name", complete))
}

async fn reads(client: &Client, uri: &str) -> bool {
    within(client.read_resource(uri).into_future())
        .await
        .is_ok()
}

async fn completes(client: &Client, template: &str) -> bool {
    let reference = ResourceTemplateReference::new(template);
    let argument = CompletionArgument::new("name", "a");
    let completed = within(client.complete(reference, argument).into_future()).await;
    completed.is_ok_and(|completed| completed.completion.values == ["ann"])
}

/// Subscribes to denied URIs and to a permitted one. Returns when the permitted one is subscribed to.
async fn subscribe(
    client: &Client,
    denied: &[&str],
    permitted: (&str, &TestUpstream),
) -> toolwire::Subscription {
    let uris = denied.iter().chain([&permitted.0]);
    let filter = uris.fold(SubscriptionFilter::new(), |filter, uri| {
        filter.with_resource(*uri)
    });
    let subscription = within(client.listen(filter)).await;
    let subscription = subscription.expect("one URI is permitted");
    until(async || permitted.1.server.resource_updated(NOTE) > 0).await;
    subscription
}

#[tokio::test]
async fn denied_exposed_uri_is_not_reached_under_any_spelling() {
    let scratch = Scratch::new("gateway");
    // It has no resources, so its prefix, which would be the same, is not used.
    let tools = TestUpstream::start(server_with(&["read"])).await;
    let one = TestUpstream::start(notes()).await;
    let other = TestUpstream::start(notes()).await;
    let rules = "[[rule]]\ndeny = { tool = \"my-notes+notes:*\" }\n";
    let upstreams = table("my_notes", &tools, "") + &table("one", &one, "");
    let text = upstreams + &table("my-notes", &other, "") + rules;
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    let resources = within(client.list_resources().into_future()).await;
    let resources = resources.expect("the list is returned");
    let uris: Vec<&str> = resources
        .iter()
        .map(|resource| resource.uri.as_str())
        .collect();
    assert_eq!(uris, [NOTE]);

    let denied = [
        "my-notes+notes:a",
        "my-notes+notes:by/ann",
        "my-notes+notes:by/%61nn",
        "my-notes+notes:by/../a",
        "my-notes+NOTES:a",
        "MY-NOTES+notes:a",
        "my_notes+notes:a",
        "my-notesx+notes:a",
        "my%2Dnotes+notes:a",
        "my-notes%2Bnotes:a",
        "my-notes+my-notes+notes:a",
        "one+my-notes+notes:a",
    ];
    for uri in denied {
        assert!(!reads(&client, uri).await, "{uri}");
    }
    for template in ["my-notes+notes:by/{name}", "my-notesx+notes:by/{name}"] {
        assert!(!completes(&client, template).await, "{template}");
    }
    let subscription = subscribe(&client, &denied, (NOTE, &one)).await;
    for uri in [NOTE, NOTE_BY] {
        assert_eq!(other.server.resource_updated(uri), 0, "{uri}");
    }
    drop(subscription);
    // The URIs without the prefix are those of the first upstream.
    one.take_received();
    assert!(reads(&client, NOTE).await);
    assert!(reads(&client, NOTE_BY).await);
    assert!(completes(&client, TEMPLATE).await);
    let read = ["resources/read notes:a", "resources/read notes:by/ann"];
    assert_eq!(one.take_received(), read);

    // At its own address, the upstream has no prefix.
    let alone = client_of_upstream(&gateway, "my-notes").await;
    for uri in [NOTE, NOTE_BY, "my-notes+notes:a"] {
        assert!(!reads(&alone, uri).await, "{uri}");
    }
    assert!(!completes(&alone, TEMPLATE).await);
    assert_eq!(other.take_received(), Vec::<String>::new());
    gateway.close().await;
}

#[tokio::test]
async fn denied_uri_of_one_upstream_is_not_read_from_another() {
    let scratch = Scratch::new("gateway");
    let one = TestUpstream::start(notes()).await;
    let other = TestUpstream::start(notes()).await;
    let rules = "[[rule]]\ndeny = { upstream = \"one\", tool = \"notes:*\" }\n";
    let text = table("one", &one, "") + &table("other", &other, "") + rules;
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    let denied = [NOTE, NOTE_BY, "one+notes:a", "one+notes:by/ann"];
    for uri in denied {
        assert!(!reads(&client, uri).await, "{uri}");
    }
    assert!(!completes(&client, TEMPLATE).await);
    let subscription = subscribe(&client, &denied, ("other+notes:a", &other)).await;
    assert_eq!(one.server.resource_updated(NOTE), 0);
    drop(subscription);
    assert_eq!(one.take_received(), Vec::<String>::new());
    other.take_received();
    assert!(reads(&client, "other+notes:a").await);
    assert!(reads(&client, "other+notes:by/ann").await);
    assert!(completes(&client, "other+notes:by/{name}").await);
    let read = ["resources/read notes:a", "resources/read notes:by/ann"];
    assert_eq!(other.take_received(), read);
    gateway.close().await;
}

#[tokio::test]
async fn template_with_the_text_of_a_resource_does_not_change_its_exposed_uri() {
    let scratch = Scratch::new("gateway");
    let read = async |_: RequestContext, uri: String, _: TemplateArguments| uri;
    let one = TestUpstream::start(notes()).await;
    let template = ResourceTemplateHandler::new(NOTE, "note", read);
    let other = TestUpstream::start(notes().resource_template(template)).await;
    let rules = "[[rule]]\ndeny = { tool = \"other+notes:a\" }\n";
    let text = table("one", &one, "") + &table("other", &other, "") + rules;
    let gateway = start(&scratch, &text).await;
    assert!(!reads(&client(&gateway).await, "other+notes:a").await);
    assert!(!reads(&client_of_upstream(&gateway, "other").await, NOTE).await);
    assert_eq!(other.take_received(), Vec::<String>::new());
    gateway.close().await;
}
