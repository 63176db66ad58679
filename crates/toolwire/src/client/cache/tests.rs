//! Which requests are sent again, and which results come from the cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire_types::ErrorObject;

use crate::client::cache::{
    CacheEntry, CacheError, CacheFilter, CacheFuture, CacheKey, CacheMode, CacheStore, MemoryCache,
};
use crate::client::fake_transport::{FakeServer, SentRequest};
use crate::client::{Client, ClientBuilder};

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// Returns a result that fits all cacheable methods, with hints and with a number that identifies it.
fn numbered(number: usize, hints: &Value) -> Value {
    let mut result = json!({
        "resultType": "complete",
        "tools": [], "prompts": [], "resources": [], "resourceTemplates": [], "contents": [],
        "number": number,
    });
    for (name, hint) in hints.as_object().into_iter().flatten() {
        result[name] = hint.clone();
    }
    result
}

/// Returns a server that numbers its results and gives them all the same hints.
fn server_with_hints(name: &str, hints: Value) -> FakeServer {
    let count = AtomicUsize::new(0);
    FakeServer::new(name, move |_, _| {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(numbered(number, &hints))
    })
}

fn for_an_hour() -> Value {
    json!({"ttlMs": 3_600_000})
}

/// Returns the number of the result of a request.
async fn result_number(client: &Client, method: &str, params: Value, mode: CacheMode) -> i64 {
    let result = client
        .request(method, params)
        .with_cache(mode)
        .await
        .unwrap();
    result.to_value().unwrap()["number"].as_i64().unwrap()
}

async fn tools(client: &Client) -> i64 {
    result_number(client, "tools/list", json!({}), CacheMode::Use).await
}

async fn read(client: &Client, uri: &str) -> i64 {
    result_number(
        client,
        "resources/read",
        json!({ "uri": uri }),
        CacheMode::Use,
    )
    .await
}

#[tokio::test]
async fn exactly_six_methods_are_cached() {
    let server = server_with_hints("s", for_an_hour());
    let client = server.connect(ClientBuilder::default()).await;
    let params =
        json!({"uri": "test://a", "name": "a", "ref": {"type": "ref/prompt", "name": "a"}});
    for method in [
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "tools/call",
        "prompts/get",
        "completion/complete",
        "acme/list",
    ] {
        for _ in 0..2 {
            client.request(method, &params).await.unwrap();
        }
        let is_cached = toolwire_proto::cache::is_cacheable_method(method);
        assert_eq!(
            server.take_methods().len(),
            if is_cached { 1 } else { 2 },
            "{method}"
        );
    }
}

#[tokio::test]
async fn results_without_a_positive_ttl_are_not_cached() {
    for hints in [
        json!({}),
        json!({"cacheScope": "public"}),
        json!({"ttlMs": 0}),
        json!({"ttlMs": -1}),
        json!({"ttlMs": "3600000"}),
    ] {
        let server = server_with_hints("s", hints.clone());
        let client = server.connect(ClientBuilder::default()).await;
        assert_eq!(
            (tools(&client).await, tools(&client).await),
            (1, 2),
            "{hints}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn every_page_has_its_own_ttl() {
    let server = server_with_hints("s", for_an_hour());
    let client = server.connect(ClientBuilder::default()).await;
    let second = || {
        result_number(
            &client,
            "tools/list",
            json!({"cursor": "2"}),
            CacheMode::Use,
        )
    };
    assert_eq!(tools(&client).await, 1);
    tokio::time::advance(HOUR / 2).await;
    assert_eq!(second().await, 2);
    tokio::time::advance(HOUR / 2 - MINUTE).await;
    assert_eq!((tools(&client).await, second().await), (1, 2));
    tokio::time::advance(2 * MINUTE).await;
    assert_eq!((tools(&client).await, second().await), (3, 2));
    tokio::time::advance(HOUR / 2).await;
    assert_eq!((tools(&client).await, second().await), (3, 4));
}

#[tokio::test]
async fn cache_mode_decides_what_is_read_and_what_is_stored() {
    let server = server_with_hints("s", for_an_hour());
    let client = server.connect(ClientBuilder::default()).await;
    let ask = |mode| result_number(&client, "prompts/list", json!({}), mode);
    assert_eq!(ask(CacheMode::Bypass).await, 1);
    assert_eq!(ask(CacheMode::Use).await, 2);
    assert_eq!(ask(CacheMode::Bypass).await, 3);
    assert_eq!(ask(CacheMode::Use).await, 2);
    assert_eq!(ask(CacheMode::Refresh).await, 4);
    assert_eq!(ask(CacheMode::Use).await, 4);
}

#[tokio::test]
async fn refreshed_result_replaces_the_cached_one_with_any_hints() {
    // The second result has other hints than the first. The first must not be returned again in any case.
    for (hints, expected) in [
        (json!({}), 3),
        (json!({"ttlMs": 3_600_000, "cacheScope": "public"}), 2),
        (json!({"ttlMs": 3_600_000, "cacheScope": "private"}), 2),
    ] {
        for first in ["public", "private"] {
            let count = AtomicUsize::new(0);
            let later = hints.clone();
            let server = FakeServer::new("s", move |_, _| {
                Ok(match count.fetch_add(1, Ordering::Relaxed) + 1 {
                    1 => numbered(1, &json!({"ttlMs": 3_600_000, "cacheScope": first})),
                    number => numbered(number, &later),
                })
            });
            let client = server.connect(ClientBuilder::default()).await;
            let ask = |mode| result_number(&client, "tools/list", json!({}), mode);
            assert_eq!(
                (ask(CacheMode::Use).await, ask(CacheMode::Use).await),
                (1, 1)
            );
            assert_eq!(ask(CacheMode::Refresh).await, 2);
            assert_eq!(ask(CacheMode::Use).await, expected, "{first}, then {hints}");
        }
    }
}

/// Returns the result of the second of two clients that share a store.
async fn second_of_two(hints: Value, servers: [&str; 2], partitions: [Option<&str>; 2]) -> i64 {
    let store = Arc::new(MemoryCache::new());
    let mut numbers = Vec::new();
    for (number, (name, partition)) in servers.into_iter().zip(partitions).enumerate() {
        let hints = hints.clone();
        let server = FakeServer::new(name, move |_, _| Ok(numbered(number + 1, &hints)));
        let mut builder = ClientBuilder::default().with_cache(store.clone());
        if let Some(partition) = partition {
            builder = builder.with_cache_partition(partition);
        }
        numbers.push(tools(&server.connect(builder).await).await);
    }
    assert_eq!(numbers[0], 1);
    numbers[1]
}

#[tokio::test]
async fn clients_share_only_public_results() {
    let public = || json!({"ttlMs": 3_600_000, "cacheScope": "public"});
    let private = || json!({"ttlMs": 3_600_000, "cacheScope": "private"});
    let alone = [None, None];
    assert_eq!(second_of_two(public(), ["s", "s"], alone).await, 1);
    assert_eq!(
        second_of_two(public(), ["s", "s"], [Some("me"), Some("you")]).await,
        1
    );
    assert_eq!(second_of_two(public(), ["s", "t"], alone).await, 2);
    assert_eq!(second_of_two(public(), ["", ""], alone).await, 2);
    assert_eq!(second_of_two(private(), ["s", "s"], alone).await, 2);
    assert_eq!(second_of_two(for_an_hour(), ["s", "s"], alone).await, 2);
    assert_eq!(
        second_of_two(private(), ["s", "s"], [Some("me"), Some("you")]).await,
        2
    );
    assert_eq!(
        second_of_two(private(), ["s", "s"], [Some("me"), None]).await,
        2
    );
    assert_eq!(
        second_of_two(private(), ["s", "s"], [Some("me"), Some("me")]).await,
        1
    );
}

#[tokio::test]
async fn clients_of_one_builder_have_different_partitions() {
    let store = Arc::new(MemoryCache::new());
    let server = server_with_hints("s", for_an_hour());
    let builder = ClientBuilder::default().with_cache(store.clone());
    let one = server.connect(builder.clone()).await;
    let other = server.connect(builder).await;
    assert_eq!((tools(&one).await, tools(&other).await), (1, 2));
    assert_eq!((tools(&one).await, tools(&other).await), (1, 2));
    assert_eq!(store.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn results_of_requests_with_input_responses_are_not_cached() {
    let server = FakeServer::new("s", |_, sent: &SentRequest| {
        Ok(match sent.params.get("requestState") {
            Some(_) => numbered(1, &for_an_hour()),
            None => json!({
                "resultType": "input_required", "requestState": "x", "ttlMs": 3_600_000,
            }),
        })
    });
    let client = server.connect(ClientBuilder::default()).await;
    for _ in 0..2 {
        assert_eq!(read(&client, "test://a").await, 1);
        assert_eq!(server.take_methods(), ["resources/read", "resources/read"]);
        let retry = json!({"uri": "test://a", "requestState": "mine"});
        result_number(&client, "resources/read", retry, CacheMode::Use).await;
        assert_eq!(server.take_methods(), ["resources/read"]);
        let raw = client.request("resources/read", json!({"uri": "test://a"}));
        raw.without_input_handling().await.unwrap();
        assert_eq!(server.take_methods(), ["resources/read"]);
    }
}

#[tokio::test]
async fn change_invalidates_the_results_it_concerns_at_once() {
    let server = server_with_hints("s", for_an_hour());
    let client = server.connect(ClientBuilder::default()).await;
    let lists = [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ];
    let requests_sent = async || {
        for method in lists {
            result_number(&client, method, json!({}), CacheMode::Use).await;
        }
        read(&client, "test://a").await;
        read(&client, "test://b").await;
        server.take_methods()
    };
    assert_eq!(requests_sent().await.len(), 6);
    assert_eq!(requests_sent().await.len(), 0);
    server.notify("notifications/tools/list_changed", json!({}));
    assert_eq!(requests_sent().await, ["tools/list"]);
    server.notify("notifications/prompts/list_changed", json!({}));
    assert_eq!(requests_sent().await, ["prompts/list"]);
    server.notify("notifications/resources/list_changed", json!({}));
    assert_eq!(
        requests_sent().await,
        ["resources/list", "resources/templates/list"]
    );
    server.notify(
        "notifications/resources/updated",
        json!({"uri": "test://b"}),
    );
    assert_eq!(requests_sent().await, ["resources/read"]);
    assert_eq!(requests_sent().await.len(), 0);
}

#[tokio::test]
async fn result_in_flight_during_a_change_is_not_cached() {
    let check = async |change: &'static str, params: Value, is_cached: bool| {
        let count = AtomicUsize::new(0);
        let server = FakeServer::new("s", move |server, _| {
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            if number == 1 {
                server.notify(change, params.clone());
            }
            Ok(numbered(number, &for_an_hour()))
        });
        let client = server.connect(ClientBuilder::default()).await;
        assert_eq!(read(&client, "test://a").await, 1);
        assert_eq!(
            read(&client, "test://a").await,
            if is_cached { 1 } else { 2 },
            "{change}"
        );
        // The result of a request that was sent after the change may be cached.
        assert_eq!(
            read(&client, "test://a").await,
            if is_cached { 1 } else { 2 },
            "{change}"
        );
    };
    let updated = "notifications/resources/updated";
    check(updated, json!({"uri": "test://a"}), false).await;
    check(updated, json!({"uri": "test://b"}), true).await;
    check("notifications/resources/list_changed", json!({}), true).await;
}

#[tokio::test]
async fn rejected_cursor_removes_every_page_of_its_list() {
    let server = FakeServer::new("s", |_, sent| match sent.params["cursor"].as_str() {
        Some("gone") => Err(ErrorObject::invalid_params("no such cursor")),
        _ => Ok(numbered(1, &for_an_hour())),
    });
    let client = server.connect(ClientBuilder::default()).await;
    let pages = async || {
        tools(&client).await;
        result_number(
            &client,
            "tools/list",
            json!({"cursor": "2"}),
            CacheMode::Use,
        )
        .await;
        result_number(&client, "prompts/list", json!({}), CacheMode::Use).await;
        server.take_methods()
    };
    assert_eq!(pages().await.len(), 3);
    assert_eq!(pages().await.len(), 0);
    let gone = client.request("tools/list", json!({"cursor": "gone"}));
    assert_eq!(gone.await.unwrap_err().rpc().unwrap().code, -32602);
    assert!(!client.shared.cache.changes().has_open());
    server.take_sent();
    assert_eq!(pages().await, ["tools/list", "tools/list"]);
}

#[tokio::test(start_paused = true)]
async fn list_whose_cached_cursor_is_rejected_is_read_again_from_the_start() {
    // The first page is cached, the second is not. Later the server rejects the cursor of the first page.
    let generation = Arc::new(AtomicI64::new(1));
    let current = Arc::clone(&generation);
    let server = FakeServer::new("s", move |_, sent| {
        let generation = current.load(Ordering::Relaxed);
        let tool = |name: String| json!([{"name": name, "inputSchema": {"type": "object"}}]);
        match sent.params["cursor"].as_str() {
            None => Ok(json!({
                "tools": tool(format!("a{generation}")),
                "nextCursor": generation.to_string(),
                "ttlMs": 3_600_000,
            })),
            Some(cursor) if cursor == generation.to_string() => {
                Ok(json!({"tools": tool(format!("b{generation}"))}))
            }
            Some(_) => Err(ErrorObject::invalid_params("no such cursor")),
        }
    });
    let client = server.connect(ClientBuilder::default()).await;
    let names = async || {
        let tools = client.list_tools().await.unwrap();
        tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["a1", "b1"]);
    generation.store(2, Ordering::Relaxed);
    server.take_sent();
    assert_eq!(names().await, ["a2", "b2"]);
    assert_eq!(
        server.take_sent().len(),
        3,
        "the old cursor, and two fresh pages"
    );

    // A server that accepts no cursor at all is read twice, not endlessly.
    let broken = FakeServer::new("s", |_, sent| match sent.params.get("cursor") {
        None => Ok(json!({"tools": [], "nextCursor": "2"})),
        Some(_) => Err(ErrorObject::invalid_params("no such cursor")),
    });
    let client = broken.connect(ClientBuilder::default()).await;
    assert_eq!(
        client.list_tools().await.unwrap_err().rpc().unwrap().code,
        -32602
    );
    assert_eq!(broken.take_sent().len(), 4);
}

#[tokio::test]
async fn cleared_cache_is_empty() {
    let server = server_with_hints("s", json!({"ttlMs": 3_600_000, "cacheScope": "public"}));
    let store = Arc::new(MemoryCache::new());
    let client = server
        .connect(ClientBuilder::default().with_cache(store.clone()))
        .await;
    assert_eq!((tools(&client).await, tools(&client).await), (1, 1));
    client.clear_cache().await;
    assert!(store.is_empty());
    assert_eq!(tools(&client).await, 2);
}

#[tokio::test]
async fn client_without_a_cache_stores_nothing() {
    let server = server_with_hints("s", for_an_hour());
    let client = server
        .connect(ClientBuilder::default().without_cache())
        .await;
    assert_eq!((tools(&client).await, tools(&client).await), (1, 2));
    client.clear_cache().await;
}

/// A store that fails on demand.
#[derive(Debug, Default)]
struct FailingStore {
    memory: MemoryCache,
    fails: AtomicBool,
    fails_to_remove: AtomicBool,
    hangs: AtomicBool,
}

impl FailingStore {
    /// Returns the failure to inject, if one is set.
    fn failure<'a, T: Send + 'a>(&self, is_removal: bool) -> Option<CacheFuture<'a, T>> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if is_set(&self.hangs) {
            Some(Box::pin(std::future::pending()))
        } else if is_set(&self.fails) || is_removal && is_set(&self.fails_to_remove) {
            Some(Box::pin(async { Err(CacheError::new("disk full")) }))
        } else {
            None
        }
    }
}

impl CacheStore for FailingStore {
    fn get<'a>(&'a self, key: &'a CacheKey) -> CacheFuture<'a, Option<CacheEntry>> {
        self.failure(false).unwrap_or_else(|| self.memory.get(key))
    }

    fn put(&self, key: CacheKey, entry: CacheEntry) -> CacheFuture<'_, ()> {
        self.failure(false)
            .unwrap_or_else(|| self.memory.put(key, entry))
    }

    fn remove<'a>(&'a self, filter: &'a CacheFilter) -> CacheFuture<'a, ()> {
        self.failure(true)
            .unwrap_or_else(|| self.memory.remove(filter))
    }
}

#[tokio::test(start_paused = true)]
async fn failing_store_never_fails_a_call() {
    let server = server_with_hints("s", for_an_hour());
    let store = Arc::new(FailingStore::default());
    let client = server
        .connect(ClientBuilder::default().with_cache(store.clone()))
        .await;
    store.fails.store(true, Ordering::Relaxed);
    assert_eq!((tools(&client).await, tools(&client).await), (1, 2));
    client.clear_cache().await;
    store.fails.store(false, Ordering::Relaxed);
    store.hangs.store(true, Ordering::Relaxed);
    assert_eq!((tools(&client).await, tools(&client).await), (3, 4));
    let refresh = result_number(&client, "tools/list", json!({}), CacheMode::Refresh).await;
    assert_eq!(refresh, 5);
}

#[tokio::test]
async fn entries_that_a_store_cannot_remove_are_not_used() {
    let server = server_with_hints("s", for_an_hour());
    let store = Arc::new(FailingStore::default());
    let client = server
        .connect(ClientBuilder::default().with_cache(store.clone()))
        .await;
    assert_eq!(
        (tools(&client).await, read(&client, "test://a").await),
        (1, 2)
    );
    store.fails_to_remove.store(true, Ordering::Relaxed);
    server.notify("notifications/tools/list_changed", json!({}));
    assert_eq!(tools(&client).await, 3, "an outdated result was used");
    assert_eq!(
        read(&client, "test://a").await,
        2,
        "the change does not concern this resource"
    );
    store.fails_to_remove.store(false, Ordering::Relaxed);
    assert_eq!((tools(&client).await, tools(&client).await), (4, 4));
}
