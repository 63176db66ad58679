//! A legacy client of a modern upstream server.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use toolwire::relay::Relay;
use toolwire_tests::peer::{Peer, legacy, notification, result_response};

use crate::raw_upstream::{RawConnection, raw_upstream};

/// Returns a 2025-11-25 client with all capabilities, and a modern server that announces list changes.
pub(crate) async fn pair() -> (Relay, Peer, RawConnection) {
    let (relay, client, server, listen) = pair_before_acknowledgement().await;
    acknowledge(&server, &listen).await;
    (relay, client, server)
}

/// Returns the same pair, and the subscription of the relay that the server has not acknowledged.
async fn pair_before_acknowledgement() -> (Relay, Peer, RawConnection, Value) {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
        "clientInfo": {"name": "old", "version": "1"},
    });
    client.send(legacy(1, "initialize", params)).await;
    let result = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}, "logging": {}},
        "instructions": "Read this.",
        "ttlMs": 5,
        "cacheScope": "public",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "2"}},
    });
    let mut server = connections.accept_rejecting(&result.to_string()).await;
    let initialized = client.receive().await;
    assert_eq!(
        initialized["result"],
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}, "logging": {}},
            "instructions": "Read this.",
            "serverInfo": {"name": "new", "version": "2"},
        })
    );
    client
        .send(notification("notifications/initialized", json!({})))
        .await;
    let listen = server.receive().await;
    assert_eq!(listen["method"], "subscriptions/listen");
    assert_eq!(
        listen["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    (relay, client, server, listen)
}

async fn acknowledge(server: &RawConnection, listen: &Value) {
    let params = subscribed(listen, listen["params"].clone());
    let method = "notifications/subscriptions/acknowledged";
    server.send(notification(method, params)).await;
}

/// Adds the id of a subscription.
fn subscribed(listen: &Value, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": listen["id"]});
    params
}

#[tokio::test]
async fn request_names_the_client_and_result_loses_modern_members() {
    let (_relay, mut client, mut server) = pair().await;
    client
        .send(legacy(2, "logging/setLevel", json!({"level": "warning"})))
        .await;
    client.expect(result_response(2, json!({}))).await;
    client
        .send(legacy(3, "tools/list", json!({"x-u": 1})))
        .await;
    let request = server.receive().await;
    assert_eq!(
        request["params"],
        json!({
            "x-u": 1,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities":
                    {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}},
                "io.modelcontextprotocol/clientInfo": {"name": "old", "version": "1"},
                "io.modelcontextprotocol/logLevel": "warning",
            },
        })
    );
    let result = json!({"resultType": "complete", "tools": [], "ttlMs": 1, "cacheScope": "private", "x": 1.5});
    server.respond(&request, &result.to_string()).await;
    client
        .expect(result_response(3, json!({"tools": [], "x": 1.5})))
        .await;
}

#[tokio::test]
async fn input_requests_become_requests_to_the_client() {
    let (_relay, mut client, mut server) = pair().await;
    client
        .send(legacy(
            3,
            "tools/call",
            json!({"name": "ask", "arguments": {"a": 1}}),
        ))
        .await;
    let request = server.receive().await;
    let form = json!({"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}});
    let result = json!({
        "resultType": "input_required",
        "inputRequests": {
            "one": {"method": "roots/list"},
            "two": {"method": "elicitation/create", "params": form},
        },
        "requestState": "opaque",
    });
    server.respond(&request, &result.to_string()).await;
    let mut asked = Vec::new();
    for _ in 0..2 {
        asked.push(client.receive().await);
    }
    asked.sort_by_key(|request| request["method"].to_string());
    assert_eq!(asked[0]["method"], "elicitation/create");
    assert_eq!(asked[0]["params"]["message"], "Who?");
    assert_eq!(asked[1]["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a"}]});
    client
        .send(result_response(asked[1]["id"].clone(), roots.clone()))
        .await;
    let error = json!({"code": -32603, "message": "no user"});
    client
        .send(json!({"jsonrpc": "2.0", "id": asked[0]["id"], "error": error}))
        .await;
    let retry = server.receive().await;
    assert_eq!(retry["method"], "tools/call");
    assert_eq!(retry["params"]["name"], "ask");
    assert_eq!(retry["params"]["arguments"], json!({"a": 1}));
    assert_eq!(retry["params"]["requestState"], "opaque");
    assert_eq!(
        retry["params"]["inputResponses"],
        json!({"one": roots, "two": {"action": "cancel"}})
    );
    let result = json!({"resultType": "complete", "content": []});
    server.respond(&retry, &result.to_string()).await;
    client
        .expect(result_response(3, json!({"content": []})))
        .await;
}

/// Shorter than the time for which the relay waits for an acknowledgement.
const BRIEFLY: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn request_after_a_subscription_waits_for_its_acknowledgement() {
    let (_relay, client, mut server, listen) = pair_before_acknowledgement().await;
    let call = legacy(3, "tools/call", json!({"name": "add_tool"}));
    client.send(call).await;
    let early = timeout(BRIEFLY, server.receive()).await;
    assert!(early.is_err(), "its change may be missed: {early:?}");
    acknowledge(&server, &listen).await;
    assert_eq!(server.receive().await["method"], "tools/call");
}

#[tokio::test(start_paused = true)]
async fn request_does_not_wait_for_long_without_an_acknowledgement() {
    let (_relay, client, mut server, _) = pair_before_acknowledgement().await;
    for number in 3..5 {
        let call = legacy(number, "tools/call", json!({"name": "add_tool"}));
        client.send(call).await;
        assert_eq!(server.receive().await["method"], "tools/call");
    }
}

#[tokio::test(start_paused = true)]
async fn changes_reach_the_client_without_a_subscription_id() {
    let (_relay, mut client, mut server) = pair().await;
    client
        .send(legacy(
            3,
            "resources/subscribe",
            json!({"uri": "file:///a"}),
        ))
        .await;
    let listen = server.receive().await;
    assert_eq!(listen["method"], "subscriptions/listen");
    assert_eq!(
        listen["params"]["notifications"],
        json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]})
    );
    let early = timeout(BRIEFLY, client.receive()).await;
    assert!(early.is_err(), "a change may be missed: {early:?}");
    acknowledge(&server, &listen).await;
    client.expect(result_response(3, json!({}))).await;
    let cancelled = server.receive().await;
    assert_eq!(
        cancelled["method"], "notifications/cancelled",
        "the first subscription ends after the second one has opened"
    );
    let updated = json!({"uri": "file:///a", "x": 1});
    let method = "notifications/resources/updated";
    server
        .send(notification(method, subscribed(&listen, updated.clone())))
        .await;
    client.expect(notification(method, updated)).await;
}

#[tokio::test]
async fn change_without_a_subscription_id_reaches_the_client() {
    let (_relay, mut client, server) = pair().await;
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    server.send(&changed).await;
    client.expect(changed).await;
}

#[tokio::test]
async fn missing_resource_has_the_code_of_the_revision() {
    let (_relay, mut client, mut server) = pair().await;
    client
        .send(legacy(3, "resources/read", json!({"uri": "file:///none"})))
        .await;
    let request = server.receive().await;
    let error = r#"{"code":-32602,"message":"not found","data":{"uri":"file:///none"}}"#;
    server.reject(&request, error).await;
    let response = client.receive().await;
    assert_eq!(response["error"]["code"], -32002, "{response}");
    client.send(legacy(4, "ping", json!({}))).await;
    client.expect(result_response(4, json!({}))).await;
}

#[tokio::test]
async fn seventeenth_input_request_of_a_call_is_an_error() {
    let (_relay, mut client, mut server) = pair().await;
    let required = |count: usize| {
        let requests: serde_json::Map<String, Value> = (0..count)
            .map(|number| (format!("i{number}"), json!({"method": "roots/list"})))
            .collect();
        json!({"resultType": "input_required", "inputRequests": requests}).to_string()
    };
    // In one result, and in two.
    client
        .send(legacy(3, "tools/call", json!({"name": "ask"})))
        .await;
    let request = server.receive().await;
    server.respond(&request, &required(17)).await;
    let error = client.expect_error(3, -32603).await;
    assert!(error.to_string().contains("at most 16"), "{error}");
    client
        .send(legacy(4, "tools/call", json!({"name": "ask"})))
        .await;
    let request = server.receive().await;
    server.respond(&request, &required(16)).await;
    for _ in 0..16 {
        let asked = client.receive().await;
        let roots = json!({"roots": []});
        client
            .send(result_response(asked["id"].clone(), roots))
            .await;
    }
    let again = server.receive().await;
    assert_eq!(
        again["params"]["inputResponses"].as_object().unwrap().len(),
        16
    );
    server.respond(&again, &required(1)).await;
    let error = client.expect_error(4, -32603).await;
    assert!(error.to_string().contains("more than 16"), "{error}");
}
