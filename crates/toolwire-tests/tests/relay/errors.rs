//! Errors, cancellations and capabilities that pass through a relay.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::relay::Relay;
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire::types::ElicitResult;
use toolwire::{Client, relay::Upstream};
use toolwire_tests::channel_transport::{ChannelReader, ChannelWriter};
use toolwire_tests::http::direct::InProcessClient;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{Peer, legacy, modern, modern_with, notification, result_response};

use crate::raw_http::raw_http;
use crate::raw_upstream::{RawConnection, RawUpstream, modern_details, raw_upstream};

fn details() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "prompts": {}},
        "serverInfo": {"name": "old", "version": "1"},
    })
}

fn initialize(capabilities: Value) -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "old", "version": "1"},
    });
    legacy(1, "initialize", params)
}

/// Returns a legacy client and a legacy server.
async fn legacy_pair() -> (Relay, Peer, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize(json!({}))).await;
    let (server, _) = connections.accept_legacy(&details().to_string()).await;
    client.receive().await;
    (relay, client, server)
}

/// Returns a legacy client and a modern server.
async fn legacy_client() -> (Relay, Peer, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(initialize(json!({"roots": {}}))).await;
    let server = connections.accept_rejecting(&modern_details()).await;
    client.receive().await;
    (relay, client, server)
}

/// Sends a modern request of a client that can be asked to a legacy server, and returns the session of the request.
async fn asking(
    relay: &Relay,
    connections: &mut RawUpstream,
    request: Value,
) -> (Peer, RawConnection, Value) {
    let client = Peer::connect(relay.server());
    client.send(request).await;
    let mut shared = connections.accept().await;
    let discover = shared.receive().await;
    let error = r#"{"code":-32601,"message":"unknown method"}"#;
    shared.reject(&discover, error).await;
    let initialize = shared.receive().await;
    shared.respond(&initialize, &details().to_string()).await;
    shared.receive().await;
    let (mut session, _) = connections.accept_legacy(&details().to_string()).await;
    session.receive().await;
    let request = session.receive().await;
    // The session without capabilities has to stay open.
    tokio::spawn(async move { while shared.next().await.is_some() {} });
    (client, session, request)
}

#[tokio::test(start_paused = true)]
async fn retry_of_a_dropped_prompt_is_an_error() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let request =
        |id: i64, params: Value| modern_with(id, "prompts/get", params, json!({"roots": {}}));
    let first = request(1, json!({"name": "p"}));
    let (mut client, mut session, _) = asking(&relay, &mut connections, first).await;
    session
        .send(json!({"jsonrpc": "2.0", "id": "s", "method": "roots/list"}))
        .await;
    let state = client.receive().await["result"]["requestState"].clone();
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(session.receive().await["method"], "notifications/cancelled");
    let responses = json!({"q1": {"roots": []}});
    let retry = json!({"name": "p", "requestState": state, "inputResponses": responses});
    client.send(request(2, retry)).await;
    let error = client.expect_error(2, -32602).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("no longer open"), "{message}");
}

#[tokio::test]
async fn input_request_that_cannot_be_converted_does_not_park_the_call() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let capabilities = json!({"elicitation": {}});
    let request = modern_with(1, "tools/call", json!({"name": "ask"}), capabilities);
    let (mut client, mut session, call) = asking(&relay, &mut connections, request).await;
    let invalid =
        json!({"jsonrpc": "2.0", "id": "s", "method": "elicitation/create", "params": {}});
    session.send(invalid).await;
    let rejected = session.receive().await;
    assert_eq!(rejected["error"]["code"], -32602, "{rejected}");
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn input_required_without_requests_is_repeated_with_its_state() {
    let (_relay, mut client, mut server) = legacy_client().await;
    client
        .send(legacy(2, "tools/call", json!({"name": "busy"})))
        .await;
    let mut request = server.receive().await;
    for result in [
        json!({"resultType": "input_required", "requestState": "one"}),
        json!({"resultType": "input_required", "requestState": "two", "inputRequests": {}}),
    ] {
        server.respond(&request, &result.to_string()).await;
        request = server.receive().await;
        assert_eq!(request["params"]["requestState"], result["requestState"]);
        assert!(
            request["params"].get("inputResponses").is_none(),
            "{request}"
        );
    }
    let result = json!({"resultType": "complete", "content": []});
    server.respond(&request, &result.to_string()).await;
    client
        .expect(result_response(2, json!({"content": []})))
        .await;
}

#[tokio::test]
async fn input_required_without_requests_and_state_is_an_error() {
    for result in [
        json!({"resultType": "input_required"}),
        json!({"resultType": "input_required", "inputRequests": {}}),
    ] {
        let (_relay, mut client, mut server) = legacy_client().await;
        client
            .send(legacy(2, "tools/call", json!({"name": "odd"})))
            .await;
        let request = server.receive().await;
        server.respond(&request, &result.to_string()).await;
        let error = client.expect_error(2, -32603).await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("without a state"), "{message}");
    }
}

#[tokio::test]
async fn handlers_of_the_builder_declare_no_capabilities() {
    let (opened, mut connections) = tokio::sync::mpsc::unbounded_channel();
    let upstream = Upstream::new(move |builder| {
        let (to_server, incoming) = tokio::sync::mpsc::channel(16);
        let (outgoing, from_server) = tokio::sync::mpsc::channel::<Vec<u8>>(16);
        opened.send((incoming, outgoing)).expect("the test waits");
        builder.connect_messages(ChannelReader(from_server), ChannelWriter(to_server))
    });
    let builder = Client::builder("relay", "1")
        .on_elicitation(|_| async { Ok(ElicitResult::accept()) })
        .with_extension("com.example/x", json!({}));
    let relay = upstream.with_builder(builder).relay();
    let client = Peer::connect(relay.server());
    client.send(modern(1, "tools/list", json!({}))).await;
    let (mut incoming, _outgoing) = connections.recv().await.expect("a connection");
    let discover: Value =
        serde_json::from_slice(&incoming.recv().await.expect("a message")).unwrap();
    let meta = &discover["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({})
    );
}

#[tokio::test]
async fn cancellation_keeps_its_reason() {
    let (_relay, client, mut server) = legacy_pair().await;
    client
        .send(legacy(5, "tools/call", json!({"name": "slow"})))
        .await;
    let call = server.receive().await;
    let params = json!({"requestId": 5, "reason": "the user pressed stop"});
    client
        .send(notification("notifications/cancelled", params))
        .await;
    let expected = json!({"requestId": call["id"], "reason": "the user pressed stop"});
    let cancelled = server.receive().await;
    assert_eq!(cancelled, notification("notifications/cancelled", expected));
}

#[tokio::test]
async fn error_keeps_unknown_members() {
    let (_relay, mut client, mut server) = legacy_pair().await;
    client.send(legacy(1, "tools/list", json!({}))).await;
    let request = server.receive().await;
    let error =
        r#"{"code":-31999,"message":"own","data":{"b":1.0},"x-retry":{"after":1.50},"y":null}"#;
    server.reject(&request, error).await;
    assert_eq!(
        client.receive_text().await,
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#)
    );
}

#[tokio::test]
async fn mirrored_headers_are_checked_by_the_relay() {
    let (upstream, mut posts) = raw_http();
    let relay = upstream.relay();
    let service = HttpService::new(relay.server().clone(), HttpOptions::new());
    let client = InProcessClient::new(&service);
    let listing = tokio::spawn({
        let client = client.clone();
        let list = Request::modern(&modern(1, "tools/list", json!({})));
        async move { client.request(list).await }
    });
    posts.accept_modern().await;
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    let schema = json!({"type": "object", "properties": {"region": region}});
    posts.expect("tools/list").await.respond(json!({
        "resultType": "complete",
        "tools": [{"name": "deploy", "inputSchema": schema}],
        "ttlMs": 0,
        "cacheScope": "public",
    }));
    assert_eq!(listing.await.unwrap().status, 200);
    let params = json!({"name": "deploy", "arguments": {"region": "eu"}});
    let call = Request::modern(&modern(2, "tools/call", params));
    for request in [call.clone().with("Mcp-Param-Region", "us"), call.clone()] {
        let rejected = client.request(request).await;
        assert_eq!(rejected.status, 400, "{}", rejected.body);
        assert!(rejected.body.contains("-32020"), "{}", rejected.body);
    }
    let calling =
        tokio::spawn(async move { client.request(call.with("Mcp-Param-Region", "eu")).await });
    // The rejected calls did not reach the server.
    let post = posts.expect("tools/call").await;
    assert_eq!(post.message["params"]["arguments"]["region"], "eu");
    post.respond(json!({"resultType": "complete", "content": []}));
    assert_eq!(calling.await.unwrap().status, 200);
}

#[tokio::test]
async fn ambiguous_message_never_reaches_the_upstream_server() {
    let (_relay, mut client, mut server) = legacy_pair().await;
    let call = |params: &str| {
        let mut line = br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":"#.to_vec();
        line.extend(params.as_bytes());
        line.extend(b"}\n");
        line
    };
    let deep = format!(
        r#"{{"name":"a","arguments":{}1{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let mut invalid_utf8 = call(r#"{"name":"?"}"#);
    let position = invalid_utf8.iter().rposition(|byte| *byte == b'?');
    invalid_utf8[position.expect("the name is there")] = 0xff;
    for line in [
        call(r#"{"name":"read","name":"delete"}"#),
        call(r#"{"name":"read","arguments":{"path":"/a","path":"/b"}}"#),
        call(&deep),
        invalid_utf8,
    ] {
        let text = String::from_utf8_lossy(&line).into_owned();
        client.send_bytes(line).await;
        let response = client.receive().await;
        assert!(response["error"].is_object(), "{text} {response}");
    }
    client.send(legacy(3, "tools/list", json!({}))).await;
    let first = server.receive().await;
    assert_eq!(first["method"], "tools/list", "{first}");
}
