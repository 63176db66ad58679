//! Hearing of changes.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolwire::proto::subscriptions::Change;
use toolwire::testing::{ReceivedMessage, ScriptedServer, client_with_version};
use toolwire::types::SubscriptionFilter;
use toolwire::{Client, Error, Server, Subscription};

use super::{LEGACY, MODERN, builder, legacy, modern};
use crate::peer::plain;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn wish() -> SubscriptionFilter {
    SubscriptionFilter::new()
        .with_tools_list_changed()
        .with_resource("test://a")
}

fn listen(client: &Client, wish: SubscriptionFilter) -> JoinHandle<Result<Subscription, Error>> {
    let client = client.clone();
    tokio::spawn(async move { client.listen(wish).await })
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

async fn tell(server: &ScriptedServer, request: &ReceivedMessage, kind: &str, mut params: Value) {
    params["_meta"] = json!({SUBSCRIPTION: request.id});
    server
        .notify(&format!("notifications/{kind}"), params)
        .await;
}

async fn changed(listening: &mut Subscription) -> Option<Change> {
    listening.next().await.expect("the connection holds")
}

fn updated(uri: &str) -> Change {
    Change::ResourceUpdated(uri.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_modern_listener_hears_what_belongs_to_its_request() {
    let (client, mut server) = modern().await;
    let first = listen(&client, wish());
    let request = server.expect("subscriptions/listen").await;
    let asked = json!({"toolsListChanged": true, "resourceSubscriptions": ["test://a"]});
    assert_eq!(request.params["notifications"], asked);
    assert!(
        request
            .meta("io.modelcontextprotocol/protocolVersion")
            .is_string()
    );
    server.expect_silence().await;
    assert!(!first.is_finished(), "nobody has acknowledged yet");
    acknowledge(&server, &request).await;
    let mut first = first.await.expect("no panic").expect("acknowledged");
    assert_eq!(first.accepted_filter(), &wish());

    let second = listen(
        &client,
        SubscriptionFilter::new().with_prompts_list_changed(),
    );
    let other = server.expect("subscriptions/listen").await;
    acknowledge(&server, &other).await;
    let mut second = second.await.expect("no panic").expect("acknowledged");

    tell(&server, &other, "prompts/list_changed", json!({})).await;
    tell(&server, &request, "tools/list_changed", json!({})).await;
    tell(
        &server,
        &request,
        "resources/updated",
        json!({"uri": "test://a"}),
    )
    .await;
    assert_eq!(changed(&mut first).await, Some(Change::ToolsListChanged));
    assert_eq!(changed(&mut first).await, Some(updated("test://a")));
    assert_eq!(changed(&mut second).await, Some(Change::PromptsListChanged));

    // Whoever stops listening takes the request back, and only that one.
    drop(first);
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], request.id);
    tell(&server, &other, "prompts/list_changed", json!({})).await;
    assert_eq!(changed(&mut second).await, Some(Change::PromptsListChanged));
    drop(second);
    server.expect_notification("notifications/cancelled").await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_same_change_again_is_told_once_to_whoever_does_not_look() {
    let (client, mut server) = modern().await;
    let listening = listen(&client, wish());
    let request = server.expect("subscriptions/listen").await;
    acknowledge(&server, &request).await;
    let mut listening = listening.await.expect("no panic").expect("acknowledged");
    for _ in 0..1000 {
        tell(&server, &request, "tools/list_changed", json!({})).await;
    }
    tell(
        &server,
        &request,
        "resources/updated",
        json!({"uri": "test://a"}),
    )
    .await;
    server.expect_silence().await;
    assert_eq!(
        changed(&mut listening).await,
        Some(Change::ToolsListChanged)
    );
    assert_eq!(changed(&mut listening).await, Some(updated("test://a")));
    let more = tokio::time::timeout(Duration::from_secs(1), listening.next()).await;
    assert!(more.is_err(), "nothing else changed");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_the_server_ends_is_made_again_and_everything_is_told_once() {
    let (client, mut server) = modern().await;
    let listening = listen(&client, wish());
    let request = server.expect("subscriptions/listen").await;
    acknowledge(&server, &request).await;
    let mut listening = listening.await.expect("no panic").expect("acknowledged");
    let goodbye = json!({"resultType": "complete", "_meta": {SUBSCRIPTION: request.id}});
    server.respond(&request, goodbye).await;
    let again = server.expect("subscriptions/listen").await;
    assert_ne!(again.id, request.id);
    assert_eq!(
        again.params["notifications"],
        request.params["notifications"]
    );
    acknowledge(&server, &again).await;
    // Nobody knows what was missed meanwhile.
    let mut told = vec![changed(&mut listening).await, changed(&mut listening).await];
    told.sort();
    assert_eq!(
        told,
        [Some(Change::ToolsListChanged), Some(updated("test://a"))]
    );
    tell(&server, &again, "tools/list_changed", json!({})).await;
    assert_eq!(
        changed(&mut listening).await,
        Some(Change::ToolsListChanged)
    );
}

#[tokio::test(start_paused = true)]
async fn a_subscription_the_server_takes_back_is_not_cancelled_by_the_client() {
    let (client, mut server) = modern().await;
    let listening = listen(&client, wish());
    let request = server.expect("subscriptions/listen").await;
    acknowledge(&server, &request).await;
    let _listening = listening.await.expect("no panic").expect("acknowledged");
    let params = json!({"requestId": request.id});
    server.notify("notifications/cancelled", params).await;
    server.expect_silence().await;
    let again = server.expect("subscriptions/listen").await;
    assert_ne!(again.id, request.id);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_says_goodbye_is_not_asked_for_ever() {
    let (client, mut server) = modern().await;
    let listening = listen(&client, wish());
    let request = server.expect("subscriptions/listen").await;
    acknowledge(&server, &request).await;
    let mut listening = listening.await.expect("no panic").expect("acknowledged");
    server
        .respond(&request, json!({"resultType": "complete"}))
        .await;
    let script = async {
        let mut asked = 0;
        loop {
            let again = server.receive().await;
            assert_eq!(again["method"], "subscriptions/listen");
            asked += 1;
            assert!(asked < 100, "it is asked for ever");
            server
                .send(json!({"jsonrpc": "2.0", "id": again["id"], "result": {}}))
                .await;
        }
    };
    let end = async {
        // What was asked for may be told, but then comes the end.
        while let Ok(Some(_)) = listening.next().await {}
    };
    tokio::select! {
        biased;
        () = end => {}
        () = script => {}
    }
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_to_be_listened_to_says_why() {
    let (client, mut server) = modern().await;
    let listening = listen(&client, wish());
    let request = server.expect("subscriptions/listen").await;
    server
        .respond_error(&request, -32602, "too many", Value::Null)
        .await;
    let error = listening.await.expect("no panic").expect_err("refused");
    assert_eq!(error.rpc().map(|rpc| rpc.code), Some(-32602), "{error}");
    server.expect_silence().await;

    let listening = listen(&client, wish());
    let request = server.expect("subscriptions/listen").await;
    let server = server.with_timeout(Duration::from_secs(600));
    let error = listening.await.expect("no panic").expect_err("silence");
    assert!(error.is_timeout(), "{error}");
    let mut server = server;
    let cancelled = server.expect_notification("notifications/cancelled").await;
    assert_eq!(cancelled.params["requestId"], request.id);
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_listener_hears_that_the_connection_is_lost() {
    for version in [MODERN, LEGACY] {
        let (client, mut server) = ScriptedServer::connect(builder(), version).await;
        let wish = SubscriptionFilter::new().with_tools_list_changed();
        let listening = listen(&client, wish);
        if version == MODERN {
            let request = server.expect("subscriptions/listen").await;
            acknowledge(&server, &request).await;
        }
        let mut listening = listening.await.expect("no panic").expect("acknowledged");
        server.disconnect();
        match listening.next().await {
            Ok(change) => assert_eq!(change, None),
            Err(error) => assert!(error.is_closed(), "{error}"),
        }
        assert_eq!(client.pending_operations(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_listener_subscribes_and_filters() {
    let (client, mut server) = legacy().await;
    let listening = listen(&client, wish());
    let subscribe = server.expect("resources/subscribe").await;
    assert_eq!(subscribe.params["uri"], "test://a");
    server.respond(&subscribe, json!({})).await;
    let mut listening = listening.await.expect("no panic").expect("subscribed");
    assert_eq!(listening.accepted_filter(), &wish());
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
        changed(&mut listening).await,
        Some(Change::ToolsListChanged)
    );
    assert_eq!(changed(&mut listening).await, Some(updated("test://a")));
    drop(listening);
    let unsubscribe = server.expect("resources/unsubscribe").await;
    assert_eq!(unsubscribe.params["uri"], "test://a");
    server.respond(&unsubscribe, json!({})).await;
    server.expect_silence().await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_legacy_listeners_to_one_resource_share_its_subscription() {
    let (client, mut server) = legacy().await;
    let wish = SubscriptionFilter::new().with_resource("test://a");
    let first = listen(&client, wish.clone());
    let subscribe = server.expect("resources/subscribe").await;
    server.respond(&subscribe, json!({})).await;
    let first = first.await.expect("no panic").expect("subscribed");
    let second = listen(&client, wish);
    tokio::task::yield_now().await;
    // Subscribing twice is harmless; unsubscribing while somebody listens is not.
    let answering = async {
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
        () = answering => unreachable!("it answers for ever"),
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

#[tokio::test]
async fn changes_of_a_real_server_are_heard_in_both_eras() {
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
        let mut listening = client.listen(wish()).await.expect("acknowledged");
        server.resource_updated("test://b");
        server.remove_tool("gone");
        assert_eq!(
            changed(&mut listening).await,
            Some(Change::ToolsListChanged)
        );
        server.resource_updated("test://a");
        assert_eq!(changed(&mut listening).await, Some(updated("test://a")));
    }
}
