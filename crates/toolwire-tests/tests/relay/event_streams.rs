//! Streams of events that pass through a relay.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use toolwire::TokenInfo;
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire_tests::http::direct::next_chunk;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{Peer, call, modern, notification, result_response};

use crate::raw_http::raw_http;
use crate::raw_upstream::{RawConnection, raw_upstream};

const ACTIVE: &str = "notifications/events/active";

fn stream(id: impl Into<Value>) -> Value {
    modern(id, "events/stream", json!({"name": "opened"}))
}

/// Returns the first message of a stream.
fn active(id: &Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
    notification(
        ACTIVE,
        json!({"cursor": "c", "truncated": false, "_meta": meta}),
    )
}

/// Returns the result of a stream.
fn ended(id: &Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
    json!({"resultType": "complete", "_meta": meta})
}

/// Opens a stream with the upstream server of the next connection. Returns the request that it got.
async fn open(client: &mut Peer, id: &str, server: &mut RawConnection) -> Value {
    let request = server.receive().await;
    assert_eq!(request["method"], "events/stream", "{request}");
    server.send(active(&request["id"])).await;
    client.expect(active(&json!(id))).await;
    request
}

#[tokio::test]
async fn result_of_an_event_stream_has_the_id_of_the_client() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(stream("e")).await;
    let mut server = connections.accept_modern().await;
    let request = open(&mut client, "e", &mut server).await;
    let result = ended(&request["id"]).to_string();
    server.respond(&request, &result).await;
    client
        .expect(result_response("e", ended(&json!("e"))))
        .await;
}

#[tokio::test]
async fn log_messages_reach_the_only_call_beside_an_event_stream_of_another_client() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut listener = Peer::connect(relay.server());
    listener.send(stream("e")).await;
    let mut server = connections.accept_modern().await;
    open(&mut listener, "e", &mut server).await;
    let mut caller = Peer::connect(relay.server());
    caller.send(call(1, "slow", json!({}))).await;
    let received = server.receive().await;
    assert_eq!(received["method"], "tools/call");
    let log = notification(
        "notifications/message",
        json!({"level": "info", "data": "x"}),
    );
    server.send(&log).await;
    server
        .respond(&received, r#"{"resultType":"complete","content":[]}"#)
        .await;
    caller.expect(log).await;
    assert_eq!(caller.receive().await["id"], 1);
    listener.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_a_forwarded_event_stream_with_its_result() {
    let (upstream, mut connections) = raw_upstream();
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(stream("e")).await;
    let mut server = connections.accept_modern().await;
    let request = open(&mut client, "e", &mut server).await;
    relay.server().shutdown();
    client
        .expect(result_response("e", ended(&json!("e"))))
        .await;
    let cancelled = server.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    client.expect_end().await;
}

/// A stream over HTTP ends as one of the server itself does, and so does the one behind the relay.
#[tokio::test(start_paused = true)]
async fn shutdown_and_expired_token_end_a_forwarded_http_event_stream() {
    for is_shutdown in [true, false] {
        let (upstream, mut posts) = raw_http();
        let relay = upstream.relay();
        let service = HttpService::new(relay.server().clone(), HttpOptions::new());
        let mut request = Request::modern(&stream("e")).to_http();
        let expiry = SystemTime::now() + Duration::from_secs(60);
        let token = TokenInfo::verified().with_expires_at(expiry);
        request.extensions_mut().insert(token);
        let responding = tokio::spawn(async move { service.respond(request).await });
        posts.accept_modern().await;
        let post = posts.expect("events/stream").await;
        let id = post.message["id"].clone();
        let stream = post.stream();
        stream.send(&active(&id));
        let mut body = Box::pin(responding.await.unwrap().into_body());
        let first = next_chunk(&mut body).await.unwrap();
        assert!(first.contains(ACTIVE), "{first}");
        if is_shutdown {
            relay.server().shutdown();
        } else {
            tokio::time::advance(Duration::from_secs(61)).await;
        }
        let last = next_chunk(&mut body).await.unwrap();
        assert!(last.contains(r#""id":"e","result":"#), "{last}");
        assert_eq!(next_chunk(&mut body).await, None);
        stream.expect_end().await;
    }
}
