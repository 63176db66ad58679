//! Subscriptions to changes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolwire::Change;
use toolwire::testing::{ReceivedMessage, ScriptedServer, client_with_version};
use toolwire::types::SubscriptionFilter;
use toolwire::{Client, Error, Server, Subscription};
use toolwire_tests::peer::plain;

use super::{LEGACY, MODERN, builder, legacy, modern};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn filter() -> SubscriptionFilter {
    SubscriptionFilter::new()
        .with_tools_list_changed()
        .with_resource("test://a")
}

fn listen(client: &Client, filter: SubscriptionFilter) -> JoinHandle<Result<Subscription, Error>> {
    let client = client.clone();
    tokio::spawn(async move { client.listen(filter).await })
}

async fn acknowledge(server: &ScriptedServer, request: &ReceivedMessage) {
    let params = json!({
        "notifications": request.params["notifications"],
        "_meta": {SUBSCRIPTION: request.id},
    });
    server
        .notify("notifications/subscriptions/acknowledged", params)
        .await;
}

async fn notify(server: &ScriptedServer, request: &ReceivedMessage, kind: &str, mut params: Value) {
    params["_meta"] = json!({SUBSCRIPTION: request.id});
    server
        .notify(&format!("notifications/{kind}"), params)
        .await;
}

async fn changed(subscription: &mut Subscription) -> Option<Change> {
    subscription.next().await.expect("an open connection")
}

fn updated(uri: &str) -> Change {
    Change::ResourceUpdated(uri.to_owned())
}

#[tokio::test(start_paused = true)]
async fn modern_subscription_gets_the_changes_of_its_request() {
    let (client, mut server) = modern().await;
    let first = listen(&client, filter());
    let request = server.expect("subscriptions/listen").await;
    let expected = json!({"toolsListChanged": true, "resourceSubscriptions": ["test://a"]});
    assert_eq!(request.params["notifications"], expected);
    assert!(
        request
            .meta("io.modelcontextprotocol/protocolVersion")
            .is_string()
    );
    server.expect_silence().await;
    assert!(!first.is_finished(), "not acknowledged yet");
    acknowledge(&server, &request).await;
    let mut first = first.await.expect("no panic").expect("acknowledged");
    assert_eq!(first.accepted_filter(), &filter());

    let second = listen(
        &client,
        SubscriptionFilter::new().with_prompts_list_changed(),
    );
    let other = server.expect("subscriptions/listen").await;
    acknowledge(&server, &other).await;
    let mut second = second.await.expect("no panic").expect("acknowledged");

    notify(&server, &other, "prompts/list_changed", json!({})).await;
    notify(&server, &request, "tools/list_changed", json!({})).await;
    notify(
        &server,
        &request,
        "resources/updated",
        json!({"uri": "test://a"}),
    )
    .await;
    assert_eq!(changed(&mut first).await, Some(Change::ToolsListChanged));
    assert_eq!(changed(&mut first).await, Some(updated("test://a")));
    assert_eq!(changed(&mut second).await, Some(Change::PromptsListChanged));

    // Dropping a subscription cancels only its own request.
    drop(first);
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], request.id);
    notify(&server, &other, "prompts/list_changed", json!({})).await;
    assert_eq!(changed(&mut second).await, Some(Change::PromptsListChanged));
    drop(second);
    server.expect_notification("notifications/cancelled").await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn repeated_changes_are_delivered_once_to_a_slow_subscriber() {
    let (client, mut server) = modern().await;
    let subscription = listen(&client, filter());
    let request = server.expect("subscriptions/listen").await;
    acknowledge(&server, &request).await;
    let mut subscription = subscription.await.expect("no panic").expect("acknowledged");
    for _ in 0..1000 {
        notify(&server, &request, "tools/list_changed", json!({})).await;
    }
    notify(
        &server,
        &request,
        "resources/updated",
        json!({"uri": "test://a"}),
    )
    .await;
    server.expect_silence().await;
    assert_eq!(
        changed(&mut subscription).await,
        Some(Change::ToolsListChanged)
    );
    assert_eq!(changed(&mut subscription).await, Some(updated("test://a")));
    let more = tokio::time::timeout(Duration::from_secs(1), subscription.next()).await;
    assert!(more.is_err(), "nothing else changed");
}

#[tokio::test(start_paused = true)]
async fn subscription_that_the_server_ends_is_renewed_and_reports_all_changes_once() {
    let (client, mut server) = modern().await;
    let subscription = listen(&client, filter());
    let request = server.expect("subscriptions/listen").await;
    acknowledge(&server, &request).await;
    let mut subscription = subscription.await.expect("no panic").expect("acknowledged");
    let result = json!({"resultType": "complete", "_meta": {SUBSCRIPTION: request.id}});
    server.respond(&request, result).await;
    let again = server.expect("subscriptions/listen").await;
    assert_ne!(again.id, request.id);
    assert_eq!(
        again.params["notifications"],
        request.params["notifications"]
    );
    acknowledge(&server, &again).await;
    // The client may have missed changes, so it reports all of them.
    let mut changes = vec![
        changed(&mut subscription).await,
        changed(&mut subscription).await,
    ];
    changes.sort();
    assert_eq!(
        changes,
        [Some(Change::ToolsListChanged), Some(updated("test://a"))]
    );
    notify(&server, &again, "tools/list_changed", json!({})).await;
    assert_eq!(
        changed(&mut subscription).await,
        Some(Change::ToolsListChanged)
    );
}

#[tokio::test(start_paused = true)]
async fn subscription_that_the_server_cancels_is_not_cancelled_by_the_client() {
    let (client, mut server) = modern().await;
    let subscription = listen(&client, filter());
    let request = server.expect("subscriptions/listen").await;
    acknowledge(&server, &request).await;
    let _listening = subscription.await.expect("no panic").expect("acknowledged");
    let params = json!({"requestId": request.id});
    server.notify("notifications/cancelled", params).await;
    server.expect_silence().await;
    let again = server.expect("subscriptions/listen").await;
    assert_ne!(again.id, request.id);
}

#[tokio::test(start_paused = true)]
async fn number_of_renewals_without_an_acknowledgement_is_limited() {
    let (client, mut server) = modern().await;
    let subscription = listen(&client, filter());
    let request = server.expect("subscriptions/listen").await;
    acknowledge(&server, &request).await;
    let mut subscription = subscription.await.expect("no panic").expect("acknowledged");
    server
        .respond(&request, json!({"resultType": "complete"}))
        .await;
    let script = async {
        let mut attempts = 0;
        loop {
            let again = server.receive().await;
            assert_eq!(again["method"], "subscriptions/listen");
            attempts += 1;
            assert!(attempts < 100, "no limit");
            server
                .send(json!({"jsonrpc": "2.0", "id": again["id"], "result": {}}))
                .await;
        }
    };
    let end = async {
        // Changes may be reported before the subscription ends.
        while let Ok(Some(_)) = subscription.next().await {}
    };
    tokio::select! {
        biased;
        () = end => {}
        () = script => {}
    }
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn rejected_subscription_returns_the_error_of_the_server() {
    let (client, mut server) = modern().await;
    let subscription = listen(&client, filter());
    let request = server.expect("subscriptions/listen").await;
    server
        .respond_error(&request, -32602, "too many", Value::Null)
        .await;
    let error = subscription
        .await
        .expect("no panic")
        .expect_err("a rejection");
    assert_eq!(error.rpc().map(|rpc| rpc.code), Some(-32602), "{error}");
    server.expect_silence().await;

    let subscription = listen(&client, filter());
    let request = server.expect("subscriptions/listen").await;
    let server = server.with_timeout(Duration::from_secs(600));
    let error = subscription
        .await
        .expect("no panic")
        .expect_err("a timeout");
    assert!(error.is_timeout(), "{error}");
    let mut server = server;
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], request.id);
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn subscription_ends_with_the_connection() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let filter = SubscriptionFilter::new().with_tools_list_changed();
        let subscription = listen(&client, filter);
        if version == MODERN {
            let request = server.expect("subscriptions/listen").await;
            acknowledge(&server, &request).await;
        }
        let mut subscription = subscription.await.expect("no panic").expect("acknowledged");
        server.disconnect();
        match subscription.next().await {
            Ok(change) => assert_eq!(change, None),
            Err(error) => assert!(error.is_closed(), "{error}"),
        }
        assert_eq!(client.pending_operations(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn legacy_subscription_filters_notifications_in_the_client() {
    let (client, mut server) = legacy().await;
    let subscription = listen(&client, filter());
    let subscribe = server.expect("resources/subscribe").await;
    assert_eq!(subscribe.params["uri"], "test://a");
    server.respond(&subscribe, json!({})).await;
    let mut subscription = subscription.await.expect("no panic").expect("subscribed");
    assert_eq!(subscription.accepted_filter(), &filter());
    server
        .notify("notifications/prompts/list_changed", json!({}))
        .await;
    server
        .notify(
            "notifications/resources/updated",
            json!({"uri": "test://b"}),
        )
        .await;
    server
        .notify("notifications/tools/list_changed", json!({}))
        .await;
    server
        .notify(
            "notifications/resources/updated",
            json!({"uri": "test://a"}),
        )
        .await;
    assert_eq!(
        changed(&mut subscription).await,
        Some(Change::ToolsListChanged)
    );
    assert_eq!(changed(&mut subscription).await, Some(updated("test://a")));
    drop(subscription);
    let unsubscribe = server.expect("resources/unsubscribe").await;
    assert_eq!(unsubscribe.params["uri"], "test://a");
    server.respond(&unsubscribe, json!({})).await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn legacy_resource_is_unsubscribed_with_its_last_subscription() {
    let (client, mut server) = legacy().await;
    let filter = SubscriptionFilter::new().with_resource("test://a");
    let first = listen(&client, filter.clone());
    let subscribe = server.expect("resources/subscribe").await;
    server.respond(&subscribe, json!({})).await;
    let first = first.await.expect("no panic").expect("subscribed");
    let second = listen(&client, filter);
    tokio::task::yield_now().await;
    // The client may subscribe twice, but must not unsubscribe while a subscription remains.
    let responding = async {
        loop {
            let request = server.receive().await;
            assert_eq!(request["method"], "resources/subscribe", "{request}");
            server
                .send(json!({"jsonrpc": "2.0", "id": request["id"], "result": {}}))
                .await;
        }
    };
    let mut second = tokio::select! {
        biased;
        second = second => second.expect("no panic").expect("subscribed"),
        () = responding => unreachable!("the server does not stop"),
    };
    drop(first);
    server.expect_silence().await;
    server
        .notify(
            "notifications/resources/updated",
            json!({"uri": "test://a"}),
        )
        .await;
    assert_eq!(changed(&mut second).await, Some(updated("test://a")));
    drop(second);
    server.expect("resources/unsubscribe").await;
}

#[tokio::test(start_paused = true)]
async fn legacy_resource_is_subscribed_again_if_the_first_request_fails() {
    let filter = SubscriptionFilter::new().with_resource("test://a");
    for is_dropped in [false, true] {
        let (client, mut server) = legacy().await;
        let first = listen(&client, filter.clone());
        let failing = server.expect("resources/subscribe").await;
        let second = listen(&client, filter.clone());
        server.expect_silence().await;
        assert!(!second.is_finished(), "not subscribed yet");
        if is_dropped {
            first.abort();
            assert!(first.await.is_err(), "the caller was dropped");
            server.expect_notification("notifications/cancelled").await;
        } else {
            server
                .respond_error(&failing, -32602, "not now", Value::Null)
                .await;
            first.await.expect("no panic").expect_err("a rejection");
        }
        let subscribe = server.expect("resources/subscribe").await;
        server.respond(&subscribe, json!({})).await;
        let mut second = second.await.expect("no panic").expect("subscribed");
        let params = json!({"uri": "test://a"});
        server
            .notify("notifications/resources/updated", params)
            .await;
        assert_eq!(changed(&mut second).await, Some(updated("test://a")));
        drop(second);
        server.expect("resources/unsubscribe").await;
    }
}

#[tokio::test(start_paused = true)]
async fn legacy_resource_is_subscribed_after_it_was_unsubscribed() {
    let (client, mut server) = legacy().await;
    let filter = SubscriptionFilter::new().with_resource("test://a");
    let first = listen(&client, filter.clone());
    let subscribe = server.expect("resources/subscribe").await;
    server.respond(&subscribe, json!({})).await;
    drop(first.await.expect("no panic").expect("subscribed"));
    let unsubscribe = server.expect("resources/unsubscribe").await;
    // Over HTTP, a request that is sent now could arrive first.
    let second = listen(&client, filter);
    server.expect_silence().await;
    server.respond(&unsubscribe, json!({})).await;
    let subscribe = server.expect("resources/subscribe").await;
    server.respond(&subscribe, json!({})).await;
    let second = second.await.expect("no panic").expect("subscribed");
    drop(second);
    server.expect("resources/unsubscribe").await;
}

#[tokio::test]
async fn changes_of_a_server_reach_the_subscription_in_both_eras() {
    for version in [MODERN, LEGACY] {
        let server = Server::new("demo", "1.0.0")
            .with_resource_subscriptions()
            .resource(toolwire::ResourceHandler::new(
                "test://a",
                "a",
                |_, _| async { "content" },
            ))
            .tool(plain("gone", |_| async { "" }));
        let client = client_with_version(&server, version).await;
        let mut subscription = client.listen(filter()).await.expect("acknowledged");
        server.resource_updated("test://b");
        server.remove_tool("gone");
        assert_eq!(
            changed(&mut subscription).await,
            Some(Change::ToolsListChanged)
        );
        server.resource_updated("test://a");
        assert_eq!(changed(&mut subscription).await, Some(updated("test://a")));
    }
}
