//! JSON-RPC batches, which only clients of 2025-03-26 may send.

use serde_json::{Value, json};
use toolwire::Server;
use toolwire::transport::Limits;
use toolwire_tests::legacy_server::{rich_server, waiting_tool};
use toolwire_tests::peer::{
    Peer, cancel, legacy, modern, notification, plain, result_response, text,
};
use toolwire_tests::server_requests::{all_capabilities, asking_server, call};

async fn batching_peer(server: &Server) -> Peer {
    limited_peer(server, Limits::default()).await
}

async fn limited_peer(server: &Server, limits: Limits) -> Peer {
    let mut peer = Peer::connect_with(server, limits);
    peer.initialize_with("2025-03-26", all_capabilities()).await;
    peer
}

fn ping(id: impl Into<Value>) -> Value {
    legacy(id, "ping", json!({}))
}

/// Receives a batch of responses, sorted by id, because their order is not defined.
async fn receive_batch(peer: &mut Peer) -> Vec<Value> {
    let Value::Array(mut responses) = peer.receive().await else {
        panic!("not an array")
    };
    responses.sort_by_key(|response| response["id"].to_string());
    responses
}

#[tokio::test]
async fn batch_gets_one_array_of_responses() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(json!([
        ping(1),
        call("two", "numbers"),
        notification("notifications/roots/list_changed", json!({})),
        legacy(3, "no/such/method", json!({})),
        legacy(4, "tools/call", json!({"name": "missing"})),
    ]))
    .await;
    let responses = receive_batch(&mut peer).await;
    assert_eq!(responses.len(), 4, "{responses:?}");
    assert_eq!(responses[0], result_response("two", text("[1,2]")));
    assert_eq!(responses[1], result_response(1, json!({})));
    assert_eq!(responses[2]["id"], 3);
    assert_eq!(responses[2]["error"]["code"], -32601);
    assert_eq!(responses[3]["id"], 4);
    assert_eq!(responses[3]["error"]["code"], -32602);
    peer.expect_silence().await;
}

#[tokio::test]
async fn batch_of_one_request_gets_an_array() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(json!([ping(1)])).await;
    peer.expect(json!([result_response(1, json!({}))])).await;
}

#[tokio::test]
async fn invalid_members_do_not_affect_the_others() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(
        r#"[1, "x", null, [], {}, {"jsonrpc":"2.0"}, {"jsonrpc":"2.0","id":"odd","method":5},
            {"jsonrpc":"2.0","id":null,"method":"ping"}, {"jsonrpc":"2.0","id":9,"method":"ping"}]"#
            .replace('\n', " "),
    )
    .await;
    let responses = receive_batch(&mut peer).await;
    let ids: Vec<&Value> = responses.iter().map(|response| &response["id"]).collect();
    let null = &Value::Null;
    assert_eq!(
        ids,
        [
            &json!("odd"),
            &json!(9),
            null,
            null,
            null,
            null,
            null,
            null,
            null
        ]
    );
    assert_eq!(responses[1], result_response(9, json!({})));
    for rejected in responses.iter().filter(|response| response["id"] != 9) {
        assert_eq!(rejected["error"]["code"], -32600, "{rejected}");
    }
    for unreadable in &responses[2..] {
        assert!(unreadable.as_object().unwrap().contains_key("id"));
    }
}

#[tokio::test]
async fn nested_batch_is_rejected() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(json!([[ping(1)], ping(2)])).await;
    let responses = receive_batch(&mut peer).await;
    assert_eq!(responses.len(), 2);
    assert_eq!(responses[0], result_response(2, json!({})));
    assert_eq!(responses[1]["id"], Value::Null);
    assert_eq!(responses[1]["error"]["code"], -32600);
}

#[tokio::test]
async fn empty_batch_is_rejected() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send("[]").await;
    peer.expect_error(Value::Null, -32600).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn batch_without_requests_gets_no_response() {
    let mut peer = batching_peer(&rich_server()).await;
    let note = notification("notifications/unknown", json!({}));
    peer.send(json!([note, note, cancel(77)])).await;
    // A response without a pending request gets no response either.
    peer.send(json!([result_response(1, json!({}))])).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn initialize_inside_a_batch_is_rejected() {
    let initialize = |id: i64| {
        let params = json!({
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "peer", "version": "1"},
        });
        legacy(id, "initialize", params)
    };
    // Before the handshake no revision is negotiated, so batches are not permitted.
    let mut peer = Peer::connect(&rich_server());
    peer.send(json!([initialize(1), ping(2)])).await;
    let rejected = peer.receive().await;
    assert_eq!(rejected["error"]["code"], -32600);
    assert_eq!(rejected.get("id"), None);
    peer.error_of(legacy(3, "tools/list", json!({})), -32602)
        .await;

    peer.initialize("2025-03-26").await;
    peer.send(json!([initialize(1), ping(2)])).await;
    let responses = receive_batch(&mut peer).await;
    assert_eq!(responses[0]["id"], 1);
    assert_eq!(responses[0]["error"]["code"], -32600);
    assert_eq!(responses[1], result_response(2, json!({})));
}

#[tokio::test]
async fn batches_are_rejected_in_other_revisions() {
    for (version, id) in [
        ("2024-11-05", Some(Value::Null)),
        ("2025-06-18", Some(Value::Null)),
        ("2025-11-25", None),
    ] {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        peer.send(json!([ping(1), ping(2)])).await;
        let rejected = peer.receive().await;
        assert_eq!(rejected["error"]["code"], -32600, "{version}");
        assert_eq!(rejected.get("id"), id.as_ref(), "{version}");
        peer.expect_silence().await;
    }
    let mut peer = Peer::connect(&rich_server());
    peer.send(json!([modern(1, "tools/list", json!({}))])).await;
    let rejected = peer.receive().await;
    assert_eq!(rejected["error"]["code"], -32600);
    assert_eq!(rejected.get("id"), None);
}

#[tokio::test]
async fn cancelled_member_has_no_response_in_the_array() {
    let (tool, permits) = waiting_tool();
    let mut peer = batching_peer(&Server::new("s", "1").tool(tool)).await;
    peer.send(json!([call(1, "waiting"), call(2, "waiting"), ping(3)]))
        .await;
    peer.send(cancel(1)).await;
    peer.expect_silence().await;
    permits.add_permits(1);
    let responses = receive_batch(&mut peer).await;
    assert_eq!(
        responses,
        [
            result_response(2, text("released")),
            result_response(3, json!({}))
        ]
    );
    peer.expect_silence().await;
}

#[tokio::test]
async fn batch_with_all_members_cancelled_gets_no_response() {
    let (tool, _permits) = waiting_tool();
    let mut peer = batching_peer(&Server::new("s", "1").tool(tool)).await;
    peer.send(json!([call(1, "waiting"), call(2, "waiting")]))
        .await;
    peer.send(json!([cancel(1), cancel(2)])).await;
    peer.expect_silence().await;
    // Also when the cancellation is part of the batch.
    peer.send(json!([call(1, "waiting"), cancel(1)])).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn unfinished_batch_does_not_delay_other_messages() {
    let (tool, permits) = waiting_tool();
    let mut peer = batching_peer(&Server::new("s", "1").tool(tool)).await;
    peer.send(json!([call(1, "waiting")])).await;
    peer.result_of(ping(2)).await;
    peer.send(json!([ping(3)])).await;
    peer.expect(json!([result_response(3, json!({}))])).await;
    permits.add_permits(1);
    peer.expect(json!([result_response(1, text("released"))]))
        .await;
}

#[tokio::test]
async fn notifications_and_input_requests_of_a_member_are_separate_messages() {
    let mut peer = batching_peer(&rich_server()).await;
    let params = json!({"name": "steps", "_meta": {"progressToken": 5}});
    peer.send(json!([legacy(1, "tools/call", params)])).await;
    for progress in [1.0, 2.0] {
        let received = peer.receive().await;
        assert_eq!(received["params"]["progress"], progress, "{received}");
    }
    peer.expect(json!([result_response(1, text("done"))])).await;

    let mut peer = batching_peer(&asking_server()).await;
    peer.send(json!([call("a", "roots"), call("b", "roots")]))
        .await;
    peer.expect(legacy(1, "roots/list", json!({}))).await;
    peer.expect(legacy(2, "roots/list", json!({}))).await;
    // The client may send its responses as a batch.
    let roots = json!({"roots": []});
    peer.send(json!([
        result_response(2, roots.clone()),
        result_response(1, roots)
    ]))
    .await;
    let expected = text(r#"{"roots":[]}"#);
    let responses = receive_batch(&mut peer).await;
    assert_eq!(
        responses,
        [
            result_response("a", expected.clone()),
            result_response("b", expected)
        ]
    );
}

#[tokio::test]
async fn subscriptions_listen_inside_a_batch_is_rejected() {
    let mut peer = batching_peer(&rich_server()).await;
    let listen = modern(1, "subscriptions/listen", json!({"notifications": {}}));
    peer.send(json!([listen, ping(2)])).await;
    let responses = receive_batch(&mut peer).await;
    assert_eq!(responses[0]["id"], 1);
    assert!(responses[0]["error"].is_object(), "{responses:?}");
    assert_eq!(responses[1], result_response(2, json!({})));
}

#[tokio::test]
async fn batch_before_the_end_of_input_gets_its_responses() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(json!([ping(1), call(2, "numbers")])).await;
    peer.close_input();
    let responses = receive_batch(&mut peer).await;
    assert_eq!(responses.len(), 2);
    peer.expect_end().await;
}

#[tokio::test]
async fn batch_has_at_most_1024_messages() {
    let mut peer = batching_peer(&rich_server()).await;
    let pings = |count: usize| Value::from((0..count).map(ping).collect::<Vec<_>>());
    peer.send(pings(1024)).await;
    assert_eq!(receive_batch(&mut peer).await.len(), 1024);
    peer.send(pings(1025)).await;
    peer.expect_error(Value::Null, -32600).await;
    peer.expect_silence().await;
}

/// Returns limits with this number of bytes for the responses of batches.
fn response_limits(bytes: usize) -> Limits {
    let mut limits = Limits::default();
    limits.bytes_in_flight = bytes;
    limits
}

/// Returns the ids of the requests that got a result.
fn ids_of_results(responses: &[Value]) -> Vec<&Value> {
    let results = responses.iter().filter(|one| one.get("result").is_some());
    results.map(|one| &one["id"]).collect()
}

#[tokio::test]
async fn responses_of_a_batch_have_as_many_bytes_as_the_limit() {
    let server = rich_server();
    let list = |id: usize| legacy(id, "tools/list", json!({}));
    let mut peer = batching_peer(&server).await;
    peer.send(list(1)).await;
    let length = peer.receive_text().await.len();
    let lists = || Value::from((1..=5).map(list).collect::<Vec<_>>());
    for (limit, expected) in [
        (5 * length, vec![1, 2, 3, 4, 5]),
        (3 * length, vec![1, 2, 3]),
        (3 * length - 1, vec![1, 2]),
    ] {
        let mut peer = limited_peer(&server, response_limits(limit)).await;
        // The bytes of a batch are free after its response.
        for _ in 0..3 {
            peer.send(lists()).await;
            let responses = receive_batch(&mut peer).await;
            assert_eq!(responses.len(), 5, "each request has one response");
            assert_eq!(json!(ids_of_results(&responses)), json!(expected));
            for rejected in &responses[expected.len()..] {
                assert_eq!(rejected["error"]["code"], -32603, "{rejected}");
                assert_eq!(rejected["error"]["data"]["reason"], "overloaded");
            }
        }
    }
}

#[tokio::test]
async fn handler_whose_response_does_not_fit_into_a_batch_counts_as_processed() {
    let large = plain("large", |_| async { "x".repeat(1000) });
    let (waiting, permits) = waiting_tool();
    let server = Server::new("s", "1").tool(large).tool(waiting);
    let mut peer = limited_peer(&server, response_limits(1500)).await;
    // The other batch of the connection has not ended, so its response counts.
    peer.send(json!([call(1, "large"), call(2, "waiting")]))
        .await;
    peer.result_of(ping(3)).await;
    peer.send(json!([call(4, "large")])).await;
    let responses = receive_batch(&mut peer).await;
    assert_eq!(responses.len(), 1);
    assert_eq!(responses[0]["id"], 4);
    let error = &responses[0]["error"];
    assert_eq!(error["code"], -32603, "{error}");
    assert_eq!(error.get("data"), None, "it must not be sent again");
    permits.add_permits(1);
    let responses = receive_batch(&mut peer).await;
    assert_eq!(json!(ids_of_results(&responses)), json!([1, 2]));
    peer.send(json!([call(5, "large")])).await;
    assert_eq!(
        json!(ids_of_results(&receive_batch(&mut peer).await)),
        json!([5])
    );
}
