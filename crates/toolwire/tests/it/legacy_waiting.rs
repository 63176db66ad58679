//! Questions to the client that are answered late, by somebody else, or not at all.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::{RequestContext, Server, tool};

use crate::legacy_asking::{able, asking_server, call, refusal, told};
use crate::legacy_server::LEGACY;
use crate::peer::{Peer, answer, cancel, legacy, notification, text};

const NO_ROOTS: &str = r#"{"roots":[]}"#;

/// A peer whose call `c` waits for the answer to question 1.
async fn waiting_peer(server: &Server, version: &str) -> Peer {
    let mut peer = Peer::connect(server);
    peer.initialize_with(version, able()).await;
    peer.send(call("c", "roots")).await;
    peer.expect(legacy(1, "roots/list", json!({}))).await;
    peer
}

#[tokio::test]
async fn an_answer_may_write_the_id_as_a_string() {
    for version in LEGACY {
        let mut peer = waiting_peer(&asking_server(), version).await;
        peer.send(answer("1", json!({"roots": []}))).await;
        peer.expect(answer("c", text(NO_ROOTS))).await;
    }
}

#[tokio::test]
async fn answers_to_nobody_are_ignored() {
    let mut peer = waiting_peer(&asking_server(), "2025-06-18").await;
    let roots = || json!({"roots": [{"uri": "file:///wrong"}]});
    for stranger in [
        json!(2),
        json!(0),
        json!(-1),
        json!("01"),
        json!("1 "),
        json!("c"),
        json!(""),
    ] {
        peer.send(answer(stranger.clone(), roots())).await;
        peer.send(refusal(stranger, -32603, "what?")).await;
    }
    // An error without an id answers nothing in particular.
    peer.send(refusal(Value::Null, -32700, "could not read that"))
        .await;
    peer.send(json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}}))
        .await;
    peer.expect_silence().await;
    peer.send(answer(1, json!({"roots": []}))).await;
    peer.expect(answer("c", text(NO_ROOTS))).await;
    // The second answer to the same question is one to nobody, too.
    peer.send(answer(1, roots())).await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn a_response_nobody_asked_for_is_ignored_at_any_time() {
    let mut peer = Peer::connect(&asking_server());
    peer.send(answer(1, json!({}))).await;
    peer.expect_silence().await;
    peer.initialize_with("2025-11-25", able()).await;
    peer.send(answer(1, json!({}))).await;
    peer.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_timeout_and_the_question_is_withdrawn() {
    let server = asking_server().with_client_response_timeout(Duration::from_secs(30));
    for version in LEGACY {
        let mut peer = waiting_peer(&server, version).await;
        let asked = tokio::time::Instant::now();
        peer.expect(cancel(1)).await;
        assert_eq!(asked.elapsed().as_secs(), 30);
        peer.expect(answer("c", text("timeout"))).await;
        // The answer comes after all; nobody is there for it, and the next question has another id.
        peer.send(answer(1, json!({"roots": []}))).await;
        peer.expect_silence().await;
        peer.send(call("d", "roots")).await;
        peer.expect(legacy(2, "roots/list", json!({}))).await;
        peer.send(answer(2, json!({"roots": []}))).await;
        peer.expect(answer("d", text(NO_ROOTS))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_just_in_time_counts() {
    let server = asking_server().with_client_response_timeout(Duration::from_secs(30));
    let mut peer = waiting_peer(&server, "2025-11-25").await;
    tokio::time::advance(Duration::from_millis(29_990)).await;
    peer.send(answer(1, json!({"roots": []}))).await;
    peer.expect(answer("c", text(NO_ROOTS))).await;
}

#[tokio::test]
async fn cancelling_a_tool_withdraws_its_question_and_nothing_else_is_sent() {
    for version in LEGACY {
        let mut peer = waiting_peer(&asking_server(), version).await;
        peer.send(cancel("c")).await;
        peer.expect(cancel(1)).await;
        peer.expect_silence().await;
        peer.send(answer(1, json!({"roots": []}))).await;
        peer.expect_silence().await;
    }
}

#[tokio::test]
async fn hanging_up_fails_the_question_and_the_handler_may_finish() {
    for version in LEGACY {
        let mut peer = waiting_peer(&asking_server(), version).await;
        peer.hang_up();
        peer.expect(answer("c", text("closed"))).await;
        peer.expect_end().await;
    }
}

#[tokio::test]
async fn nobody_can_be_asked_after_the_client_hung_up() {
    /// Asks twice, whatever the first answer is.
    #[tool]
    async fn insistent(ctx: &RequestContext) -> String {
        let first = told(ctx.list_roots().await);
        format!("{first} {}", told(ctx.list_roots().await))
    }

    let mut peer = Peer::connect(&Server::new("s", "1").tool(insistent));
    peer.initialize_with("2025-06-18", able()).await;
    peer.send(call("c", "insistent")).await;
    peer.receive().await;
    peer.hang_up();
    peer.expect(answer("c", text("closed closed"))).await;
    peer.expect_end().await;
}

#[tokio::test]
async fn tools_that_ask_at_once_get_their_own_answers() {
    let mut peer = Peer::connect(&asking_server());
    peer.initialize_with("2025-11-25", able()).await;
    peer.send(call("a", "roots")).await;
    peer.expect(legacy(1, "roots/list", json!({}))).await;
    peer.send(call("b", "roots")).await;
    peer.expect(legacy(2, "roots/list", json!({}))).await;
    peer.send(call("d", "form")).await;
    assert_eq!(peer.receive().await["id"], 3);

    let root = |name: &str| json!({"roots": [{"uri": format!("file:///{name}")}]});
    let told_root = |name: &str| text(&format!(r#"{{"roots":[{{"uri":"file:///{name}"}}]}}"#));
    peer.send(answer(2, root("b"))).await;
    peer.expect(answer("b", told_root("b"))).await;
    peer.send(refusal(3, -1, "no")).await;
    peer.expect(answer("d", text("error -1"))).await;
    peer.send(answer(1, root("a"))).await;
    peer.expect(answer("a", told_root("a"))).await;
}

#[tokio::test]
async fn connections_do_not_answer_for_each_other() {
    let server = asking_server();
    let mut one = waiting_peer(&server, "2025-06-18").await;
    let mut other = waiting_peer(&server, "2024-11-05").await;
    other.send(answer(1, json!({"roots": []}))).await;
    other.expect(answer("c", text(NO_ROOTS))).await;
    one.expect_silence().await;
    one.send(refusal(1, -7, "no")).await;
    one.expect(answer("c", text("error -7"))).await;
}

#[tokio::test]
async fn other_requests_are_served_while_a_handler_waits() {
    let mut peer = waiting_peer(&asking_server(), "2025-03-26").await;
    peer.result_of(legacy(2, "tools/list", json!({}))).await;
    peer.send(notification("notifications/roots/list_changed", json!({})))
        .await;
    peer.expect_silence().await;
    peer.send(answer(1, json!({"roots": []}))).await;
    peer.expect(answer("c", text(NO_ROOTS))).await;
}
