//! Sessions, events and states belong to whom a token names, in every era.

use serde_json::{Value, json};

use super::guarded::{Guarded, bare_challenge, insufficient, whoami, with_token};
use crate::http::request::Request;
use crate::http::session::{REVISIONS, initialize_request, tool_call, tool_call_with_token};
use crate::peer::{call, legacy, notification};

/// Opens a session for whoever has a token.
async fn open(guarded: &Guarded, token: &str, version: &'static str) -> String {
    let answer = guarded.ask(token, initialize_request(version)).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let initialized = notification("notifications/initialized", json!({}));
    let told = guarded
        .ask(
            token,
            Request::post(&initialized).in_session(&session, version),
        )
        .await;
    assert_eq!(told.status(), 202);
    session
}

/// Everything one can do with a session id.
fn everything(session: &str, version: &str) -> Vec<Request> {
    let post = |message: &Value| Request::post(message).in_session(session, version);
    vec![
        post(&legacy(1, "ping", json!({}))),
        post(&tool_call(1, "whoami", json!({}))),
        post(&notification(
            "notifications/cancelled",
            json!({"requestId": 1}),
        )),
        post(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        Request::get(session, version),
        Request::get(session, version).with("Last-Event-ID", "made.1"),
        Request::delete(session, version),
    ]
}

#[tokio::test]
async fn a_session_is_no_token() {
    for version in REVISIONS {
        let guarded = Guarded::new().await;
        let session = open(&guarded, "ann", version).await;
        for request in everything(&session, version) {
            let answer = guarded.endpoint.ask(&request).await;
            assert_eq!(answer.status(), 401, "{request:?}");
            assert_eq!(answer.header("www-authenticate"), Some(&*bare_challenge()));
        }
        assert_eq!(guarded.runs(), 0);
        let ping = Request::post(&legacy(1, "ping", json!({}))).in_session(&session, version);
        // Another token of the same user is as good.
        assert_eq!(guarded.ask("ann-reads", ping).await.status(), 200);
    }
}

#[tokio::test]
async fn the_session_of_another_looks_like_none() {
    for version in REVISIONS {
        let guarded = Guarded::new().await;
        let session = open(&guarded, "ann", version).await;
        let invented = "x".repeat(session.len());
        for (foreign, unknown) in everything(&session, version)
            .into_iter()
            .zip(everything(&invented, version))
        {
            let foreign = guarded.ask("bob", foreign).await;
            let unknown = guarded.ask("bob", unknown).await;
            assert_eq!(foreign.status(), 404);
            assert_eq!(foreign.status(), unknown.status());
            assert_eq!(foreign.text(), unknown.text());
        }
        assert_eq!(guarded.runs(), 0);
        let call = Request::post(&tool_call(1, "whoami", json!({}))).in_session(&session, version);
        let answer = guarded.ask("ann", call).await;
        assert!(answer.text().contains("ann"), "{}", answer.text());
    }
}

#[tokio::test]
async fn events_of_another_look_like_none() {
    let version = "2025-11-25";
    let guarded = Guarded::new().await;
    let of_ann = open(&guarded, "ann", version).await;
    let of_bob = open(&guarded, "bob", version).await;
    let call = tool_call_with_token(1, "steps", "t");
    let call = with_token(Request::post(&call).in_session(&of_ann, version), "ann");
    let mut stream = guarded.endpoint.open(&call).await;
    let event = stream.next().await.unwrap().id.unwrap();
    let resume =
        |session: &str, event: &str| Request::get(session, version).with("Last-Event-ID", event);
    let foreign = guarded.ask("bob", resume(&of_bob, &event)).await;
    let invented = guarded
        .ask("bob", resume(&of_bob, &"x".repeat(event.len())))
        .await;
    assert_eq!(foreign.status(), 400);
    assert_eq!(foreign.text(), invented.text());
    let own = with_token(resume(&of_ann, &event), "ann");
    assert_eq!(guarded.endpoint.open(&own).await.head.status, 200);
}

#[tokio::test]
async fn scopes_are_asked_for_in_sessions_too() {
    for version in REVISIONS {
        let guarded = Guarded::new().await;
        let session = open(&guarded, "ann", version).await;
        let subscribe = legacy(1, "resources/subscribe", json!({"uri": "file:///plan"}));
        for (message, scopes) in [
            (tool_call(1, "write", json!({})), "files:read files:write"),
            (subscribe, "files:read"),
        ] {
            let request = Request::post(&message).in_session(&session, version);
            let answer = guarded.ask("ann", request).await;
            assert_eq!(answer.status(), 403, "{version}: {}", answer.text());
            assert_eq!(
                answer.header("www-authenticate"),
                Some(&*insufficient(scopes))
            );
        }
        assert_eq!(guarded.runs(), 0);
    }
}

#[tokio::test]
async fn a_batch_with_a_request_that_lacks_scopes_is_rejected_as_a_whole() {
    let guarded = Guarded::new().await;
    let version = "2025-03-26";
    let session = open(&guarded, "ann", version).await;
    let prompt = json!({"type": "ref/prompt", "name": "letter"});
    let batch = json!([
        tool_call(1, "whoami", json!({})),
        tool_call(2, "write", json!({})),
        legacy(3, "resources/subscribe", json!({"uri": "file:///plan"})),
        legacy(
            4,
            "completion/complete",
            json!({"ref": prompt, "argument": {"name": "to", "value": ""}})
        ),
    ]);
    let request = Request::post(&batch).in_session(&session, version);
    let answer = guarded.ask("ann", request.clone()).await;
    assert_eq!(answer.status(), 403, "{}", answer.text());
    let expected = insufficient("files:read files:write mail:read");
    assert_eq!(answer.header("www-authenticate"), Some(&*expected));
    assert_eq!(guarded.runs(), 0);
    assert_eq!(guarded.endpoint.ask(&request).await.status(), 401);
}

#[tokio::test]
async fn the_state_of_another_does_not_open() {
    let guarded = Guarded::new().await;
    let keep = |state: Option<&str>| {
        let mut message = call(7, "keep", json!({}));
        if let Some(state) = state {
            message["params"]["requestState"] = json!(state);
        }
        message
    };
    let answer = guarded.say("ann", &keep(None)).await;
    let state = answer.message()["result"]["requestState"].take();
    let state = state.as_str().unwrap();
    let foreign = guarded.say("bob", &keep(Some(state))).await.message();
    let invented = guarded
        .say("bob", &keep(Some(&"x".repeat(state.len()))))
        .await
        .message();
    assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    assert_eq!(foreign, invented);
    let own = guarded.say("ann-reads", &keep(Some(state))).await;
    assert!(own.text().contains("a secret plan"), "{}", own.text());
}

#[tokio::test]
async fn what_a_layer_in_front_says_does_not_count() {
    let guarded = Guarded::new().await;
    let intruder = crate::http::direct::Direct::of(&guarded.endpoint.service, "https://a", "eve");
    let answer = intruder.ask(Request::modern(&whoami())).await;
    assert_eq!(answer.status, 401);
}
