//! Sessions of the 2025 revisions.

use serde_json::{Value, json};
use std::sync::Arc;
use toolwire::store::MemorySessionStore;
use toolwire::store::contract::Faulty;
use toolwire::transport::http::{HttpLoad, HttpOptions, HttpService, LegacyMode};
use toolwire::{RequestContext, ToolHandler};
use toolwire_tests::http::direct::{InProcessClient, in_session};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{REVISIONS, Session, initialize_request, tool_call};
use toolwire_tests::peer::{legacy, notification, plain, result_response, text};

fn expect_error(message: &Value, id: impl Into<Option<Value>>, code: i64) {
    assert_eq!(message["error"]["code"], code, "{message}");
    assert_eq!(message.get("id"), id.into().as_ref(), "{message}");
}

#[tokio::test]
async fn session_is_opened_used_and_ended() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    for version in REVISIONS {
        let session = Session::initialize(&endpoint, version).await;
        let characters = session.id.bytes();
        assert!(characters.clone().all(|byte| (0x21..=0x7e).contains(&byte)));
        // 128 bits are 22 characters of base64.
        assert!(characters.len() >= 22, "{}", session.id);
        session
            .send(notification("notifications/initialized", json!({})))
            .await;
        let counted = session.call(tool_call(1, "count", json!({"n": 1}))).await;
        assert_eq!(counted, result_response(1, text("counted")));
        assert_eq!(
            session.call(legacy("p", "ping", json!({}))).await,
            result_response("p", json!({}))
        );
        let unknown = session.post(&legacy(2, "nothing/here", json!({}))).await;
        assert_eq!(
            unknown.status(),
            200,
            "errors have status 200 in legacy revisions"
        );
        expect_error(&unknown.message(), json!(2), -32601);
        assert_eq!(
            endpoint.service.load(),
            HttpLoad::default(),
            "no load between requests"
        );

        let ended = session.end().await;
        assert_eq!((ended.status(), ended.text()), (204, ""));
        for _ in 0..2 {
            let rejected = session.post(&legacy(3, "ping", json!({}))).await;
            assert_eq!(rejected.status(), 404);
            expect_error(&rejected.message(), json!(3), -32600);
        }
        assert_eq!(session.end().await.status(), 404);
        let stream = session.request(&Request::get(&session.id, version)).await;
        assert_eq!(stream.status(), 404);
        let rejected = session
            .post(&notification("notifications/initialized", json!({})))
            .await;
        assert_eq!(rejected.status(), 404);
    }
}

#[tokio::test]
async fn session_ids_are_unique_and_chosen_by_the_server() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..20 {
        // A session id of the client is ignored.
        let request =
            initialize_request("2025-11-25").with("Mcp-Session-Id", "chosen-by-the-client");
        let response = endpoint.request(&request).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        assert_ne!(
            response.header("mcp-session-id").unwrap(),
            "chosen-by-the-client"
        );
        let session = Session::initialize(&endpoint, "2025-11-25").await;
        assert!(seen.insert(session.id));
    }
    let chosen = Request::post(&legacy(1, "ping", json!({})))
        .in_session("chosen-by-the-client", "2025-11-25");
    assert_eq!(endpoint.request(&chosen).await.status(), 404);
}

#[tokio::test]
async fn second_initialize_in_a_session_gets_the_negotiated_result() {
    let fixture = Fixture::new();
    let store = Arc::new(MemorySessionStore::default());
    let options = HttpOptions::new().with_session_store(store.clone());
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    for requested in ["2025-06-18", "2025-11-25"] {
        let again = initialize_request(requested).in_session(&session.id, session.version);
        let response = session.request(&again).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        let result = &response.message()["result"];
        assert_eq!(result["protocolVersion"], "2025-06-18");
        assert_eq!(
            response.header("mcp-session-id"),
            Some(session.id.as_str()),
            "the session stays the same"
        );
    }
    assert_eq!(store.len(), 1);
    let counted = session.call(tool_call(1, "count", json!({"n": 1}))).await;
    assert_eq!(counted, result_response(1, text("counted")));
}

#[tokio::test]
async fn failed_initialize_creates_no_session() {
    let fixture = Fixture::new();
    let store = Arc::new(MemorySessionStore::default());
    let options = HttpOptions::new().with_session_store(store.clone());
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    for params in [
        json!({}),
        json!({"protocolVersion": 5}),
        json!({"protocolVersion": "2025-06-18", "capabilities": 1}),
    ] {
        let response = endpoint
            .request(&Request::post(&legacy(1, "initialize", params)))
            .await;
        assert_eq!(response.header("mcp-session-id"), None);
        expect_error(&response.message(), json!(1), -32602);
    }
    assert_eq!(store.len(), 0);
    assert_eq!(endpoint.service.load(), HttpLoad::default());
    Session::open(&endpoint, "2025-06-18").await;
    assert_eq!(store.len(), 1);
}

#[tokio::test]
async fn request_without_a_valid_session_id_is_rejected() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let ping = legacy(1, "ping", json!({}));
    let without_session = Request::post(&ping).with("MCP-Protocol-Version", "2025-11-25");
    let response = endpoint.request(&without_session).await;
    assert_eq!(response.status(), 400, "request without a session id");
    expect_error(&response.message(), json!(1), -32600);
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
        let response = endpoint.request(&request).await;
        assert_eq!(response.status(), 400, "{row}");
        expect_error(&response.message(), None, -32600);
    }
    let mut bytes = Vec::new();
    for id in ["a b", "a\tb", "\u{7f}", "caf\u{e9}", "", &"x".repeat(1024)] {
        let request = Request::post(&ping).in_session(id, "2025-11-25");
        let mut connection = endpoint.connect().await;
        connection.send(request.bytes()).await;
        let response = connection.response().await;
        assert!(
            matches!(response.status(), 400 | 404),
            "session id {id:?}: {}",
            response.text()
        );
        if response.status() == 404 {
            bytes.push(response.body);
        }
    }
    // Invalid and unknown session ids get the same response.
    let unknown = Request::post(&ping).in_session("unknown", "2025-11-25");
    let unknown = endpoint.request(&unknown).await;
    assert_eq!(unknown.status(), 404);
    assert!(bytes.iter().all(|body| *body == unknown.body));
    let twice = session
        .post_request(&ping)
        .with("Mcp-Session-Id", session.id.as_str());
    assert_eq!(session.request(&twice).await.status(), 404);
    session.call(ping).await;
}

#[tokio::test]
async fn unsupported_version_header_is_rejected() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    let ping = legacy(1, "ping", json!({}));
    for version in ["1900-01-01", "nonsense", ""] {
        let request = session
            .post_request(&ping)
            .replacing("MCP-Protocol-Version", version);
        let response = session.request(&request).await;
        assert_eq!(response.status(), 400, "{version}: {}", response.text());
        for request in [
            Request::get(&session.id, version),
            Request::delete(&session.id, version),
            session
                .post_request(&notification("notifications/initialized", json!({})))
                .replacing("MCP-Protocol-Version", version),
        ] {
            assert_eq!(session.request(&request).await.status(), 400, "{version}");
        }
    }
    // Without the header, the server uses the version of the session.
    let bare = session.post_request(&ping).without("MCP-Protocol-Version");
    assert_eq!(
        session.request(&bare).await.message(),
        result_response(1, json!({}))
    );
}

#[tokio::test]
async fn modern_and_legacy_requests_share_one_endpoint() {
    let fixture = Fixture::new();
    let endpoint = Endpoint::serve(&fixture.server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let modern = toolwire_tests::http::fixture::count_call(1);
    let result = endpoint.call(modern.clone()).await;
    assert_eq!(result["result"]["resultType"], "complete");
    let result = session.call(tool_call(1, "count", json!({"n": 1}))).await;
    assert_eq!(result, result_response(1, text("counted")));
    // A session id has no effect on a modern request.
    let request = Request::modern(&modern).with("Mcp-Session-Id", session.id.as_str());
    let result = endpoint.request(&request).await;
    assert_eq!(result.message()["result"]["resultType"], "complete");
    assert_eq!(result.header("mcp-session-id"), None);
}

/// Returns a tool that describes the connection of its request.
fn describe() -> ToolHandler {
    plain("describe", |ctx: RequestContext| async move {
        let state = ctx.connection_state().map(|state| {
            let version = state.version().map(|version| version.as_str());
            json!([version, state.client_capabilities().roots.is_some()])
        });
        let roots = ctx.client_capabilities().roots.is_some();
        json!([ctx.connection_token(), state, ctx.version().as_str(), roots]).to_string()
    })
}

#[tokio::test]
async fn only_requests_in_a_session_have_a_connection_state() {
    let server = toolwire_tests::peer::server().tool(describe());
    let described = |message: Value| -> Value {
        let text = message["result"]["content"][0]["text"].as_str();
        serde_json::from_str(text.expect("a text")).expect("the tool writes JSON")
    };
    let call = tool_call(1, "describe", json!({}));
    let endpoint = Endpoint::serve(&server).await;
    for version in REVISIONS {
        let session = Session::open(&endpoint, version).await;
        let expected = json!([session.id, [version, true], version, true]);
        assert_eq!(described(session.call(call.clone()).await), expected);
    }
    let modern = toolwire_tests::peer::call(1, "describe", json!({}));
    let expected = json!([null, null, "2026-07-28", false]);
    assert_eq!(described(endpoint.call(modern).await), expected);

    let options = HttpOptions::new().with_legacy(LegacyMode::Stateless);
    let endpoint = Endpoint::serve_with(&server, options).await;
    for version in REVISIONS {
        endpoint.request(&initialize_request(version)).await;
        let request = Request::post(&call).with("MCP-Protocol-Version", version);
        let response = endpoint.request(&request).await;
        // The capabilities of `initialize` are not stored.
        let expected = json!([null, null, version, false]);
        assert_eq!(described(response.message()), expected);
    }
}

#[tokio::test]
async fn stateless_legacy_mode_serves_each_request_separately() {
    let fixture = Fixture::new();
    let options = HttpOptions::new().with_legacy(LegacyMode::Stateless);
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    for version in REVISIONS {
        let opened = endpoint.request(&initialize_request(version)).await;
        assert_eq!(opened.status(), 200);
        assert_eq!(opened.header("mcp-session-id"), None);
        assert_eq!(opened.message()["result"]["protocolVersion"], version);
        let with_version =
            |message: &Value| Request::post(message).with("MCP-Protocol-Version", version);
        let initialized = notification("notifications/initialized", json!({}));
        assert_eq!(
            endpoint.request(&with_version(&initialized)).await.status(),
            202
        );
        let counted = endpoint
            .request(&with_version(&tool_call(1, "count", json!({"n": 1}))))
            .await;
        assert_eq!(counted.message(), result_response(1, text("counted")));
        // Requests to the client are not possible.
        let response = endpoint
            .request(&with_version(&tool_call(2, "ask", json!({}))))
            .await;
        assert_eq!(
            response.status(),
            200,
            "errors have status 200 in legacy revisions"
        );
        expect_error(&response.message(), json!(2), -32600);
        for method in ["GET", "DELETE"] {
            let request = Request::new(method)
                .with("Accept", "text/event-stream")
                .with("MCP-Protocol-Version", version);
            let response = endpoint.request(&request).await;
            assert_eq!(response.status(), 405);
            assert_eq!(response.header("allow"), Some("POST"));
        }
    }
    endpoint.wait_until_idle().await;
}

#[tokio::test]
async fn legacy_clients_can_be_rejected() {
    let fixture = Fixture::new();
    let options = HttpOptions::new().with_legacy(LegacyMode::Reject);
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    for version in REVISIONS {
        let rejected = endpoint.request(&initialize_request(version)).await;
        assert_eq!(rejected.status(), 400, "{}", rejected.text());
        let message = rejected.message();
        assert_eq!(message["id"], 0);
        // The error lists the supported version.
        assert!(message.to_string().contains("2026-07-28"), "{message}");
        assert_eq!(rejected.header("mcp-session-id"), None);
        let call = Request::post(&tool_call(1, "count", json!({"n": 1})))
            .with("MCP-Protocol-Version", version);
        assert_eq!(endpoint.request(&call).await.status(), 400);
    }
    assert_eq!(fixture.runs(), 0);
    endpoint
        .call(toolwire_tests::http::fixture::count_call(1))
        .await;
}

#[tokio::test]
async fn session_has_a_limit_of_running_requests() {
    const LIMIT: i64 = 1024;
    let mut fixture = Fixture::new();
    let direct = InProcessClient::new(&HttpService::new(
        fixture.server.clone(),
        HttpOptions::new(),
    ));
    let session = direct.open_session().await;
    let wait = |id: i64| in_session(&session, &tool_call(id, "wait", json!({})));
    let mut running = tokio::task::JoinSet::new();
    for id in 0..LIMIT {
        let (direct, request) = (direct.clone(), wait(id));
        running.spawn(async move { direct.request(request).await.status });
        fixture.expect(HandlerEvent::Started).await;
    }
    let rejected = direct.request(wait(LIMIT)).await;
    assert_eq!(rejected.status, 503);
    assert!(rejected.body.contains("\"id\":1024"), "{}", rejected.body);
    assert_eq!(
        direct.ping(&session).await,
        200,
        "requests without a handler are served"
    );
    let other = direct.open_session().await;
    assert_eq!(direct.ping(&other).await, 200);

    let ended = Request::delete(&session, "2025-11-25");
    assert_eq!(direct.request(ended).await.status, 204);
    while let Some(status) = running.join_next().await {
        assert_eq!(status.unwrap(), 202, "a cancelled request has no response");
    }
}

#[tokio::test]
async fn session_is_not_loaded_to_delete_it() {
    let sessions = Arc::new(Faulty::new(Arc::<MemorySessionStore>::default()));
    let options = HttpOptions::new().with_session_store(sessions.clone());
    let endpoint = Endpoint::serve_with(&Fixture::new().server, options).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let loads = sessions.calls("load");
    assert_eq!(session.end().await.status(), 204);
    assert_eq!(session.end().await.status(), 404, "it has ended");
    assert_eq!(sessions.calls("load"), loads);
    assert_eq!(sessions.calls("delete"), 2);
}
