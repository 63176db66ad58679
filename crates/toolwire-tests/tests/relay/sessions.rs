//! The sessions of legacy clients: their order, their loss and their end.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::relay::Relay;
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService};
use toolwire_tests::http::direct::{InProcessClient, in_session, next_chunk};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::{Peer, legacy, modern, notification, result_response, within};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

const VERSION: &str = "2025-11-25";

/// The result of `initialize` of the upstream server.
fn details() -> String {
    json!({
        "protocolVersion": VERSION,
        "capabilities": {"tools": {"listChanged": true}, "prompts": {}},
        "serverInfo": {"name": "old", "version": "1"},
    })
    .to_string()
}

fn initialize(id: i64) -> Value {
    let params = json!({
        "protocolVersion": VERSION,
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "peer", "version": "9"},
    });
    legacy(id, "initialize", params)
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {"x": 1}})
}

/// Returns a client and an upstream server with a session between them.
async fn pair() -> (Relay, Peer, RawUpstream, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.with_name("files").relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize(1)).await;
    let (mut server, _) = connections.accept_legacy(&details()).await;
    client.receive().await;
    client.send(initialized()).await;
    assert_eq!(server.receive().await, initialized());
    (relay, client, connections, server)
}

/// Accepts the session that replaces a lost one.
async fn accept_again(connections: &mut RawUpstream) -> RawConnection {
    let (mut server, params) = connections.accept_legacy(&details()).await;
    assert_eq!(params, initialize(1)["params"]);
    assert_eq!(server.receive().await, initialized());
    server
}

async fn expect_list_change(client: &mut Peer) {
    let method = "notifications/tools/list_changed";
    client
        .expect(json!({"jsonrpc": "2.0", "method": method}))
        .await;
}

#[tokio::test]
async fn parameters_of_initialize_are_limited_in_bytes() {
    const LIMIT: usize = 128 * 1024;
    let padded = |padding: usize| {
        let mut request = initialize(1);
        request["params"]["x"] = "x".repeat(padding).into();
        request
    };
    let padding = LIMIT - padded(0)["params"].to_string().len();
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.error_of(padded(padding + 1), -32602).await;
    assert!(connections.is_quiet());
    client.send(padded(padding)).await;
    let (_server, params) = connections.accept_legacy(&details()).await;
    assert_eq!(params.to_string().len(), LIMIT);
    assert!(client.receive().await.get("result").is_some());
}

#[tokio::test]
async fn request_does_not_overtake_an_earlier_notification() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize(1)).await;
    let (mut server, _) = connections.accept_legacy(&details()).await;
    client.receive().await;
    // A request that arrives with others is polled before the task of a notification runs.
    let burst = [
        initialized(),
        legacy(2, "tools/list", json!({})),
        legacy(3, "ping", json!({})),
    ];
    let lines: Vec<String> = burst.iter().map(|message| format!("{message}\n")).collect();
    client.send_bytes(lines.concat()).await;
    assert_eq!(
        server.receive().await["method"],
        "notifications/initialized"
    );
    assert_eq!(server.receive().await["method"], "tools/list");
    assert_eq!(server.receive().await["method"], "ping");
}

#[tokio::test]
async fn session_of_a_client_that_ends_during_initialize_is_closed() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize(1)).await;
    let mut server = connections.accept().await;
    let request = server.receive().await;
    client.close_input();
    server.respond(&request, &details()).await;
    assert!(client.receive().await.get("result").is_some());
    client.expect_end().await;
    server.expect_end().await;
}

#[tokio::test]
async fn notification_in_one_write_with_initialize_waits_for_the_session() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    let lines = format!("{}\n{}\n", initialize(1), initialized());
    client.send_bytes(lines).await;
    let (mut server, _) = connections.accept_legacy(&details()).await;
    assert_eq!(client.receive().await["id"], 1);
    client.send(legacy(2, "ping", json!({}))).await;
    assert_eq!(server.receive().await, initialized());
    assert_eq!(server.receive().await["method"], "ping");
}

#[tokio::test]
async fn lost_session_is_opened_again_for_the_next_request() {
    let (_relay, mut client, mut connections, mut server) = pair().await;
    client
        .send(legacy(2, "tools/call", json!({"name": "slow"})))
        .await;
    server.receive().await;
    drop(server);
    let error = client.expect_error(2, -32603).await;
    let data = json!({"reason": "upstream_unreachable", "upstream": "files"});
    assert_eq!(error["data"], data, "{error}");
    client.send(legacy(3, "tools/list", json!({}))).await;
    let mut server = accept_again(&mut connections).await;
    expect_list_change(&mut client).await;
    let request = server.receive().await;
    assert_eq!(request["method"], "tools/list");
    server.respond(&request, r#"{"tools":[]}"#).await;
    client
        .expect(result_response(3, json!({"tools": []})))
        .await;
    // Messages of the new session reach the client.
    let event = notification("com.example/event", json!({}));
    server.send(&event).await;
    client.expect(event).await;
}

#[tokio::test]
async fn log_level_and_subscriptions_are_requested_again() {
    let (_relay, mut client, mut connections, mut server) = pair().await;
    let requests = [
        legacy(2, "logging/setLevel", json!({"level": "debug"})),
        legacy(3, "resources/subscribe", json!({"uri": "file:///a"})),
        legacy(4, "resources/subscribe", json!({"uri": "file:///b"})),
        legacy(5, "resources/unsubscribe", json!({"uri": "file:///a"})),
    ];
    for request in &requests {
        client.send(request).await;
        let received = server.receive().await;
        server.respond(&received, "{}").await;
        client.receive().await;
    }
    drop(server);
    client.send(legacy(6, "ping", json!({}))).await;
    let mut server = accept_again(&mut connections).await;
    for expected in [&requests[0], &requests[2]] {
        let repeated = server.receive().await;
        assert_eq!(repeated["method"], expected["method"]);
        assert_eq!(repeated["params"], expected["params"]);
        server.respond(&repeated, "{}").await;
    }
    assert_eq!(server.receive().await["method"], "ping");
}

#[tokio::test(start_paused = true)]
async fn lost_session_is_opened_again_without_a_request() {
    let (_relay, mut client, mut connections, server) = pair().await;
    drop(server);
    let _server = accept_again(&mut connections).await;
    expect_list_change(&mut client).await;
}

#[tokio::test(start_paused = true)]
async fn server_that_ends_after_each_start_is_started_after_pauses() {
    let (_relay, mut client, mut connections, server) = pair().await;
    drop(server);
    // The first loss causes no pause.
    client.send(legacy(2, "ping", json!({}))).await;
    drop(accept_again(&mut connections).await);
    expect_list_change(&mut client).await;
    client.expect_error(2, -32603).await;
    client.send(legacy(3, "ping", json!({}))).await;
    let error = client.expect_error(3, -32603).await;
    assert!(error.to_string().contains("next attempt"), "{error}");
    assert_eq!(error["data"]["upstream"], "files");
}

#[tokio::test(start_paused = true)]
async fn server_that_returns_with_another_revision_is_started_after_pauses() {
    let (relay, mut client, mut connections, server) = pair().await;
    drop(server);
    client.send(legacy(2, "ping", json!({}))).await;
    let other = details().replace(VERSION, "2025-06-18");
    let (mut server, _) = connections.accept_legacy(&other).await;
    let error = client.expect_error(2, -32603).await;
    let expected = "changed its protocol version from 2025-11-25 to 2025-06-18; initialize again";
    assert!(error.to_string().contains(expected), "{error}");
    server.expect_end().await;
    client.send(legacy(3, "ping", json!({}))).await;
    let error = client.expect_error(3, -32603).await;
    assert!(error.to_string().contains("next attempt"), "{error}");
    assert!(connections.is_quiet());
    // Another client is not affected.
    let mut other_client = Peer::connect(relay.server());
    other_client.send(initialize(1)).await;
    let _server = connections.accept_legacy(&other).await;
    assert!(other_client.receive().await.get("result").is_some());
}

#[tokio::test(start_paused = true)]
async fn client_of_a_modern_server_listens_again_after_a_loss() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize(1)).await;
    let mut server = connections.accept_rejecting(&listening()).await;
    client.receive().await;
    client.send(initialized()).await;
    assert_eq!(server.receive().await["method"], "subscriptions/listen");
    drop(server);
    let mut server = connections.accept().await;
    let discover = server.receive().await;
    assert_eq!(discover["method"], "server/discover");
    server.respond(&discover, &listening()).await;
    expect_list_change(&mut client).await;
    assert_eq!(server.receive().await["method"], "subscriptions/listen");
    client.send(legacy(2, "tools/list", json!({}))).await;
    let request = server.receive().await;
    assert_eq!(request["method"], "tools/list");
    let result = r#"{"resultType":"complete","tools":[]}"#;
    server.respond(&request, result).await;
    client
        .expect(result_response(2, json!({"tools": []})))
        .await;
}

/// Returns the details of a modern server that announces changes of its tools.
fn listening() -> String {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}},
        "ttlMs": 0,
        "cacheScope": "public",
    })
    .to_string()
}

#[tokio::test]
async fn failure_to_connect_does_not_end_the_attempts_with_sessions() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut first = Peer::connect(relay.server());
    first.send(initialize(1)).await;
    // The server closes the connection at `initialize`, and is modern.
    let mut closing = connections.accept().await;
    closing.receive().await;
    drop(closing);
    let _server = connections.accept_modern().await;
    assert!(first.receive().await.get("result").is_some());
    // A server that supports both eras may have failed by accident.
    let second = Peer::connect(relay.server());
    second.send(initialize(1)).await;
    let mut session = connections.accept().await;
    let request = session.receive().await;
    assert_eq!(request["method"], "initialize");
    let error = r#"{"code":-32601,"message":"unknown method"}"#;
    session.reject(&request, error).await;
    // Now it is known that it does not.
    let mut third = Peer::connect(relay.server());
    third.send(initialize(1)).await;
    assert!(third.receive().await.get("result").is_some());
}

/// Returns the HTTP service of a relay, and the upstream server of its first session.
async fn http_session(limits: HttpLimits) -> (InProcessClient, String, RawUpstream, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let options = HttpOptions::new().with_limits(limits);
    let service = HttpService::new(upstream.relay().server().clone(), options);
    let client = InProcessClient::new(&service);
    let opening = {
        let client = client.clone();
        tokio::spawn(async move { client.initialize().await })
    };
    let (server, _) = connections.accept_legacy(&details()).await;
    let session = within(opening).await.expect("the request ends");
    (client, session, connections, server)
}

#[tokio::test]
async fn deleted_session_ends_its_upstream_session() {
    let (client, session, _connections, mut server) = http_session(HttpLimits::default()).await;
    let deleted = client.request(Request::delete(&session, VERSION)).await;
    assert_eq!(deleted.status, 204);
    server.expect_end().await;
}

#[tokio::test(start_paused = true)]
async fn expired_session_ends_its_upstream_session() {
    // The client sends nothing after `initialize`.
    let (_client, _session, _connections, mut server) = http_session(HttpLimits::default()).await;
    let expired = tokio::time::timeout(Duration::from_secs(120), async {
        while server.next().await.is_some() {}
    });
    assert!(expired.await.is_ok());
}

#[tokio::test]
async fn resumed_stream_announces_the_resources_that_a_session_subscribes_to() {
    let (client, session, _connections, mut server) = http_session(HttpLimits::default()).await;
    client.request(in_session(&session, &initialized())).await;
    assert_eq!(server.receive().await, initialized());
    let start = |message: &Value| {
        let (client, request) = (client.clone(), in_session(&session, message));
        tokio::spawn(async move { client.request(request).await.status })
    };
    let subscribe = legacy(2, "resources/subscribe", json!({"uri": "file:///a"}));
    let subscribing = start(&subscribe);
    let request = server.receive().await;
    server.respond(&request, "{}").await;
    assert_eq!(within(subscribing).await.expect("the request ends"), 200);
    let get = || Request::get(&session, VERSION);
    let mut body = Box::pin(client.send(get()).await.into_body());
    let first = within(next_chunk(&mut body)).await.expect("an event");
    let id = first.lines().find_map(|line| line.strip_prefix("id: "));
    let id = id.expect("the event has an id");
    // The resource changes while the client is not connected.
    drop(body);
    let params = json!({"uri": "file:///a"});
    let updated = notification("notifications/resources/updated", params);
    server.send(updated).await;
    let pinging = start(&legacy(3, "ping", json!({})));
    let request = server.receive().await;
    server.respond(&request, "{}").await;
    within(pinging).await.expect("the request ends");
    let resumed = client.send(get().with("Last-Event-ID", id)).await;
    let mut body = Box::pin(resumed.into_body());
    loop {
        let chunk = within(next_chunk(&mut body)).await.expect("an event");
        if chunk.contains("notifications/resources/updated") {
            break assert!(chunk.contains("file:///a"), "{chunk}");
        }
    }
}

#[tokio::test]
async fn second_initialize_in_a_session_opens_no_upstream_session() {
    let (client, session, mut connections, mut server) = http_session(HttpLimits::default()).await;
    let again = initialize_request(VERSION).in_session(&session, VERSION);
    let response = client.request(again).await;
    assert_eq!(response.status, 200, "{}", response.body);
    assert_eq!(response.session.as_deref(), Some(&*session));
    assert!(
        response.body.contains(r#""name":"old""#),
        "{}",
        response.body
    );
    assert!(connections.is_quiet());
    // The session is the first one.
    let calling = tokio::spawn(async move {
        let ping = in_session(&session, &legacy(1, "ping", json!({})));
        client.request(ping).await
    });
    let ping = server.receive().await;
    server.respond(&ping, "{}").await;
    assert_eq!(within(calling).await.unwrap().status, 200);
}

#[tokio::test]
async fn closed_relay_ends_all_sessions_and_rejects_requests() {
    let (relay, mut client, mut connections, mut server) = pair().await;
    client
        .send(legacy(2, "tools/call", json!({"name": "slow"})))
        .await;
    server.receive().await;
    within(relay.close()).await;
    server.expect_end().await;
    client.expect_error(2, -32603).await;
    for request in [
        legacy(3, "ping", json!({})),
        modern(4, "tools/list", json!({})),
    ] {
        let id = request["id"].clone();
        client.send(request).await;
        let error = client.expect_error(id, -32603).await;
        assert!(error.to_string().contains("the relay is closed"), "{error}");
    }
    assert!(connections.is_quiet());
}
