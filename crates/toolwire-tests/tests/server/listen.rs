//! `subscriptions/listen`.

use serde_json::{Value, json};
use toolwire::{PromptHandler, ResourceHandler, Server};
use toolwire_tests::peer::{Peer, cancel, modern, notification, plain, result_response, server};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn rich() -> Server {
    server()
        .with_resource_subscriptions()
        .tool(plain("idle", |_| async { "idle" }))
        .prompt(PromptHandler::new("p", |_, _| async { "hi" }))
        .resource(ResourceHandler::new("notes://a", "a", |_, _| async { "a" }))
}

fn listen(id: impl Into<Value>, filter: Value) -> Value {
    modern(id, "subscriptions/listen", json!({"notifications": filter}))
}

fn acknowledged(id: impl Into<Value>, accepted: Value) -> Value {
    let meta = json!({SUBSCRIPTION: id.into()});
    notification(
        "notifications/subscriptions/acknowledged",
        json!({"notifications": accepted, "_meta": meta}),
    )
}

fn changed(id: impl Into<Value>, list: &str) -> Value {
    let meta = json!({SUBSCRIPTION: id.into()});
    notification(
        &format!("notifications/{list}/list_changed"),
        json!({"_meta": meta}),
    )
}

fn updated(id: impl Into<Value>, uri: &str) -> Value {
    let meta = json!({SUBSCRIPTION: id.into()});
    notification(
        "notifications/resources/updated",
        json!({"uri": uri, "_meta": meta}),
    )
}

#[tokio::test]
async fn acknowledgement_is_first_and_lists_the_accepted_filter() {
    let check = async |server: Server, requested: Value, accepted: Value| {
        let mut peer = Peer::connect(&server);
        peer.send(listen("s", requested)).await;
        peer.expect(acknowledged("s", accepted)).await;
        peer.expect_silence().await;
    };
    let everything = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": ["notes://a", "notes://a", "notes://later"],
        "taskIds": ["t"],
        "unknownMember": true,
    });
    check(
        rich(),
        everything.clone(),
        json!({
            "toolsListChanged": true,
            "promptsListChanged": true,
            "resourcesListChanged": true,
            "resourceSubscriptions": ["notes://a", "notes://later"],
        }),
    )
    .await;
    check(server(), everything.clone(), json!({})).await;
    let tools_only = server().tool(plain("idle", |_| async { "idle" }));
    check(tools_only, everything, json!({"toolsListChanged": true})).await;
    check(rich(), json!({}), json!({})).await;
    check(rich(), json!({"toolsListChanged": false}), json!({})).await;
}

#[tokio::test]
async fn changes_reach_only_matching_subscriptions() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    peer.send(listen(1, json!({"toolsListChanged": true})))
        .await;
    peer.receive().await;
    assert_eq!(server.tools_changed(), 1);
    assert_eq!(server.prompts_changed(), 0);
    assert_eq!(server.resources_changed(), 0);
    assert_eq!(server.resource_updated("notes://a"), 0);
    peer.expect(changed(1, "tools")).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn adding_and_removing_sends_list_changes() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    let everything =
        json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    peer.send(listen(1, everything)).await;
    peer.receive().await;

    server
        .add_tool(plain("late", |_| async { "late" }))
        .expect("the name is free");
    peer.expect(changed(1, "tools")).await;
    assert!(server.remove_tool("late"));
    peer.expect(changed(1, "tools")).await;
    assert!(!server.remove_tool("late"));

    server
        .add_prompt(PromptHandler::new("late", |_, _| async { "hi" }))
        .expect("the name is free");
    peer.expect(changed(1, "prompts")).await;
    assert!(server.remove_prompt("late"));
    peer.expect(changed(1, "prompts")).await;

    server
        .add_resource(ResourceHandler::new("x:y", "y", |_, _| async { "y" }))
        .expect("the URI is free");
    peer.expect(changed(1, "resources")).await;
    assert!(server.remove_resource("x:y"));
    peer.expect(changed(1, "resources")).await;

    let template = toolwire::ResourceTemplateHandler::new("x://{id}", "x", |_, _, _| async { "x" });
    server
        .add_resource_template(template)
        .expect("the template is free");
    peer.expect(changed(1, "resources")).await;
    assert!(server.remove_resource_template("x://{id}"));
    peer.expect(changed(1, "resources")).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn updates_are_sent_for_the_resource_and_its_descendants() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    peer.send(listen(1, json!({"resourceSubscriptions": ["notes://a"]})))
        .await;
    peer.receive().await;
    for (uri, is_matching) in [
        ("notes://a", true),
        ("notes://a/part", true),
        ("notes://ab", false),
        ("notes://b", false),
        ("notes://", false),
    ] {
        assert_eq!(
            server.resource_updated(uri),
            usize::from(is_matching),
            "{uri}"
        );
        if is_matching {
            peer.expect(updated(1, uri)).await;
        }
    }
    peer.expect_silence().await;
}

#[tokio::test]
async fn concurrent_subscriptions_are_identified_by_id_and_type() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    peer.send(listen(1, json!({"toolsListChanged": true})))
        .await;
    peer.expect(acknowledged(1, json!({"toolsListChanged": true})))
        .await;
    peer.send(listen("1", json!({"toolsListChanged": true})))
        .await;
    peer.expect(acknowledged("1", json!({"toolsListChanged": true})))
        .await;
    peer.send(listen(2, json!({"promptsListChanged": true})))
        .await;
    peer.expect(acknowledged(2, json!({"promptsListChanged": true})))
        .await;

    // Both subscriptions get the change, although the client did not read in between.
    assert_eq!(server.tools_changed(), 2);
    peer.expect(changed(1, "tools")).await;
    peer.expect(changed("1", "tools")).await;
    assert_eq!(server.prompts_changed(), 1);
    peer.expect(changed(2, "prompts")).await;

    peer.send(cancel("1")).await;
    peer.expect_silence().await;
    assert_eq!(server.tools_changed(), 1);
    peer.expect(changed(1, "tools")).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn each_connection_has_its_own_subscriptions() {
    let server = rich();
    let mut first = Peer::connect(&server);
    let mut second = Peer::connect(&server);
    for peer in [&mut first, &mut second] {
        peer.send(listen(1, json!({"toolsListChanged": true})))
            .await;
        peer.receive().await;
    }
    first.send(cancel(1)).await;
    first.expect_silence().await;
    assert_eq!(server.tools_changed(), 1);
    second.expect(changed(1, "tools")).await;
    first.expect_silence().await;
}

#[tokio::test]
async fn unread_changes_are_sent_once() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["notes://a"]});
    peer.send(listen(1, filter)).await;
    peer.receive().await;
    for _ in 0..1000 {
        server.tools_changed();
        server.resource_updated("notes://a");
    }
    peer.expect(changed(1, "tools")).await;
    peer.expect(updated(1, "notes://a")).await;
    peer.expect_silence().await;
    server.tools_changed();
    peer.expect(changed(1, "tools")).await;
}

#[tokio::test]
async fn filter_with_more_than_1024_uris_is_rejected() {
    let mut peer = Peer::connect(&rich());
    let filter = |count: usize| {
        let uris: Vec<_> = (0..count).map(|n| format!("notes://{n}")).collect();
        json!({"resourceSubscriptions": uris})
    };
    peer.error_of(listen(1, filter(1025)), -32602).await;
    peer.send(listen(1, filter(1024))).await;
    peer.expect(acknowledged(1, filter(1024))).await;
}

#[tokio::test]
async fn invalid_filters_are_rejected() {
    let mut peer = Peer::connect(&rich());
    for params in [
        json!({}),
        json!({"notifications": null}),
        json!({"notifications": []}),
        json!({"notifications": {"toolsListChanged": "yes"}}),
        json!({"notifications": {"resourceSubscriptions": "notes://a"}}),
        json!({"notifications": {"resourceSubscriptions": [1]}}),
    ] {
        let request = modern(1, "subscriptions/listen", params);
        peer.error_of(request, -32602).await;
    }
}

#[tokio::test]
async fn id_of_an_open_subscription_cannot_be_reused() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    peer.send(listen(1, json!({"toolsListChanged": true})))
        .await;
    peer.receive().await;
    peer.send(listen(1, json!({"promptsListChanged": true})))
        .await;
    // An error with this id would mean the end of the open subscription.
    let rejection = peer.receive().await;
    assert_eq!(rejection.get("id"), None, "{rejection}");
    assert_eq!(rejection["error"]["code"], -32602);
    assert_eq!(server.prompts_changed(), 0);
    assert_eq!(server.tools_changed(), 1);
    peer.expect(changed(1, "tools")).await;

    // After the end of the subscription the id can be reused.
    peer.send(cancel(1)).await;
    peer.send(listen(1, json!({"promptsListChanged": true})))
        .await;
    peer.expect(acknowledged(1, json!({"promptsListChanged": true})))
        .await;
}

#[tokio::test]
async fn cancelled_subscription_ends_without_a_message() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    peer.send(listen(1, json!({"toolsListChanged": true})))
        .await;
    peer.receive().await;
    // Another id: the string differs from the number.
    peer.send(cancel("1")).await;
    peer.expect_silence().await;
    assert_eq!(server.tools_changed(), 1);
    peer.expect(changed(1, "tools")).await;

    peer.send(cancel(1)).await;
    peer.expect_silence().await;
    assert_eq!(server.tools_changed(), 0);
    peer.expect_silence().await;
}

#[tokio::test]
async fn shutdown_ends_subscriptions_with_a_response() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    peer.send(listen("s", json!({"toolsListChanged": true})))
        .await;
    peer.receive().await;
    server.shutdown();
    peer.expect(cancel("s")).await;
    peer.expect(result_response(
        "s",
        json!({"resultType": "complete", "_meta": {SUBSCRIPTION: "s"}}),
    ))
    .await;
    peer.expect_end().await;
    assert_eq!(server.tools_changed(), 0);
}

#[tokio::test]
async fn request_with_the_id_of_a_subscription_is_served() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    peer.send(listen(1, json!({"toolsListChanged": true})))
        .await;
    peer.receive().await;
    // The same id as the subscription: the request gets its own response, and the subscription stays open.
    let result = peer
        .result_of(modern(1, "tools/call", json!({"name": "idle"})))
        .await;
    assert_eq!(result["resultType"], "complete");
    assert_eq!(server.tools_changed(), 1);
    peer.expect(changed(1, "tools")).await;
}

#[tokio::test]
async fn connection_without_subscriptions_gets_no_changes() {
    let server = rich();
    let mut peer = Peer::connect(&server);
    peer.result_of(modern(1, "tools/list", json!({}))).await;
    assert_eq!(server.tools_changed(), 0);
    assert_eq!(server.resource_updated("notes://a"), 0);
    peer.expect_silence().await;
}
