//! Progress, changes and subscriptions that pass through a relay.

use std::time::{Duration, SystemTime};

use http::StatusCode;
use serde_json::{Value, json};
use toolwire::TokenInfo;
use toolwire::relay::Relay;
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire_tests::http::direct::{InProcessClient, next_chunk};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{Peer, cancel, modern, modern_with, notification};

use crate::raw_http::raw_http;
use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// Returns a relay to a legacy server, a client, and the session without capabilities.
async fn legacy_upstream() -> (Relay, Peer, RawUpstream, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(modern(1, "server/discover", json!({}))).await;
    let mut server = connections.accept().await;
    let discover = server.receive().await;
    server
        .reject(&discover, r#"{"code":-32601,"message":"unknown method"}"#)
        .await;
    accept_initialize(&mut server).await;
    assert_eq!(client.receive().await["id"], 1);
    (relay, client, connections, server)
}

/// Serves the handshake of a legacy session.
async fn accept_initialize(server: &mut RawConnection) {
    let initialize = server.receive().await;
    assert_eq!(initialize["method"], "initialize");
    let details = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
        "serverInfo": {"name": "old", "version": "1"},
    });
    server.respond(&initialize, &details.to_string()).await;
    let initialized = server.receive().await;
    assert_eq!(initialized["method"], "notifications/initialized");
}

fn call(id: i64, token: impl Into<Value>) -> Value {
    let mut request = modern(id, "tools/call", json!({"name": "slow"}));
    request["params"]["_meta"]["progressToken"] = token.into();
    request
}

/// Returns a call of a client that can be asked.
fn ask(id: i64, mut params: Value, token: &str) -> Value {
    params["name"] = "ask".into();
    let mut request = modern_with(id, "tools/call", params, json!({"roots": {}}));
    request["params"]["_meta"]["progressToken"] = token.into();
    request
}

fn listen(id: impl Into<Value>, filter: Value) -> Value {
    modern(id, "subscriptions/listen", json!({"notifications": filter}))
}

/// Returns a notification of a subscription.
fn subscribed(method: &str, id: impl Into<Value>, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id.into()});
    notification(method, params)
}

fn progress(token: &Value, progress: i64) -> Value {
    let params = json!({"progressToken": token, "progress": progress});
    notification("notifications/progress", params)
}

#[tokio::test]
async fn equal_progress_tokens_differ_on_a_shared_http_connection() {
    let (upstream, mut posts) = raw_http();
    let relay = upstream.relay();
    for token in [json!(7), json!("seven")] {
        let mut clients = [Peer::connect(relay.server()), Peer::connect(relay.server())];
        let mut calls = Vec::new();
        for client in &clients {
            client.send(call(1, token.clone())).await;
            if calls.is_empty() && token == 7 {
                posts.accept_modern().await;
            }
            calls.push(posts.expect("tools/call").await);
        }
        let tokens: Vec<Value> = calls
            .iter()
            .map(|call| call.message["params"]["_meta"]["progressToken"].clone())
            .collect();
        assert_ne!(tokens[0], tokens[1]);
        for ((client, call), upstream) in clients.iter_mut().zip(calls).zip(tokens) {
            assert_eq!(upstream.is_string(), token.is_string(), "{upstream}");
            let stream = call.stream();
            stream.send(&progress(&upstream, 1));
            client.expect(progress(&token, 1)).await;
            stream.respond(json!({"resultType": "complete", "content": []}));
            assert_eq!(client.receive().await["id"], 1);
        }
    }
}

#[tokio::test]
async fn progress_of_a_later_round_has_the_token_of_its_request() {
    let (_relay, mut client, mut connections, _shared) = legacy_upstream().await;
    client.send(ask(2, json!({}), "first")).await;
    let mut session = connections.accept().await;
    accept_initialize(&mut session).await;
    let call = session.receive().await;
    let token = call["params"]["_meta"]["progressToken"].clone();
    session.send(progress(&token, 1)).await;
    client.expect(progress(&json!("first"), 1)).await;
    let roots = json!({"jsonrpc": "2.0", "id": "s1", "method": "roots/list"});
    session.send(roots).await;
    let state = client.receive().await["result"]["requestState"].clone();
    // Of the progress while the call is parked, the client gets the newest with its next request.
    session.send(progress(&token, 2)).await;
    session.send(progress(&token, 3)).await;
    let mark = json!({"jsonrpc": "2.0", "id": "s2", "method": "roots/list"});
    session.send(mark).await;
    let retry = json!({"requestState": state, "inputResponses": {"q1": {"roots": []}}});
    client.send(ask(3, retry, "second")).await;
    client.expect(progress(&json!("second"), 3)).await;
    session.receive().await;
    let state = client.receive().await["result"]["requestState"].clone();
    let retry = json!({"requestState": state, "inputResponses": {"q2": {"roots": []}}});
    client.send(ask(4, retry, "third")).await;
    session.receive().await;
    session.send(progress(&token, 4)).await;
    client.expect(progress(&json!("third"), 4)).await;
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 4);
}

#[tokio::test]
async fn change_on_the_stream_of_a_call_goes_to_the_subscriptions() {
    let (upstream, mut posts) = raw_http();
    let relay = upstream.relay();
    let mut listener = Peer::connect(relay.server());
    let mut caller = Peer::connect(relay.server());
    let mut other = Peer::connect(relay.server());
    listener
        .send(listen("l", json!({"toolsListChanged": true})))
        .await;
    posts.accept_modern().await;
    let acknowledged = "notifications/subscriptions/acknowledged";
    let post = posts.expect("subscriptions/listen").await;
    let id = post.message["id"].clone();
    let first = post.stream();
    first.send(&subscribed(acknowledged, id, json!({"notifications": {}})));
    assert_eq!(listener.receive().await["method"], acknowledged);
    other
        .send(listen("o", json!({"promptsListChanged": true})))
        .await;
    let post = posts.expect("subscriptions/listen").await;
    let id = post.message["id"].clone();
    let second = post.stream();
    second.send(&subscribed(acknowledged, id, json!({"notifications": {}})));
    assert_eq!(other.receive().await["method"], acknowledged);

    caller.send(call(1, "p")).await;
    let stream = posts.expect("tools/call").await.stream();
    stream.send(&notification(TOOLS_CHANGED, json!({"x": 1})));
    let expected = subscribed(TOOLS_CHANGED, "l", json!({"x": 1}));
    listener.expect(expected).await;
    let prompts_changed = "notifications/prompts/list_changed";
    stream.send(&json!({"jsonrpc": "2.0", "method": prompts_changed}));
    other
        .expect(subscribed(prompts_changed, "o", json!({})))
        .await;
    stream.respond(json!({"resultType": "complete", "content": []}));
    assert_eq!(caller.receive().await["id"], 1);
}

#[tokio::test]
async fn change_on_the_session_of_a_call_goes_to_the_subscriptions() {
    let (relay, mut listener, mut connections, _shared) = legacy_upstream().await;
    listener
        .send(listen("l", json!({"toolsListChanged": true})))
        .await;
    listener.receive().await;
    let mut caller = Peer::connect(relay.server());
    caller.send(ask(2, json!({}), "p")).await;
    let mut session = connections.accept().await;
    accept_initialize(&mut session).await;
    let call = session.receive().await;
    session.send(notification(TOOLS_CHANGED, json!({}))).await;
    listener
        .expect(subscribed(TOOLS_CHANGED, "l", json!({})))
        .await;
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(caller.receive().await["id"], 2);
}

#[tokio::test]
async fn change_waits_for_the_acknowledgement() {
    let (_relay, mut client, _connections, mut shared) = legacy_upstream().await;
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]});
    client.send(listen("l", filter)).await;
    let subscribe = shared.receive().await;
    let updated = "notifications/resources/updated";
    for number in 1..=2 {
        let params = json!({"uri": "file:///a", "x": number});
        shared.send(notification(updated, params)).await;
    }
    shared.respond(&subscribe, "{}").await;
    let first = client.receive().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let params = json!({"uri": "file:///a", "x": 2});
    client.expect(subscribed(updated, "l", params)).await;
}

#[tokio::test]
async fn subscription_does_not_overtake_the_end_of_an_earlier_one() {
    let (_relay, mut client, _connections, mut shared) = legacy_upstream().await;
    let filter = json!({"resourceSubscriptions": ["file:///a"]});
    client.send(listen("one", filter.clone())).await;
    let subscribe = shared.receive().await;
    assert_eq!(subscribe["method"], "resources/subscribe");
    shared.respond(&subscribe, "{}").await;
    client.receive().await;
    client.send(cancel("one")).await;
    let unsubscribe = shared.receive().await;
    assert_eq!(unsubscribe["method"], "resources/unsubscribe");
    client.send(listen("two", filter)).await;
    // The next message of the relay is that of another request: the subscription waits.
    client.send(modern(3, "tools/list", json!({}))).await;
    let list = shared.receive().await;
    assert_eq!(list["method"], "tools/list");
    shared.respond(&unsubscribe, "{}").await;
    let subscribe = shared.receive().await;
    assert_eq!(subscribe["method"], "resources/subscribe");
    shared.respond(&subscribe, "{}").await;
    let acknowledged = client.receive().await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
}

#[tokio::test]
async fn streams_that_open_at_once_share_one_subscription() {
    let (_relay, mut client, _connections, mut shared) = legacy_upstream().await;
    let filter = json!({"resourceSubscriptions": ["file:///a"]});
    client.send(listen("one", filter.clone())).await;
    client.send(listen("two", filter)).await;
    let subscribe = shared.receive().await;
    assert_eq!(subscribe["method"], "resources/subscribe");
    // The next message of the relay is that of another request: neither stream sends a second subscription, and the end
    // of one stream does not end that of the other.
    client.send(cancel("one")).await;
    client.send(modern(3, "tools/list", json!({}))).await;
    let list = shared.receive().await;
    assert_eq!(list["method"], "tools/list");
    shared.respond(&subscribe, "{}").await;
    let acknowledged = client.receive().await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    let updated = "notifications/resources/updated";
    let params = json!({"uri": "file:///a"});
    shared.send(notification(updated, params.clone())).await;
    client.expect(subscribed(updated, "two", params)).await;
    shared.respond(&list, r#"{"tools":[]}"#).await;
    assert_eq!(client.receive().await["id"], 3);
}

#[tokio::test(start_paused = true)]
async fn subscription_without_a_response_fails_after_30_s() {
    let (_relay, mut client, _connections, mut shared) = legacy_upstream().await;
    let filter = json!({"resourceSubscriptions": ["file:///a"]});
    client.send(listen("l", filter)).await;
    let subscribe = shared.receive().await;
    let start = tokio::time::Instant::now();
    let error = client.expect_error("l", -32603).await;
    assert_eq!(error["data"]["reason"], "upstream_unreachable");
    assert_eq!(start.elapsed().as_secs(), 30);
    let cancelled = shared.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], subscribe["id"]);
}

#[tokio::test]
async fn new_session_gets_the_subscriptions_of_the_lost_one() {
    let (upstream, mut posts) = raw_http();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let filter = json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]});
    client.send(listen("l", filter)).await;
    posts.accept_legacy("one").await;
    posts.expect("resources/subscribe").await.respond(json!({}));
    client.receive().await;
    client.send(modern(2, "tools/list", json!({}))).await;
    let list = posts.expect("tools/list").await;
    assert_eq!(list.session.as_deref(), Some("one"));
    list.finish(StatusCode::NOT_FOUND);
    posts.accept_legacy("two").await;
    // The repeated request and the subscription have no order.
    for _ in 0..2 {
        let post = posts.next().await;
        assert_eq!(post.session.as_deref(), Some("two"));
        match post.message["method"].as_str() {
            Some("resources/subscribe") => post.respond(json!({})),
            Some("tools/list") => post.respond(json!({"tools": []})),
            other => panic!("unexpected: {other:?}"),
        }
    }
    let mut received = Vec::new();
    for _ in 0..3 {
        let message = client.receive().await;
        let method = message["method"].as_str().unwrap_or("the response");
        received.push(method.to_owned());
    }
    received.sort();
    let updated = "notifications/resources/updated";
    assert_eq!(received, [updated, TOOLS_CHANGED, "the response"]);
}

#[tokio::test]
async fn shutdown_ends_a_forwarded_subscription_with_its_result() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client
        .send(listen("l", json!({"toolsListChanged": true})))
        .await;
    let mut server = connections.accept_modern().await;
    let request = server.receive().await;
    let acknowledged = "notifications/subscriptions/acknowledged";
    server
        .send(subscribed(acknowledged, request["id"].clone(), json!({})))
        .await;
    client.receive().await;
    relay.server().shutdown();
    client
        .expect(notification(
            "notifications/cancelled",
            json!({"requestId": "l"}),
        ))
        .await;
    let ended = client.receive().await;
    assert_eq!(ended["id"], "l");
    assert_eq!(ended["result"]["resultType"], "complete");
    let meta = json!({"io.modelcontextprotocol/subscriptionId": "l"});
    assert_eq!(ended["result"]["_meta"], meta);
    let cancelled = server.receive().await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    client.expect_end().await;
}

/// A subscription over HTTP ends as one of the server itself does, and so does the one behind the relay.
#[tokio::test(start_paused = true)]
async fn shutdown_and_expired_token_end_a_forwarded_http_subscription() {
    for is_shutdown in [true, false] {
        let (upstream, mut posts) = raw_http();
        let relay = upstream.relay();
        let service = HttpService::new(relay.server().clone(), HttpOptions::new());
        let message = listen("l", json!({"toolsListChanged": true}));
        let mut request = Request::modern(&message).to_http();
        let expiry = SystemTime::now() + Duration::from_secs(600);
        let token = TokenInfo::verified().with_expires_at(expiry);
        request.extensions_mut().insert(token);
        let responding = tokio::spawn(async move { service.respond(request).await });
        posts.accept_modern().await;
        let post = posts.expect("subscriptions/listen").await;
        let id = post.message["id"].clone();
        let stream = post.stream();
        let acknowledged = "notifications/subscriptions/acknowledged";
        stream.send(&subscribed(acknowledged, id, json!({})));
        let mut body = Box::pin(responding.await.unwrap().into_body());
        let first = next_chunk(&mut body).await.unwrap();
        assert!(first.contains(acknowledged), "{first}");
        if is_shutdown {
            relay.server().shutdown();
        } else {
            tokio::time::advance(Duration::from_secs(601)).await;
        }
        let last = next_chunk(&mut body).await.unwrap();
        assert!(last.contains(r#""id":"l","result":"#), "{last}");
        assert_eq!(next_chunk(&mut body).await, None);
        stream.expect_end().await;
    }
}

#[tokio::test]
async fn legacy_http_client_gets_changes_before_its_first_request() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let service = HttpService::new(relay.server().clone(), HttpOptions::new());
    let client = InProcessClient::new(&service);
    let opening = tokio::spawn(async move { client.open_session().await });
    let result = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}},
        "ttlMs": 0,
        "cacheScope": "public",
    });
    let mut server = connections.accept_rejecting(&result.to_string()).await;
    opening.await.unwrap();
    // The notification of the client starts the subscription.
    let request = server.receive().await;
    assert_eq!(request["method"], "subscriptions/listen", "{request}");
    let filter = json!({"toolsListChanged": true});
    assert_eq!(request["params"]["notifications"], filter);
}
