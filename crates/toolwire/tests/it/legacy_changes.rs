//! What legacy clients hear without asking again: changes of lists and resources, and log messages.

use serde_json::{Value, json};
use toolwire::{
    PromptHandler, RequestContext, ResourceHandler, ResourceTemplateHandler, Server,
    TemplateArguments, ToolHandler,
};

use crate::legacy_server::{LEGACY, rich_server};
use crate::peer::{Peer, answer, legacy, modern, notification, text};

fn quiet_tool(name: &str) -> ToolHandler {
    ToolHandler::typed(
        name,
        async |_: RequestContext, _: serde_json::Map<String, Value>| "quiet",
    )
}

fn updated(uri: &str) -> Value {
    notification("notifications/resources/updated", json!({"uri": uri}))
}

/// `initialize` without the notification that completes the handshake.
async fn begin_handshake(peer: &mut Peer, version: &str) {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "peer", "version": "1"},
    });
    peer.result_of(legacy(0, "initialize", params)).await;
}

#[tokio::test]
async fn list_changes_are_announced_unasked_after_the_handshake() {
    for version in LEGACY {
        let server = rich_server();
        let mut peer = Peer::connect(&server);
        assert_eq!(server.tools_changed(), 0, "nobody has shaken hands");
        begin_handshake(&mut peer, version).await;
        assert_eq!(
            server.tools_changed(),
            0,
            "the client has not said that it is ready"
        );
        peer.send(notification("notifications/initialized", json!({})))
            .await;
        peer.expect_silence().await;

        server.add_tool(quiet_tool("another")).unwrap();
        let changed = |list: &str| json!({"jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed")});
        peer.expect(changed("tools")).await;
        assert!(server.remove_tool("another"));
        peer.expect(changed("tools")).await;
        assert!(!server.remove_tool("another"), "it is gone");
        server.prompts_changed();
        peer.expect(changed("prompts")).await;
        server.resources_changed();
        peer.expect(changed("resources")).await;
        peer.expect_silence().await;
    }
}

#[tokio::test]
async fn a_connection_that_only_speaks_2026_07_28_hears_nothing_unasked() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    peer.result_of(modern(1, "tools/list", json!({}))).await;
    assert_eq!(server.tools_changed(), 0);
}

#[tokio::test]
async fn every_kind_of_registration_announces_its_list() {
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

/// Spec 2026-07-28, server/tools: a declared list is answered, and may be empty.
#[tokio::test]
async fn a_list_that_lost_its_last_entry_is_empty_and_still_there() {
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
        peer.expect(answer(1, json!({}))).await;
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
        peer.expect(answer(3, json!({}))).await;
        assert_eq!(server.resource_updated(one), 0);
        // Nor does unsubscribing from what was never subscribed to.
        peer.result_of(legacy(4, "resources/unsubscribe", json!({"uri": "x://y"})))
            .await;
        peer.expect_silence().await;
        other.expect_silence().await;
    }
}

#[tokio::test]
async fn updates_wait_for_the_end_of_the_handshake() {
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
async fn a_connection_that_is_gone_is_not_counted() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    peer.expect_silence().await;
    assert_eq!(server.tools_changed(), 1);
    peer.receive().await;
    peer.hang_up();
    peer.expect_end().await;
    assert_eq!(server.tools_changed(), 0);
}

#[tokio::test]
async fn a_connection_subscribes_to_at_most_1024_resources() {
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
    peer.refusal_of(subscribe(1025), -32602).await;
    peer.result_of(subscribe(1024)).await;
    assert_eq!(server.resource_updated("notes://by-name/1025"), 0);
    // One goes, one comes.
    let first = json!({"uri": "notes://by-name/1"});
    peer.result_of(legacy("out", "resources/unsubscribe", first))
        .await;
    peer.result_of(subscribe(1025)).await;
    peer.refusal_of(subscribe(1), -32602).await;
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

/// Lets the server speak at every level and expects exactly these.
async fn check_chatter(peer: &mut Peer, expected: &[&str]) {
    peer.send(legacy("c", "tools/call", json!({"name": "chatter"})))
        .await;
    for level in expected {
        let params = json!({"level": level, "logger": "chatter", "data": {"said": true}});
        peer.expect(notification("notifications/message", params))
            .await;
    }
    peer.expect(answer("c", text("said"))).await;
}

#[tokio::test]
async fn the_log_level_is_a_threshold_in_the_order_of_rfc_5424() {
    for version in LEGACY {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        // Nobody has set one: from `info` on.
        check_chatter(&mut peer, &LEVELS[1..]).await;
        for (position, level) in LEVELS.iter().enumerate() {
            peer.send(legacy(1, "logging/setLevel", json!({"level": level})))
                .await;
            peer.expect(answer(1, json!({}))).await;
            check_chatter(&mut peer, &LEVELS[position..]).await;
        }
    }
}

#[tokio::test]
async fn a_level_that_does_not_exist_is_refused_and_changes_nothing() {
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
        peer.refusal_of(legacy(2, "logging/setLevel", params), -32602)
            .await;
    }
    check_chatter(&mut peer, &LEVELS[5..]).await;
}

#[tokio::test]
async fn each_connection_has_its_own_level() {
    let server = rich_server();
    let mut quiet = Peer::connect(&server);
    let mut curious = Peer::connect(&server);
    quiet.initialize("2025-06-18").await;
    curious.initialize("2025-06-18").await;
    quiet
        .result_of(legacy(1, "logging/setLevel", json!({"level": "emergency"})))
        .await;
    curious
        .result_of(legacy(1, "logging/setLevel", json!({"level": "debug"})))
        .await;
    check_chatter(&mut quiet, &LEVELS[7..]).await;
    check_chatter(&mut curious, &LEVELS).await;
}

#[tokio::test]
async fn a_server_without_logging_says_nothing() {
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
    peer.expect(answer(1, text("done"))).await;
}
