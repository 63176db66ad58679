//! Sessions of the 2025 revisions: opened, used, ended.

use serde_json::{Value, json};
use std::sync::Arc;
use toolwire::store::MemorySessionStore;
use toolwire::transport::http::{HttpLoad, HttpOptions, HttpService, LegacyMode};

use crate::http::direct::{Direct, in_session};
use crate::http::endpoint::Endpoint;
use crate::http::request::Request;
use crate::http::session::{REVISIONS, Session, initialize_request, tool_call};
use crate::http::stage::{Happening, Stage};
use crate::peer::{answer, legacy, notification, text};

fn is_error(message: &Value, id: impl Into<Option<Value>>, code: i64) {
    assert_eq!(message["error"]["code"], code, "{message}");
    assert_eq!(message.get("id"), id.into().as_ref(), "{message}");
}

#[tokio::test]
async fn a_session_is_opened_used_and_ended() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    for version in REVISIONS {
        let session = Session::initialize(&endpoint, version).await;
        let characters = session.id.bytes();
        assert!(characters.clone().all(|byte| (0x21..=0x7e).contains(&byte)));
        // 128 bits are 22 characters of base64.
        assert!(characters.len() >= 22, "{}", session.id);
        session
            .tell(notification("notifications/initialized", json!({})))
            .await;
        let counted = session.call(tool_call(1, "count", json!({"n": 1}))).await;
        assert_eq!(counted, answer(1, text("counted")));
        assert_eq!(
            session.call(legacy("p", "ping", json!({}))).await,
            answer("p", json!({}))
        );
        let unknown = session.post(&legacy(2, "nothing/here", json!({}))).await;
        assert_eq!(unknown.status(), 200, "an ordinary answer in this era");
        is_error(&unknown.message(), json!(2), -32601);
        assert_eq!(
            endpoint.service.load(),
            HttpLoad::default(),
            "nothing is kept between requests"
        );

        let ended = session.end().await;
        assert_eq!((ended.status(), ended.text()), (204, ""));
        for _ in 0..2 {
            let gone = session.post(&legacy(3, "ping", json!({}))).await;
            assert_eq!(gone.status(), 404);
            is_error(&gone.message(), json!(3), -32600);
        }
        assert_eq!(session.end().await.status(), 404);
        let stream = session.ask(&Request::get(&session.id, version)).await;
        assert_eq!(stream.status(), 404);
        let told = session
            .post(&notification("notifications/initialized", json!({})))
            .await;
        assert_eq!(told.status(), 404);
    }
}

#[tokio::test]
async fn ids_of_sessions_are_the_servers_own_and_differ() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        // X16: what a client proposes is not taken.
        let request = initialize_request("2025-11-25").with("Mcp-Session-Id", "chosen-by-somebody");
        let answer = endpoint.ask(&request).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_ne!(
            answer.header("mcp-session-id").unwrap(),
            "chosen-by-somebody"
        );
        let session = Session::initialize(&endpoint, "2025-11-25").await;
        assert!(seen.insert(session.id));
    }
    let chosen =
        Request::post(&legacy(1, "ping", json!({}))).in_session("chosen-by-somebody", "2025-11-25");
    assert_eq!(endpoint.ask(&chosen).await.status(), 404);
}

#[tokio::test]
async fn a_session_is_initialized_once() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let again = initialize_request("2025-06-18").in_session(&session.id, session.version);
    let refused = session.ask(&again).await;
    assert_eq!(refused.status(), 400, "{}", refused.text());
    is_error(&refused.message(), json!(0), -32600);
    assert_eq!(refused.header("mcp-session-id"), None);
    let counted = session.call(tool_call(1, "count", json!({"n": 1}))).await;
    assert_eq!(counted, answer(1, text("counted")));
}

#[tokio::test]
async fn an_initialize_that_fails_leaves_nothing() {
    let stage = Stage::new();
    let store = Arc::new(MemorySessionStore::default());
    let options = HttpOptions::new().with_session_store(store.clone());
    let endpoint = Endpoint::serve_with(&stage.server, options).await;
    for params in [
        json!({}),
        json!({"protocolVersion": 5}),
        json!({"protocolVersion": "2025-06-18", "capabilities": 1}),
    ] {
        let answer = endpoint
            .ask(&Request::post(&legacy(1, "initialize", params)))
            .await;
        assert_eq!(answer.header("mcp-session-id"), None);
        is_error(&answer.message(), json!(1), -32602);
    }
    assert_eq!(store.len(), 0);
    assert_eq!(endpoint.service.load(), HttpLoad::default());
    Session::open(&endpoint, "2025-06-18").await;
    assert_eq!(store.len(), 1);
}

#[tokio::test]
async fn a_session_must_be_named() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let ping = legacy(1, "ping", json!({}));
    let nameless = Request::post(&ping).with("MCP-Protocol-Version", "2025-11-25");
    let answer = endpoint.ask(&nameless).await;
    assert_eq!(answer.status(), 400, "H51");
    is_error(&answer.message(), json!(1), -32600);
    for (row, request) in [
        (
            "GET",
            Request::new("GET").with("Accept", "text/event-stream"),
        ),
        ("DELETE", Request::new("DELETE")),
        (
            "notification",
            Request::post(&notification("notifications/initialized", json!({}))),
        ),
    ] {
        let answer = endpoint.ask(&request).await;
        assert_eq!(answer.status(), 400, "H51 {row}");
        is_error(&answer.message(), None, -32600);
    }
    let mut bytes = Vec::new();
    for id in ["a b", "a\tb", "\u{7f}", "caf\u{e9}", "", &"x".repeat(1024)] {
        let request = Request::post(&ping).in_session(id, "2025-11-25");
        let mut wire = endpoint.connect().await;
        wire.send(request.bytes()).await;
        let answer = wire.answer().await;
        assert!(
            matches!(answer.status(), 400 | 404),
            "H53 {id:?}: {}",
            answer.text()
        );
        if answer.status() == 404 {
            bytes.push(answer.body);
        }
    }
    // What cannot be a session and what is none any more look alike.
    let unknown = Request::post(&ping).in_session("unknown", "2025-11-25");
    let unknown = endpoint.ask(&unknown).await;
    assert_eq!(unknown.status(), 404);
    assert!(bytes.iter().all(|body| *body == unknown.body));
    let twice = session
        .request(&ping)
        .with("Mcp-Session-Id", session.id.as_str());
    assert_eq!(session.ask(&twice).await.status(), 404);
    session.call(ping).await;
}

#[tokio::test]
async fn the_version_header_must_be_one_that_is_served() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let ping = legacy(1, "ping", json!({}));
    for version in ["1900-01-01", "nonsense", ""] {
        let request = session
            .request(&ping)
            .replacing("MCP-Protocol-Version", version);
        let answer = session.ask(&request).await;
        assert_eq!(answer.status(), 400, "{version}: {}", answer.text());
        for request in [
            Request::get(&session.id, version),
            Request::delete(&session.id, version),
            session
                .request(&notification("notifications/initialized", json!({})))
                .replacing("MCP-Protocol-Version", version),
        ] {
            assert_eq!(session.ask(&request).await.status(), 400, "{version}");
        }
    }
    // Without the header, a server that knows the version otherwise uses that.
    let bare = session.request(&ping).without("MCP-Protocol-Version");
    assert_eq!(session.ask(&bare).await.message(), answer(1, json!({})));
}

#[tokio::test]
async fn modern_and_legacy_live_on_one_endpoint() {
    let stage = Stage::new();
    let endpoint = Endpoint::serve(&stage.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let modern = crate::http::stage::count_call(1);
    let result = endpoint.call(modern.clone()).await;
    assert_eq!(result["result"]["resultType"], "complete");
    let result = session.call(tool_call(1, "count", json!({"n": 1}))).await;
    assert_eq!(result, answer(1, text("counted")));
    // A modern request does not become one of a session by naming it.
    let request = Request::modern(&modern).with("Mcp-Session-Id", session.id.as_str());
    let result = endpoint.ask(&request).await;
    assert_eq!(result.message()["result"]["resultType"], "complete");
    assert_eq!(result.header("mcp-session-id"), None);
}

#[tokio::test]
async fn without_sessions_every_request_stands_alone() {
    let stage = Stage::new();
    let options = HttpOptions::new().with_legacy(LegacyMode::Stateless);
    let endpoint = Endpoint::serve_with(&stage.server, options).await;
    for version in REVISIONS {
        let opened = endpoint.ask(&initialize_request(version)).await;
        assert_eq!(opened.status(), 200);
        assert_eq!(opened.header("mcp-session-id"), None);
        assert_eq!(opened.message()["result"]["protocolVersion"], version);
        let headed = |message: &Value| Request::post(message).with("MCP-Protocol-Version", version);
        let initialized = notification("notifications/initialized", json!({}));
        assert_eq!(endpoint.ask(&headed(&initialized)).await.status(), 202);
        let counted = endpoint
            .ask(&headed(&tool_call(1, "count", json!({"n": 1}))))
            .await;
        assert_eq!(counted.message(), answer(1, text("counted")));
        // Nobody can be asked.
        let asked = endpoint.ask(&headed(&tool_call(2, "ask", json!({})))).await;
        assert_eq!(asked.status(), 200, "an ordinary answer in this era");
        is_error(&asked.message(), json!(2), -32600);
        for method in ["GET", "DELETE"] {
            let request = Request::new(method)
                .with("Accept", "text/event-stream")
                .with("MCP-Protocol-Version", version);
            let answer = endpoint.ask(&request).await;
            assert_eq!(answer.status(), 405);
            assert_eq!(answer.header("allow"), Some("POST"));
        }
    }
    endpoint.idle().await;
}

#[tokio::test]
async fn legacy_clients_can_be_refused() {
    let stage = Stage::new();
    let options = HttpOptions::new().with_legacy(LegacyMode::Reject);
    let endpoint = Endpoint::serve_with(&stage.server, options).await;
    for version in REVISIONS {
        let refused = endpoint.ask(&initialize_request(version)).await;
        assert_eq!(refused.status(), 400, "{}", refused.text());
        let message = refused.message();
        assert_eq!(message["id"], 0);
        // The client learns what it would have to speak.
        assert!(message.to_string().contains("2026-07-28"), "{message}");
        assert_eq!(refused.header("mcp-session-id"), None);
        let call = Request::post(&tool_call(1, "count", json!({"n": 1})))
            .with("MCP-Protocol-Version", version);
        assert_eq!(endpoint.ask(&call).await.status(), 400);
    }
    assert_eq!(stage.runs(), 0);
    endpoint.call(crate::http::stage::count_call(1)).await;
}

#[tokio::test]
async fn a_session_has_a_bounded_number_of_running_requests() {
    const BOUND: i64 = 1024;
    let mut stage = Stage::new();
    let direct = Direct::new(&HttpService::new(stage.server.clone(), HttpOptions::new()));
    let session = direct.open_session().await;
    let wait = |id: i64| in_session(&session, &tool_call(id, "wait", json!({})));
    let mut running = tokio::task::JoinSet::new();
    for id in 0..BOUND {
        let (direct, request) = (direct.clone(), wait(id));
        running.spawn(async move { direct.ask(request).await.status });
        stage.expect(Happening::Started).await;
    }
    let refused = direct.ask(wait(BOUND)).await;
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("\"id\":1024"), "{}", refused.body);
    assert_eq!(
        direct.ping(&session).await,
        200,
        "what needs no handler is served"
    );
    let other = direct.open_session().await;
    assert_eq!(direct.ping(&other).await, 200);

    let ended = Request::delete(&session, "2025-11-25");
    assert_eq!(direct.ask(ended).await.status, 204);
    while let Some(status) = running.join_next().await {
        assert_eq!(status.unwrap(), 202, "a cancelled request has no answer");
    }
}
