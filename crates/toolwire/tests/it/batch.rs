//! Arrays of messages, which clients of 2025-03-26 may send and no others.

use serde_json::{Value, json};
use toolwire::Server;

use crate::legacy_asking::{able, asking_server, call};
use crate::legacy_server::{held_tool, rich_server};
use crate::peer::{Peer, answer, cancel, legacy, modern, notification, text};

async fn batching_peer(server: &Server) -> Peer {
    let mut peer = Peer::connect(server);
    peer.initialize_with("2025-03-26", able()).await;
    peer
}

fn ping(id: impl Into<Value>) -> Value {
    legacy(id, "ping", json!({}))
}

/// The members of the next message, sorted: nothing promises an order.
async fn receive_batch(peer: &mut Peer) -> Vec<Value> {
    let Value::Array(mut answers) = peer.receive().await else {
        panic!("not an array")
    };
    answers.sort_by_key(|answer| answer["id"].to_string());
    answers
}

#[tokio::test]
async fn a_batch_is_answered_with_one_array() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(json!([
        ping(1),
        call("two", "numbers"),
        notification("notifications/roots/list_changed", json!({})),
        legacy(3, "no/such/method", json!({})),
        legacy(4, "tools/call", json!({"name": "missing"})),
    ]))
    .await;
    let answers = receive_batch(&mut peer).await;
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert_eq!(answers[0], answer("two", text("[1,2]")));
    assert_eq!(answers[1], answer(1, json!({})));
    assert_eq!(answers[2]["id"], 3);
    assert_eq!(answers[2]["error"]["code"], -32601);
    assert_eq!(answers[3]["id"], 4);
    assert_eq!(answers[3]["error"]["code"], -32602);
    peer.expect_silence().await;
}

#[tokio::test]
async fn a_batch_of_one_is_still_a_batch() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(json!([ping(1)])).await;
    peer.expect(json!([answer(1, json!({}))])).await;
}

#[tokio::test]
async fn invalid_members_do_not_harm_the_others() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(
        r#"[1, "x", null, [], {}, {"jsonrpc":"2.0"}, {"jsonrpc":"2.0","id":"odd","method":5},
            {"jsonrpc":"2.0","id":null,"method":"ping"}, {"jsonrpc":"2.0","id":9,"method":"ping"}]"#
            .replace('\n', " "),
    )
    .await;
    let answers = receive_batch(&mut peer).await;
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
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
    assert_eq!(answers[1], answer(9, json!({})));
    for refused in answers.iter().filter(|answer| answer["id"] != 9) {
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
    }
    for unreadable in &answers[2..] {
        assert!(unreadable.as_object().unwrap().contains_key("id"));
    }
}

#[tokio::test]
async fn a_batch_inside_a_batch_is_refused() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(json!([[ping(1)], ping(2)])).await;
    let answers = receive_batch(&mut peer).await;
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0], answer(2, json!({})));
    assert_eq!(answers[1]["id"], Value::Null);
    assert_eq!(answers[1]["error"]["code"], -32600);
}

#[tokio::test]
async fn an_empty_batch_is_refused() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send("[]").await;
    peer.expect_error(Value::Null, -32600).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn a_batch_that_wants_no_answer_gets_none() {
    let mut peer = batching_peer(&rich_server()).await;
    let note = notification("notifications/unknown", json!({}));
    peer.send(json!([note, note, cancel(77)])).await;
    // An answer to a question nobody asked is none either.
    peer.send(json!([answer(1, json!({}))])).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn initialize_cannot_be_part_of_a_batch() {
    let initialize = |id: i64| {
        let params = json!({
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "peer", "version": "1"},
        });
        legacy(id, "initialize", params)
    };
    // As the first message there is no revision yet that would allow a batch.
    let mut peer = Peer::connect(&rich_server());
    peer.send(json!([initialize(1), ping(2)])).await;
    let refused = peer.receive().await;
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(refused.get("id"), None);
    peer.refusal_of(legacy(3, "tools/list", json!({})), -32602)
        .await;

    peer.initialize("2025-03-26").await;
    peer.send(json!([initialize(1), ping(2)])).await;
    let answers = receive_batch(&mut peer).await;
    assert_eq!(answers[0]["id"], 1);
    assert_eq!(answers[0]["error"]["code"], -32600);
    assert_eq!(answers[1], answer(2, json!({})));
}

#[tokio::test]
async fn other_revisions_have_no_batches() {
    for (version, id) in [
        ("2024-11-05", Some(Value::Null)),
        ("2025-06-18", Some(Value::Null)),
        ("2025-11-25", None),
    ] {
        let mut peer = Peer::connect(&rich_server());
        peer.initialize(version).await;
        peer.send(json!([ping(1), ping(2)])).await;
        let refused = peer.receive().await;
        assert_eq!(refused["error"]["code"], -32600, "{version}");
        assert_eq!(refused.get("id"), id.as_ref(), "{version}");
        peer.expect_silence().await;
    }
    let mut peer = Peer::connect(&rich_server());
    peer.send(json!([modern(1, "tools/list", json!({}))])).await;
    let refused = peer.receive().await;
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(refused.get("id"), None);
}

#[tokio::test]
async fn a_cancelled_member_is_left_out() {
    let (tool, permits) = held_tool();
    let mut peer = batching_peer(&Server::new("s", "1").tool(tool)).await;
    peer.send(json!([call(1, "held"), call(2, "held"), ping(3)]))
        .await;
    peer.send(cancel(1)).await;
    peer.expect_silence().await;
    permits.add_permits(1);
    let answers = receive_batch(&mut peer).await;
    assert_eq!(answers, [answer(2, text("released")), answer(3, json!({}))]);
    peer.expect_silence().await;
}

#[tokio::test]
async fn a_batch_whose_members_were_all_cancelled_gets_no_answer() {
    let (tool, _permits) = held_tool();
    let mut peer = batching_peer(&Server::new("s", "1").tool(tool)).await;
    peer.send(json!([call(1, "held"), call(2, "held")])).await;
    peer.send(json!([cancel(1), cancel(2)])).await;
    peer.expect_silence().await;
    // Also when the cancellation comes along.
    peer.send(json!([call(1, "held"), cancel(1)])).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn other_messages_pass_a_batch_that_is_not_finished() {
    let (tool, permits) = held_tool();
    let mut peer = batching_peer(&Server::new("s", "1").tool(tool)).await;
    peer.send(json!([call(1, "held")])).await;
    peer.result_of(ping(2)).await;
    peer.send(json!([ping(3)])).await;
    peer.expect(json!([answer(3, json!({}))])).await;
    permits.add_permits(1);
    peer.expect(json!([answer(1, text("released"))])).await;
}

#[tokio::test]
async fn notifications_and_questions_of_a_member_are_messages_of_their_own() {
    let mut peer = batching_peer(&rich_server()).await;
    let params = json!({"name": "steps", "_meta": {"progressToken": 5}});
    peer.send(json!([legacy(1, "tools/call", params)])).await;
    for progress in [1.0, 2.0] {
        let received = peer.receive().await;
        assert_eq!(received["params"]["progress"], progress, "{received}");
    }
    peer.expect(json!([answer(1, text("done"))])).await;

    let mut peer = batching_peer(&asking_server()).await;
    peer.send(json!([call("a", "roots"), call("b", "roots")]))
        .await;
    peer.expect(legacy(1, "roots/list", json!({}))).await;
    peer.expect(legacy(2, "roots/list", json!({}))).await;
    // The answers may come as a batch, too.
    let roots = json!({"roots": []});
    peer.send(json!([answer(2, roots.clone()), answer(1, roots)]))
        .await;
    let told = text(r#"{"roots":[]}"#);
    let answers = receive_batch(&mut peer).await;
    assert_eq!(answers, [answer("a", told.clone()), answer("b", told)]);
}

#[tokio::test]
async fn a_stream_cannot_be_opened_inside_a_batch() {
    let mut peer = batching_peer(&rich_server()).await;
    let listen = modern(1, "subscriptions/listen", json!({"notifications": {}}));
    peer.send(json!([listen, ping(2)])).await;
    let answers = receive_batch(&mut peer).await;
    assert_eq!(answers[0]["id"], 1);
    assert!(answers[0]["error"].is_object(), "{answers:?}");
    assert_eq!(answers[1], answer(2, json!({})));
}

#[tokio::test]
async fn a_batch_that_was_cut_off_by_the_end_of_input_is_answered() {
    let mut peer = batching_peer(&rich_server()).await;
    peer.send(json!([ping(1), call(2, "numbers")])).await;
    peer.hang_up();
    let answers = receive_batch(&mut peer).await;
    assert_eq!(answers.len(), 2);
    peer.expect_end().await;
}

#[tokio::test]
async fn a_batch_holds_at_most_1024_messages() {
    let mut peer = batching_peer(&rich_server()).await;
    let pings = |count: usize| Value::from((0..count).map(ping).collect::<Vec<_>>());
    peer.send(pings(1024)).await;
    assert_eq!(receive_batch(&mut peer).await.len(), 1024);
    peer.send(pings(1025)).await;
    peer.expect_error(Value::Null, -32600).await;
    peer.expect_silence().await;
}
