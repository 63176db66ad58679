//! Sessions, events and request states belong to the principal of a token, in every revision.

use serde_json::{Value, json};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{
    REVISIONS, initialize_request, tool_call, tool_call_with_token,
};
use toolwire_tests::peer::{call, legacy, notification};

use super::protected_server::{ProtectedServer, bare_challenge, insufficient, whoami, with_token};

/// Opens a session with a token, and returns its id.
async fn open(server: &ProtectedServer, token: &str, version: &'static str) -> String {
    let response = server.send(token, initialize_request(version)).await;
    assert_eq!(response.status(), 200, "{}", response.text());
    let session = response.header("mcp-session-id").unwrap().to_owned();
    let initialized = notification("notifications/initialized", json!({}));
    let accepted = server
        .send(
            token,
            Request::post(&initialized).in_session(&session, version),
        )
        .await;
    assert_eq!(accepted.status(), 202);
    session
}

/// Returns every kind of request that names a session.
fn requests_in_session(session: &str, version: &str) -> Vec<Request> {
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
async fn session_id_does_not_replace_the_token() {
    for version in REVISIONS {
        let server = ProtectedServer::new().await;
        let session = open(&server, "ann", version).await;
        for request in requests_in_session(&session, version) {
            let response = server.endpoint.request(&request).await;
            assert_eq!(response.status(), 401, "{request:?}");
            assert_eq!(
                response.header("www-authenticate"),
                Some(&*bare_challenge())
            );
        }
        assert_eq!(server.runs(), 0);
        let ping = Request::post(&legacy(1, "ping", json!({}))).in_session(&session, version);
        // Another token of the same user is accepted.
        assert_eq!(server.send("ann-reads", ping).await.status(), 200);
    }
}

#[tokio::test]
async fn session_of_another_user_is_indistinguishable_from_an_unknown_session() {
    for version in REVISIONS {
        let server = ProtectedServer::new().await;
        let session = open(&server, "ann", version).await;
        let unknown = "x".repeat(session.len());
        for (of_other_user, unknown) in requests_in_session(&session, version)
            .into_iter()
            .zip(requests_in_session(&unknown, version))
        {
            let of_other_user = server.send("bob", of_other_user).await;
            let unknown = server.send("bob", unknown).await;
            assert_eq!(of_other_user.status(), 404);
            assert_eq!(of_other_user.status(), unknown.status());
            assert_eq!(of_other_user.text(), unknown.text());
        }
        assert_eq!(server.runs(), 0);
        let call = Request::post(&tool_call(1, "whoami", json!({}))).in_session(&session, version);
        let response = server.send("ann", call).await;
        assert!(response.text().contains("ann"), "{}", response.text());
    }
}

#[tokio::test]
async fn event_of_another_user_is_indistinguishable_from_an_unknown_event() {
    let version = "2025-11-25";
    let server = ProtectedServer::new().await;
    let of_ann = open(&server, "ann", version).await;
    let of_bob = open(&server, "bob", version).await;
    let call = tool_call_with_token(1, "steps", "t");
    let call = with_token(Request::post(&call).in_session(&of_ann, version), "ann");
    let mut stream = server.endpoint.open(&call).await;
    let event = stream.next().await.unwrap().id.unwrap();
    let resume =
        |session: &str, event: &str| Request::get(session, version).with("Last-Event-ID", event);
    let of_other_user = server.send("bob", resume(&of_bob, &event)).await;
    let unknown = server
        .send("bob", resume(&of_bob, &"x".repeat(event.len())))
        .await;
    assert_eq!(of_other_user.status(), 400);
    assert_eq!(of_other_user.text(), unknown.text());
    let own = with_token(resume(&of_ann, &event), "ann");
    assert_eq!(server.endpoint.open(&own).await.headers.status, 200);
}

#[tokio::test]
async fn scopes_are_required_in_sessions() {
    for version in REVISIONS {
        let server = ProtectedServer::new().await;
        let session = open(&server, "ann", version).await;
        let subscribe = legacy(1, "resources/subscribe", json!({"uri": "file:///plan"}));
        for (message, scopes) in [
            (tool_call(1, "write", json!({})), "files:read files:write"),
            (subscribe, "files:read"),
        ] {
            let request = Request::post(&message).in_session(&session, version);
            let response = server.send("ann", request).await;
            assert_eq!(response.status(), 403, "{version}: {}", response.text());
            assert_eq!(
                response.header("www-authenticate"),
                Some(&*insufficient(scopes))
            );
        }
        assert_eq!(server.runs(), 0);
    }
}

#[tokio::test]
async fn batch_with_a_request_that_lacks_scopes_is_rejected_as_a_whole() {
    let server = ProtectedServer::new().await;
    let version = "2025-03-26";
    let session = open(&server, "ann", version).await;
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
    let response = server.send("ann", request.clone()).await;
    assert_eq!(response.status(), 403, "{}", response.text());
    let expected = insufficient("files:read files:write mail:read");
    assert_eq!(response.header("www-authenticate"), Some(&*expected));
    assert_eq!(server.runs(), 0);
    assert_eq!(server.endpoint.request(&request).await.status(), 401);
}

#[tokio::test]
async fn request_state_of_another_user_is_rejected() {
    let server = ProtectedServer::new().await;
    let call_keep = |state: Option<&str>| {
        let mut message = call(7, "keep", json!({}));
        if let Some(state) = state {
            message["params"]["requestState"] = json!(state);
        }
        message
    };
    let response = server.send_message("ann", &call_keep(None)).await;
    let state = response.message()["result"]["requestState"].take();
    let state = state.as_str().unwrap();
    let of_other_user = server
        .send_message("bob", &call_keep(Some(state)))
        .await
        .message();
    let unknown = server
        .send_message("bob", &call_keep(Some(&"x".repeat(state.len()))))
        .await
        .message();
    assert_eq!(of_other_user["error"]["code"], -32602, "{of_other_user}");
    assert_eq!(of_other_user, unknown);
    let own = server
        .send_message("ann-reads", &call_keep(Some(state)))
        .await;
    assert!(own.text().contains("a secret plan"), "{}", own.text());
}

#[tokio::test]
async fn principal_of_an_outer_layer_does_not_replace_the_token() {
    let server = ProtectedServer::new().await;
    let client = toolwire_tests::http::direct::InProcessClient::with_token(
        &server.endpoint.service,
        "https://a",
        "eve",
    );
    let response = client.request(Request::modern(&whoami())).await;
    assert_eq!(response.status, 401);
}
