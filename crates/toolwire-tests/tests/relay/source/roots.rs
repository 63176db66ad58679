//! The roots of a legacy client, for upstream servers that may request them.

use serde_json::{Value, json};
use toolwire_tests::peer::{Peer, legacy, notification};

use crate::source::{UpstreamEra, legacy_details, mounted_with};

/// Calls a tool as a legacy client, reports changed roots, and calls again. Returns the messages that the session of the
/// client at the upstream server got after the first call.
async fn messages_after_changed_roots(are_permitted: bool) -> Vec<String> {
    let mut mounted = mounted_with(UpstreamEra::Legacy, |upstream| {
        upstream.with_roots(are_permitted)
    })
    .await;
    let mut client = Peer::connect(&mounted.server);
    let capabilities = json!({"roots": {"listChanged": true}});
    client.initialize_with("2025-11-25", capabilities).await;
    let call = |id: i64| {
        legacy(
            id,
            "tools/call",
            json!({"name": "up_greet", "arguments": {}}),
        )
    };
    client.send(call(1)).await;
    let (mut session, params) = mounted.connections.accept_legacy(&legacy_details()).await;
    assert_eq!(params["capabilities"].get("roots").is_some(), are_permitted);
    let mut messages = Vec::new();
    let mut calls = 0;
    while calls < 2 {
        let message: Value = session.receive().await;
        let method = message["method"].as_str().expect("a method").to_owned();
        if method == "tools/call" {
            session.respond(&message, r#"{"content":[]}"#).await;
            client.receive().await;
            calls += 1;
            if calls == 1 {
                let changed = notification("notifications/roots/list_changed", json!({}));
                client.send(changed).await;
                client.send(call(2)).await;
            }
        } else if calls == 1 {
            messages.push(method);
        }
    }
    messages
}

#[tokio::test]
async fn changed_roots_are_reported_to_a_server_that_may_request_them() {
    let messages = messages_after_changed_roots(true).await;
    assert_eq!(messages, ["notifications/roots/list_changed"]);
}

#[tokio::test]
async fn changed_roots_are_not_reported_to_other_servers() {
    assert!(messages_after_changed_roots(false).await.is_empty());
}
