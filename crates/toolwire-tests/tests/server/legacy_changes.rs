//! Notifications to legacy clients: changes of lists and resources, and log messages.

use serde_json::{Value, json};
use toolwire::{
    PromptHandler, RequestContext, ResourceHandler, ResourceTemplateHandler, Server,
    TemplateArguments, ToolHandler,
};
use toolwire_tests::legacy_server::{LEGACY, rich_server};
use toolwire_tests::peer::{Peer, legacy, modern, notification, result_response, text};

fn quiet_tool(name: &str) -> ToolHandler {
    ToolHandler::typed(
        name,
        async |_: RequestContext, _: serde_json::Map<String, Value>| "quiet",
    )
}

fn updated(uri: &str) -> Value {
    notification("notifications/resources/updated", json!({"uri": uri}))
}

/// Sends `initialize` without the notification that completes the handshake.
async fn begin_handshake(peer: &mut Peer, version: &str) {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "peer", "version": "1"},
    });
    peer.result_of(legacy(0, "initialize", params)).await;
}

#[tokio::test]
async fn list_changes_are_sent_after_the_handshake() {
    for version in LEGACY {
        let server = rich_server();
        let mut peer = Peer::connect(&server);
        assert_eq!(server.tools_changed(), 0, "no handshake yet");
        begin_handshake(&mut peer, version).await;
        assert_eq!(
            server.tools_changed(),
            0,
            "the client has not sent `initialized`"
        );
        peer.send(notification("notifications/initialized", json!({})))
            .await;
        peer.expect_silence().await;

        server.add_tool(quiet_tool("another")).unwrap();
        let changed = |list: &str| json!({"jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed")});
        peer.expect(changed("tools")).await;
        assert!(server.remove_tool("another"));
        peer.expect(changed("tools")).await;
        assert!(!server.remove_tool("another"), "already removed");
        server.prompts_changed();
        peer.expect(changed("prompts")).await;
        server.resources_changed();
        peer.expect(changed("resources")).await;
        peer.expect_silence().await;
    }
}

#[tokio::test]
async fn modern_connection_gets_no_list_changes_without_a_subscription() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    peer.result_of(modern(1, "tools/list", json!({}))).await;
    assert_eq!(server.tools_changed(), 0);
}

#[tokio::test]
async fn every_registration_sends_its_list_change() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-06-18").await;
    peer.expect_silence().await;
    let changed = |list: &str| format!("notifications/{list}/list_changed");

    let prompt = PromptHandler::new("p", async |_: RequestContext, _| "p");
    server.add_prompt(prompt).unwrap();
    assert_eq!(peer.receive().await["method"], changed("prompts"));
    let resource = ResourceHandler::new("r://r", "r", async |_: RequestContext, _: String| "r");
    server.add_resource(resource).unwrap();
    assert_eq!(peer.receive().await["method"], changed("resources"));
    let template = ResourceTemplateHandler::new(
        "r://{x}/t",
        "t",
        async |_: RequestContext, _: String, _: TemplateArguments| "t",
    );
    server.add_resource_template(template).unwrap();
    assert_eq!(peer.receive().await["method"], changed("resources"));
    assert!(server.remove_prompt("p"));
    assert_eq!(peer.receive().await["method"], changed("prompts"));
    assert!(server.remove_resource("r://r"));
    assert_eq!(peer.receive().await["method"], changed("resources"));
    assert!(server.remove_resource_template("r://{x}/t"));
    assert_eq!(peer.receive().await["method"], changed("resources"));
}

/// Spec 2026-07-28, server/tools: a declared list is served, and may be empty.
#[tokio::test]
async fn list_without_entries_is_still_served() {
    let resource = ResourceHandler::new("r://r", "r", async |_: RequestContext, _: String| "r");
    let server = Server::new("s", "1")
        .tool(quiet_tool("t"))
        .prompt(PromptHandler::new("p", async |_: RequestContext, _| "p"))
        .resource(resource);
    let declared = server.capabilities();
    assert!(server.remove_tool("t"));
    assert!(server.remove_prompt("p"));
    assert!(server.remove_resource("r://r"));
    assert_eq!(server.capabilities(), declared);

    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    for list in ["tools", "prompts", "resources"] {
        let request = legacy(1, &format!("{list}/list"), json!({}));
        assert_eq!(peer.result_of(request).await, json!({list: []}));
    }
}

#[tokio::test]
async fn updates_reach_only_subscribers_of_the_uri() {
    for version in LEGACY {
        let server = rich_server();
        let mut peer = Peer::connect(&server);
        let mut other = Peer::connect(&server);
        peer.initialize(version).await;
        other.initialize(version).await;

        let (one, two) = ("notes://one", "notes://by-name/two");
        peer.send(legacy(1, "resources/subscribe", json!({"uri": one})))
            .await;
        peer.expect(result_response(1, json!({}))).await;
        other
            .result_of(legacy(1, "resources/subscribe", json!({"uri": two})))
            .await;

        assert_eq!(server.resource_updated(one), 1);
        peer.expect(updated(one)).await;
        assert_eq!(server.resource_updated("notes://by-name/three"), 0);
        assert_eq!(server.resource_updated(two), 1);
        other.expect(updated(two)).await;

        // Subscribing twice changes nothing, and one unsubscription is enough.
        peer.result_of(legacy(2, "resources/subscribe", json!({"uri": one})))
            .await;
        assert_eq!(server.resource_updated(one), 1);
        peer.expect(updated(one)).await;
        peer.send(legacy(3, "resources/unsubscribe", json!({"uri": one})))
            .await;
        peer.expect(result_response(3, json!({}))).await;
        assert_eq!(server.resource_updated(one), 0);
        // Unsubscribing without a subscription changes nothing either.
        peer.result_of(legacy(4, "resources/unsubscribe", json!({"uri": "x://y"})))
            .await;
        peer.expect_silence().await;
        other.expect_silence().await;
    }
}

#[tokio::test]
async fn updates_are_sent_only_after_the_handshake() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    begin_handshake(&mut peer, "2025-06-18").await;
    let uri = "notes://one";
    peer.result_of(legacy(1, "resources/subscribe", json!({"uri": uri})))
        .await;
    assert_eq!(server.resource_updated(uri), 0);
    peer.send(notification("notifications/initialized", json!({})))
        .await;
    peer.expect_silence().await;
    assert_eq!(server.resource_updated(uri), 1);
    peer.expect(updated(uri)).await;
}

#[tokio::test]
async fn closed_connection_is_not_counted() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    peer.expect_silence().await;
    assert_eq!(server.tools_changed(), 1);
    peer.receive().await;
    peer.close_input();
    peer.expect_end().await;
    assert_eq!(server.tools_changed(), 0);
}

#[tokio::test]
async fn connection_has_at_most_1024_resource_subscriptions() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let subscribe = |number: u32| {
        let uri = format!("notes://by-name/{number}");
        legacy(number, "resources/subscribe", json!({"uri": uri}))
    };
    for number in 1..=1024 {
        peer.result_of(subscribe(number)).await;
    }
    peer.error_of(subscribe(1025), -32602).await;
    peer.result_of(subscribe(1024)).await;
    assert_eq!(server.resource_updated("notes://by-name/1025"), 0);
    // An unsubscription permits another subscription.
    let first = json!({"uri": "notes://by-name/1"});
    peer.result_of(legacy("out", "resources/unsubscribe", first))
        .await;
    peer.result_of(subscribe(1025)).await;
    peer.error_of(subscribe(1), -32602).await;
    // Another connection has its own count.
    let mut other = Peer::connect(&server);
    other.initialize("2025-11-25").await;
    other.result_of(subscribe(1)).await;
}

const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Calls the tool that logs at every level, and expects exactly these messages.
async fn check_log_messages(peer: &mut Peer, expected: &[&str]) {
    peer.send(legacy("c", "tools/call", json!({"name": "chatter"})))
        .await;
    for level in expected {
        let params = json!({"level": level, "logger": "chatter", "data": {"logged": true}});
        peer.expect(notification("notifications/message", params))
            .await;
    }
    peer.expect(result_response("c", text("logged"))).await;
}

#[tokio::test]
async fn log_level_is_a_threshold_in_the_order_of_rfc_5424() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        // The default level is `info`.
        check_log_messages(&mut peer, &LEVELS[1..]).await;
        for (position, level) in LEVELS.iter().enumerate() {
            peer.send(legacy(1, "logging/setLevel", json!({"level": level})))
                .await;
            peer.expect(result_response(1, json!({}))).await;
            check_log_messages(&mut peer, &LEVELS[position..]).await;
        }
    }
}

#[tokio::test]
async fn unknown_log_level_is_rejected_and_changes_nothing() {
    let mut peer = Peer::connect(&rich_server());
    peer.initialize("2025-11-25").await;
    peer.result_of(legacy(1, "logging/setLevel", json!({"level": "critical"})))
        .await;
    for params in [
        json!({"level": "loud"}),
        json!({"level": "Error"}),
        json!({"level": 3}),
        json!({"level": null}),
        json!({}),
    ] {
        peer.error_of(legacy(2, "logging/setLevel", params), -32602)
            .await;
    }
    check_log_messages(&mut peer, &LEVELS[5..]).await;
}

#[tokio::test]
async fn each_connection_has_its_own_log_level() {
    let server = rich_server();
    let mut quiet = Peer::connect(&server);
    let mut verbose = Peer::connect(&server);
    quiet.initialize("2025-06-18").await;
    verbose.initialize("2025-06-18").await;
    quiet
        .result_of(legacy(1, "logging/setLevel", json!({"level": "emergency"})))
        .await;
    verbose
        .result_of(legacy(1, "logging/setLevel", json!({"level": "debug"})))
        .await;
    check_log_messages(&mut quiet, &LEVELS[7..]).await;
    check_log_messages(&mut verbose, &LEVELS).await;
}

#[tokio::test]
async fn server_without_logging_sends_no_log_messages() {
    let loud = ToolHandler::typed(
        "loud",
        async |ctx: RequestContext, _: serde_json::Map<String, Value>| {
            ctx.log(toolwire::LoggingLevel::Emergency, "help");
            "done"
        },
    );
    let mut peer = Peer::connect(&Server::new("s", "1").tool(loud));
    peer.initialize("2025-11-25").await;
    peer.send(legacy(1, "tools/call", json!({"name": "loud"})))
        .await;
    peer.expect(result_response(1, text("done"))).await;
}
