//! Messages between peers of one era pass unchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::ServerCommand;
use toolwire::relay::{Relay, Upstream};
use toolwire_tests::legacy_server::LEGACY;
use toolwire_tests::peer::{Peer, cancel, legacy, modern, notification, result_response};

use crate::raw_upstream::{RawConnection, raw_upstream};

const INITIALIZED: &str = r#"{"x-first":1.0,"protocolVersion":"VERSION","serverInfo":{"x-a":[1.50],"version":"1","name":"raw"},"capabilities":{"x-future":{"b":{}},"tools":{"x-b":true}},"instructions":"Read this."}"#;

/// Returns a client and an upstream server with a session between them.
pub(crate) async fn legacy_pair(version: &str) -> (Relay, Peer, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let params = json!({
        "x-unknown": {"deep": 1},
        "protocolVersion": version,
        "capabilities": {"roots": {}, "x-cap": {"y": 2}},
        "clientInfo": {"name": "peer", "version": "9", "x-info": null},
    });
    client.send(legacy(7, "initialize", params.clone())).await;
    let result = INITIALIZED.replace("VERSION", version);
    let (mut server, sent) = connections.accept_legacy(&result).await;
    assert_eq!(sent, params, "the upstream server sees the client");
    let response = client.receive_text().await;
    assert_eq!(
        response,
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)
    );
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.send(&initialized).await;
    assert_eq!(server.receive().await, initialized);
    (relay, client, server)
}

#[tokio::test]
async fn legacy_requests_and_results_pass_unchanged() {
    for version in LEGACY {
        let (_relay, mut client, mut server) = legacy_pair(version).await;
        let params = r#"{"x-z":1e2,"name":"a","arguments":{"n":1.0},"_meta":{"x-m":"k"}}"#;
        client
            .send(format!(
                r#"{{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{params}}}"#
            ))
            .await;
        let request = server.receive_text().await;
        assert!(request.contains(params), "{request}");
        let request: Value = serde_json::from_str(&request).unwrap();
        let result = r#"{"x-b":{"c":[3.10]},"content":[{"x-c":1,"type":"text","text":"t"}],"isError":false,"_meta":{"k":1.0}}"#;
        server.respond(&request, result).await;
        assert_eq!(
            client.receive_text().await,
            format!(r#"{{"jsonrpc":"2.0","id":"one","result":{result}}}"#)
        );
    }
}

#[tokio::test]
async fn errors_keep_code_message_and_data() {
    let (_relay, mut client, mut server) = legacy_pair("2025-11-25").await;
    client.send(legacy(1, "tools/list", json!({}))).await;
    let request = server.receive().await;
    let error = r#"{"code":-31999,"message":"own","data":{"b":1.0,"a":[null]}}"#;
    server.reject(&request, error).await;
    assert_eq!(
        client.receive_text().await,
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#)
    );
}

#[tokio::test]
async fn unknown_methods_and_notifications_pass_both_ways() {
    let (_relay, mut client, mut server) = legacy_pair("2025-06-18").await;
    client
        .send(legacy(1, "com.example/odd", json!({"a": 1})))
        .await;
    let request = server.receive().await;
    assert_eq!(request["method"], "com.example/odd");
    server.respond(&request, "{}").await;
    client.expect(result_response(1, json!({}))).await;

    let from_client = notification("com.example/note", json!({"b": 2}));
    client.send(&from_client).await;
    assert_eq!(server.receive().await, from_client);
    let from_server = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    server.send(&from_server).await;
    client.expect(from_server).await;
    let custom = notification("com.example/event", json!({"_meta": {"x": 1}}));
    server.send(&custom).await;
    client.expect(custom).await;
}

#[tokio::test]
async fn requests_of_a_legacy_server_reach_the_client() {
    let (_relay, mut client, mut server) = legacy_pair("2025-11-25").await;
    client
        .send(legacy(5, "tools/call", json!({"name": "ask"})))
        .await;
    let call = server.receive().await;
    let roots = json!({"jsonrpc": "2.0", "id": "s1", "method": "roots/list"});
    server.send(&roots).await;
    let asked = client.receive().await;
    assert_eq!(asked["method"], "roots/list");
    assert!(asked.get("params").is_none(), "{asked}");
    let response = json!({"roots": [{"uri": "file:///a", "x-r": 1}], "x-s": 2});
    client
        .send(result_response(asked["id"].clone(), response.clone()))
        .await;
    let answered = server.receive().await;
    assert_eq!(answered, result_response("s1", response));
    server.respond(&call, r#"{"content":[]}"#).await;
    client
        .expect(result_response(5, json!({"content": []})))
        .await;
}

#[tokio::test]
async fn input_request_to_a_client_that_disconnects_is_cancelled() {
    let (_relay, mut client, mut server) = legacy_pair("2025-11-25").await;
    client
        .send(legacy(5, "tools/call", json!({"name": "ask"})))
        .await;
    let call = server.receive().await;
    for (id, method) in [("s1", "elicitation/create"), ("s2", "roots/list")] {
        server.send(legacy(id, method, json!({}))).await;
        assert_eq!(client.receive().await["method"], method);
    }
    client.close_input();
    let received = [server.receive().await, server.receive().await];
    let response = |id: &str| received.iter().find(|message| message["id"] == id);
    let cancelled = result_response("s1", json!({"action": "cancel"}));
    assert_eq!(response("s1"), Some(&cancelled), "{received:?}");
    let rejected = response("s2").expect("every request gets a response");
    assert!(rejected.get("error").is_some(), "{rejected}");
    server.respond(&call, r#"{"content":[]}"#).await;
    server.expect_end().await;
}

#[tokio::test]
async fn progress_reaches_the_client_with_its_token() {
    for token in [json!("p"), json!(1)] {
        let (_relay, mut client, mut server) = legacy_pair("2025-11-25").await;
        let params = json!({"name": "slow", "_meta": {"progressToken": token}});
        client.send(legacy(5, "tools/call", params)).await;
        let call = server.receive().await;
        let token = call["params"]["_meta"]["progressToken"].clone();
        let progress = json!({"progressToken": token, "progress": 1, "x-p": {"q": 1}});
        let progress = notification("notifications/progress", progress);
        server.send(&progress).await;
        client.expect(progress).await;
        server.respond(&call, "{}").await;
        client.expect(result_response(5, json!({}))).await;
    }
}

#[tokio::test]
async fn cancellation_reaches_the_upstream_server() {
    let (_relay, mut client, mut server) = legacy_pair("2025-03-26").await;
    client
        .send(legacy(5, "tools/call", json!({"name": "slow"})))
        .await;
    let call = server.receive().await;
    client.send(cancel(5)).await;
    let cancelled = server.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
    server.respond(&call, "{}").await;
    // Nothing precedes the response to the next request.
    client.send(legacy(6, "ping", json!({}))).await;
    let ping = server.receive().await;
    assert_eq!(ping["method"], "ping");
    server.respond(&ping, "{}").await;
    client.expect(result_response(6, json!({}))).await;
}

#[tokio::test]
async fn end_of_the_client_ends_its_upstream_session() {
    let (_relay, mut client, mut server) = legacy_pair("2025-11-25").await;
    client.close_input();
    client.expect_end().await;
    server.expect_end().await;
}

#[tokio::test]
async fn modern_requests_and_results_pass_unchanged() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let request = modern(
        3,
        "tools/call",
        json!({"name": "a", "x-u": 1.5, "requestState": "theirs"}),
    );
    client.send(&request).await;
    let mut server = connections.accept_modern().await;
    let received = server.receive().await;
    assert_eq!(received["params"], request["params"]);
    let result = r#"{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list","x-q":1}},"requestState":"next","x-r":1.0}"#;
    server.respond(&received, result).await;
    assert_eq!(
        client.receive_text().await,
        format!(r#"{{"jsonrpc":"2.0","id":3,"result":{result}}}"#)
    );
}

#[tokio::test]
async fn modern_subscription_keeps_the_id_of_the_client() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let filter = json!({"notifications": {"toolsListChanged": true}});
    client
        .send(modern("sub", "subscriptions/listen", filter))
        .await;
    let mut server = connections.accept_modern().await;
    let listen = server.receive().await;
    let with_id = |method: &str, id: &Value| {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id, "x-k": 1});
        notification(method, json!({"_meta": meta}))
    };
    for method in [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ] {
        server.send(with_id(method, &listen["id"])).await;
        client.expect(with_id(method, &json!("sub"))).await;
    }
    client.send(cancel("sub")).await;
    let cancelled = server.receive().await;
    assert_eq!(cancelled["params"]["requestId"], listen["id"]);
    // The result of a subscription that the server ends names it as well.
    let filter = json!({"notifications": {"toolsListChanged": true}});
    client
        .send(modern("next", "subscriptions/listen", filter))
        .await;
    let listen = server.receive().await;
    let result = |id: &Value| {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        json!({"resultType": "complete", "_meta": meta})
    };
    let upstream = result(&listen["id"]).to_string();
    server.respond(&listen, &upstream).await;
    client
        .expect(result_response("next", result(&json!("next"))))
        .await;
}

#[tokio::test]
async fn unreachable_server_gets_no_attempt_for_each_request() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let upstream = Upstream::new(move |builder| {
        counted.fetch_add(1, Ordering::Relaxed);
        builder.spawn(ServerCommand::new("/nonexistent/server"))
    });
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    for id in 0..3 {
        client.send(modern(id, "tools/list", json!({}))).await;
        let error = client.expect_error(id, -32603).await;
        assert_eq!(error["data"]["reason"], "upstream_unreachable", "{error}");
    }
    assert_eq!(attempts.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn time_of_an_input_request_does_not_count_for_the_timeout() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.with_timeout(Duration::from_secs(30)).relay();
    let mut client = Peer::connect(relay.server());
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "peer", "version": "9"},
    });
    client.send(legacy(1, "initialize", params)).await;
    let result = INITIALIZED.replace("VERSION", "2025-11-25");
    let (mut server, _) = connections.accept_legacy(&result).await;
    client.receive().await;
    client
        .send(legacy(2, "tools/call", json!({"name": "ask"})))
        .await;
    let call = server.receive().await;
    let roots = json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"});
    server.send(&roots).await;
    let asked = client.receive().await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    client
        .send(result_response(asked["id"].clone(), json!({"roots": []})))
        .await;
    server.receive().await;
    tokio::time::sleep(Duration::from_secs(29)).await;
    server.respond(&call, "{}").await;
    client.expect(result_response(2, json!({}))).await;
    // Silence of the server is an error.
    client
        .send(legacy(3, "tools/call", json!({"name": "slow"})))
        .await;
    server.receive().await;
    let error = client.expect_error(3, -32603).await;
    assert_eq!(error["data"]["reason"], "upstream_unreachable", "{error}");
}
