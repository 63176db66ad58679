//! The response cache of a client with a server of this crate.

use std::sync::Arc;
use std::time::Duration;

use toolwire::Change;
use toolwire::cache::MemoryCache;
use toolwire::types::SubscriptionFilter;
use toolwire::{CacheHint, CacheMode, Client, ProtocolVersion, ResourceHandler, Server};
use toolwire_tests::peer::{plain, server, within};

const HOUR: Duration = Duration::from_secs(3600);

fn add(server: &Server, name: &str) {
    let tool = plain(name, |_| async { "idle" });
    server.add_tool(tool).expect("a new name");
}

async fn names(client: &Client, mode: CacheMode) -> Vec<String> {
    let tools = within(client.list_tools().with_cache(mode).into_future()).await;
    tools
        .expect("a list")
        .into_iter()
        .map(|tool| tool.name)
        .collect()
}

#[tokio::test]
async fn cached_list_is_used_until_a_change_notification() {
    let server = server().with_list_cache(CacheHint::public(HOUR));
    add(&server, "a");
    let client = Client::in_process(&server).await.unwrap();
    assert_eq!(names(&client, CacheMode::Use).await, ["a"]);
    add(&server, "b");
    assert_eq!(names(&client, CacheMode::Use).await, ["a"]);
    assert_eq!(names(&client, CacheMode::Bypass).await, ["a", "b"]);
    assert_eq!(names(&client, CacheMode::Use).await, ["a"]);

    let filter = SubscriptionFilter::new().with_tools_list_changed();
    let mut changes = within(client.listen(filter)).await.unwrap();
    add(&server, "c");
    let change = within(changes.next()).await.unwrap();
    assert_eq!(change, Some(Change::ToolsListChanged));
    assert_eq!(names(&client, CacheMode::Use).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn resource_is_read_again_after_a_change_notification() {
    let hint = CacheHint::private(HOUR);
    let reads = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&reads);
    let resource = ResourceHandler::new("test://counter", "counter", move |_, _| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        async move { number.to_string() }
    });
    let server = server()
        .with_resource_subscriptions()
        .resource(resource.with_cache(hint));
    let client = Client::in_process(&server).await.unwrap();
    let read = async || {
        let call = client.read_resource("test://counter").into_future();
        within(call).await.unwrap();
        reads.load(std::sync::atomic::Ordering::Relaxed)
    };
    assert_eq!((read().await, read().await), (1, 1));
    let filter = SubscriptionFilter::new().with_resource("test://counter");
    let mut changes = within(client.listen(filter)).await.unwrap();
    server.resource_updated("test://counter");
    within(changes.next()).await.unwrap();
    assert_eq!((read().await, read().await), (2, 2));
}

#[tokio::test]
async fn legacy_versions_cache_nothing() {
    let server = server().with_list_cache(CacheHint::public(HOUR));
    add(&server, "a");
    let store = Arc::new(MemoryCache::new());
    for version in ProtocolVersion::ALL {
        let builder = Client::builder("test", "1").with_versions([version]);
        let client = builder.with_cache(store.clone()).in_process(&server).await;
        names(&client.unwrap(), CacheMode::Use).await;
        let modern = version == ProtocolVersion::LATEST;
        assert_eq!(store.is_empty(), !modern, "{version}");
    }
}
