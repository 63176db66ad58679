//! Requests to the client whose response is late, missing, or has another id.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::{RequestContext, Server, tool};
use toolwire_tests::legacy_server::LEGACY;
use toolwire_tests::peer::{Peer, cancel, legacy, notification, result_response, text};
use toolwire_tests::server_requests::{
    all_capabilities, asking_server, call, error_response, outcome_text,
};

const NO_ROOTS: &str = r#"{"roots":[]}"#;

/// Returns a peer whose call `c` waits for the response to the server's request 1.
async fn waiting_peer(server: &Server, version: &str) -> Peer {
    let mut peer = Peer::connect(server);
    peer.initialize_with(version, all_capabilities()).await;
    peer.send(call("c", "roots")).await;
    peer.expect(legacy(1, "roots/list", json!({}))).await;
    peer
}

#[tokio::test]
async fn response_id_may_be_a_string() {
    for version in LEGACY {
        let mut peer = waiting_peer(&asking_server(), version).await;
        peer.send(result_response("1", json!({"roots": []}))).await;
        peer.expect(result_response("c", text(NO_ROOTS))).await;
    }
}

#[tokio::test]
async fn response_without_a_pending_request_is_ignored() {
    let mut peer = waiting_peer(&asking_server(), "2025-06-18").await;
    let roots = || json!({"roots": [{"uri": "file:///wrong"}]});
    for unknown_id in [
        json!(2),
        json!(0),
        json!(-1),
        json!("01"),
        json!("1 "),
        json!("c"),
        json!(""),
    ] {
        peer.send(result_response(unknown_id.clone(), roots()))
            .await;
        peer.send(error_response(unknown_id, -32603, "what?")).await;
    }
    // An error without an id belongs to no request.
    peer.send(error_response(Value::Null, -32700, "could not read that"))
        .await;
    peer.send(json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}}))
        .await;
    peer.expect_silence().await;
    peer.send(result_response(1, json!({"roots": []}))).await;
    peer.expect(result_response("c", text(NO_ROOTS))).await;
    // A second response to the same request is ignored as well.
    peer.send(result_response(1, roots())).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn unexpected_response_is_ignored_before_and_after_the_handshake() {
    let mut peer = Peer::connect(&asking_server());
    peer.send(result_response(1, json!({}))).await;
    peer.expect_silence().await;
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(result_response(1, json!({}))).await;
    peer.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn server_request_is_cancelled_after_the_timeout() {
    let server = asking_server().with_client_response_timeout(Duration::from_secs(30));
    for version in LEGACY {
        let mut peer = waiting_peer(&server, version).await;
        let sent_at = tokio::time::Instant::now();
        peer.expect(cancel(1)).await;
        assert_eq!(sent_at.elapsed().as_secs(), 30);
        peer.expect(result_response("c", text("timeout"))).await;
        // A late response is ignored, and the next request has another id.
        peer.send(result_response(1, json!({"roots": []}))).await;
        peer.expect_silence().await;
        peer.send(call("d", "roots")).await;
        peer.expect(legacy(2, "roots/list", json!({}))).await;
        peer.send(result_response(2, json!({"roots": []}))).await;
        peer.expect(result_response("d", text(NO_ROOTS))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn response_before_the_timeout_is_accepted() {
    let server = asking_server().with_client_response_timeout(Duration::from_secs(30));
    let mut peer = waiting_peer(&server, "2025-11-25").await;
    tokio::time::advance(Duration::from_millis(29_990)).await;
    peer.send(result_response(1, json!({"roots": []}))).await;
    peer.expect(result_response("c", text(NO_ROOTS))).await;
}

#[tokio::test]
async fn cancelled_call_cancels_its_server_request() {
    for version in LEGACY {
        let mut peer = waiting_peer(&asking_server(), version).await;
        peer.send(cancel("c")).await;
        peer.expect(cancel(1)).await;
        peer.expect_silence().await;
        peer.send(result_response(1, json!({"roots": []}))).await;
        peer.expect_silence().await;
    }
}

#[tokio::test]
async fn end_of_input_fails_the_server_request() {
    for version in LEGACY {
        let mut peer = waiting_peer(&asking_server(), version).await;
        peer.close_input();
        peer.expect(result_response("c", text("closed"))).await;
        peer.expect_end().await;
    }
}

#[tokio::test]
async fn server_request_after_the_end_of_input_fails() {
    /// Sends two requests, whatever the first response is.
    #[tool]
    async fn asks_twice(ctx: &RequestContext) -> String {
        let first = outcome_text(ctx.list_roots().await);
        format!("{first} {}", outcome_text(ctx.list_roots().await))
    }

    let mut peer = Peer::connect(&Server::new("s", "1").tool(asks_twice));
    peer.initialize_with("2025-06-18", all_capabilities()).await;
    peer.send(call("c", "asks_twice")).await;
    peer.receive().await;
    peer.close_input();
    peer.expect(result_response("c", text("closed closed")))
        .await;
    peer.expect_end().await;
}

#[tokio::test]
async fn concurrent_server_requests_get_their_own_responses() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(call("a", "roots")).await;
    peer.expect(legacy(1, "roots/list", json!({}))).await;
    peer.send(call("b", "roots")).await;
    peer.expect(legacy(2, "roots/list", json!({}))).await;
    peer.send(call("d", "form")).await;
    assert_eq!(peer.receive().await["id"], 3);

    let root = |name: &str| json!({"roots": [{"uri": format!("file:///{name}")}]});
    let expected_root = |name: &str| text(&format!(r#"{{"roots":[{{"uri":"file:///{name}"}}]}}"#));
    peer.send(result_response(2, root("b"))).await;
    peer.expect(result_response("b", expected_root("b"))).await;
    peer.send(error_response(3, -1, "no")).await;
    peer.expect(result_response("d", text("error -1"))).await;
    peer.send(result_response(1, root("a"))).await;
    peer.expect(result_response("a", expected_root("a"))).await;
}

#[tokio::test]
async fn response_on_another_connection_is_ignored() {
    let server = asking_server();
    let mut one = waiting_peer(&server, "2025-06-18").await;
    let mut other = waiting_peer(&server, "2024-11-05").await;
    other.send(result_response(1, json!({"roots": []}))).await;
    other.expect(result_response("c", text(NO_ROOTS))).await;
    one.expect_silence().await;
    one.send(error_response(1, -7, "no")).await;
    one.expect(result_response("c", text("error -7"))).await;
}

#[tokio::test]
async fn requests_are_served_while_a_handler_waits_for_the_client() {
    let mut peer = waiting_peer(&asking_server(), "2025-03-26").await;
    peer.result_of(legacy(2, "tools/list", json!({}))).await;
    peer.send(notification("notifications/roots/list_changed", json!({})))
        .await;
    peer.expect_silence().await;
    peer.send(result_response(1, json!({"roots": []}))).await;
    peer.expect(result_response("c", text(NO_ROOTS))).await;
}
