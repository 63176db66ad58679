//! Sessions of legacy servers: their id, their end, and their renewal after the server has lost them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tokio::sync::{Barrier, Notify};
use toolwire::{ClientBuilder, ProtocolVersion};
use toolwire_tests::peer::within;

use super::double::Double;
use super::fake::Fake;
use super::script::{RecordedRequest, Reply, legacy};

#[tokio::test]
async fn requests_after_initialize_have_session_and_version_headers() {
    for version in ProtocolVersion::ALL
        .into_iter()
        .filter(|version| *version != ProtocolVersion::LATEST)
    {
        let server = Fake::start(legacy).await;
        let client = server.connect_as(version).await;
        server.record.nth("GET", "", 0).await;
        within(client.call_tool("act", json!({})).into_future())
            .await
            .unwrap();
        within(client.notify("notifications/roots/list_changed", None))
            .await
            .unwrap();
        client.close().await;
        let all = server.record.all();
        let (initialize, rest) = all.split_first().unwrap();
        assert_eq!(initialize.method(), "initialize");
        assert_eq!(initialize.header("mcp-session-id"), None);
        assert_eq!(rest.len(), 5, "{rest:?}");
        assert_eq!(rest.last().unwrap().http_method, "DELETE");
        let without_header = [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_03_26];
        for request in rest {
            assert_eq!(request.header("mcp-session-id"), Some("session-1"));
            let expected = (!without_header.contains(&version)).then_some(version.as_str());
            assert_eq!(request.header("mcp-protocol-version"), expected);
            assert_eq!(request.header("mcp-method"), None);
        }
        for request in all.iter().filter(|request| request.http_method == "POST") {
            let accepted = "application/json, text/event-stream";
            assert_eq!(request.header("accept"), Some(accepted));
            assert_eq!(request.header("content-type"), Some("application/json"));
        }
    }
}

#[tokio::test]
async fn server_without_sessions_gets_no_delete() {
    let server = Double::new(|request| {
        let mut reply = legacy(request);
        reply.headers.retain(|(name, _)| name != "mcp-session-id");
        reply
    });
    let client = server.connect().await.unwrap();
    client.call_tool("act", json!({})).await.unwrap();
    client.close().await;
    let all = server.record.all();
    assert!(
        all.iter()
            .all(|request| request.header("mcp-session-id").is_none())
    );
    assert!(server.record.of("DELETE", "").is_empty());
}

#[tokio::test]
async fn dropping_the_last_client_handle_deletes_the_session() {
    let server = Fake::start(legacy).await;
    let client = server.connect().await.unwrap();
    let other = client.clone();
    drop(client);
    within(other.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    drop(other);
    let delete = server.record.nth("DELETE", "", 0).await;
    assert_eq!(delete.header("mcp-session-id"), Some("session-1"));
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_depend_on_the_response_to_delete() {
    for reply in [
        Reply::status(405),
        Reply::status(404),
        Reply::status(500),
        Reply::never(),
    ] {
        let server = Double::new(move |request| match &*request.http_method {
            "DELETE" => reply.clone(),
            _ => legacy(request),
        });
        let client = server.connect().await.unwrap();
        within(client.close()).await;
        assert_eq!(server.record.of("DELETE", "").len(), 1);
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert!(error.is_closed(), "{error:?}");
    }
}

#[tokio::test]
async fn notification_is_accepted_with_any_success_status() {
    for reply in [
        Reply::status(202),
        Reply::status(200),
        Reply::status(204),
        Reply::json(200, "{}"),
        Reply::status(200)
            .with_header("content-type", "text/html")
            .with("thanks"),
    ] {
        let server = Double::new(move |request| match request.method() {
            "notifications/initialized" => reply.clone(),
            _ => legacy(request),
        });
        let client = server.connect().await.unwrap();
        client.call_tool("act", json!({})).await.unwrap();
    }
    let server = Double::new(|request| match request.method() {
        "notifications/initialized" => Reply::status(400),
        _ => legacy(request),
    });
    assert_eq!(server.connect().await.unwrap_err().http_status(), Some(400));
}

#[tokio::test]
async fn invalid_session_id_is_rejected() {
    for id in ["", "two words", "tab\there"] {
        let server = Double::new(move |request| {
            let mut reply = legacy(request);
            reply.headers.retain(|(name, _)| name != "mcp-session-id");
            match request.method() {
                "initialize" => reply.with_header("mcp-session-id", id),
                _ => reply,
            }
        });
        let error = server.connect().await.unwrap_err();
        assert!(error.is_protocol_violation(), "{error:?}");
    }
}

/// The script of a server that loses its first session when the flag is set.
fn losing_sessions(is_lost: &Arc<AtomicBool>) -> impl Fn(&RecordedRequest) -> Reply + use<> {
    let is_lost = Arc::clone(is_lost);
    move |request| {
        let known = request.header("mcp-session-id") != Some("session-1");
        match known || !is_lost.load(Ordering::Relaxed) {
            // Without a session id, only requests that open a session are valid.
            _ if !request.headers.contains_key("mcp-session-id")
                && !matches!(request.method(), "initialize" | "server/discover") =>
            {
                Reply::status(400)
            }
            true => legacy(request),
            false => Reply::status(404),
        }
    }
}

#[tokio::test]
async fn concurrent_calls_of_a_lost_session_share_one_renewal() {
    const CALLS: usize = 50;
    let is_lost = Arc::new(AtomicBool::new(false));
    let server = Fake::start(losing_sessions(&is_lost)).await;
    let client = server.connect().await.unwrap();
    is_lost.store(true, Ordering::Relaxed);
    let together = Arc::new(Barrier::new(CALLS));
    let calls = (0..CALLS).map(|_| {
        let (client, together) = (client.clone(), Arc::clone(&together));
        tokio::spawn(async move {
            together.wait().await;
            client.call_tool("act", json!({})).await
        })
    });
    for call in calls.collect::<Vec<_>>() {
        within(call).await.unwrap().unwrap();
    }
    assert_eq!(server.record.of("POST", "initialize").len(), 2);
    assert_eq!(
        server.record.of("POST", "notifications/initialized").len(),
        2
    );
    // The request that opens the new session does not name the lost session.
    let again = &server.record.of("POST", "initialize")[1];
    assert_eq!(again.header("mcp-session-id"), None);
    // The client opens the server stream again.
    server.record.nth("GET", "", 1).await;
    client.close().await;
    let deleted = server.record.nth("DELETE", "", 0).await;
    assert_eq!(deleted.header("mcp-session-id"), Some("session-2"));
}

#[tokio::test]
async fn call_during_a_renewal_uses_the_new_session() {
    let is_lost = Arc::new(AtomicBool::new(false));
    let gate = Arc::new(Notify::new());
    let script = losing_sessions(&is_lost);
    let server_gate = Arc::clone(&gate);
    let server = Double::new(move |request| match request.method() {
        "initialize" if request.nth == 1 => script(request).gated_by(&server_gate),
        _ => script(request),
    });
    let client = server.connect().await.unwrap();
    is_lost.store(true, Ordering::Relaxed);
    let first = tokio::spawn(client.call_tool("act", json!({})).into_future());
    server.record.nth("POST", "initialize", 1).await;
    let second = tokio::spawn(client.call_tool("act", json!({})).into_future());
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    gate.notify_one();
    within(first).await.unwrap().unwrap();
    within(second).await.unwrap().unwrap();
    assert_eq!(server.record.of("POST", "initialize").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn renewal_completes_after_its_call_is_dropped() {
    let is_lost = Arc::new(AtomicBool::new(false));
    let gate = Arc::new(Notify::new());
    let script = losing_sessions(&is_lost);
    let server_gate = Arc::clone(&gate);
    let server = Double::new(move |request| match request.method() {
        "notifications/initialized" if request.nth == 1 => script(request).gated_by(&server_gate),
        _ => script(request),
    });
    let client = server.connect().await.unwrap();
    server.record.nth("GET", "", 0).await;
    is_lost.store(true, Ordering::Relaxed);
    let first = tokio::spawn(client.call_tool("act", json!({})).into_future());
    server
        .record
        .nth("POST", "notifications/initialized", 1)
        .await;
    first.abort();
    drop(first.await);
    gate.notify_one();
    within(client.call_tool("act", json!({})).into_future())
        .await
        .unwrap();
    // The server stream is opened last, so all earlier steps of the renewal are complete.
    server.record.nth("GET", "", 1).await;
}

#[tokio::test]
async fn call_is_repeated_once_if_every_session_is_lost() {
    let server = Double::new(|request| match request.method() {
        "tools/call" => Reply::status(404),
        _ => legacy(request),
    });
    let client = server.connect().await.unwrap();
    for calls in 1..=3 {
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(error.http_status(), Some(404));
        assert_eq!(server.record.of("POST", "tools/call").len(), 2 * calls);
        assert_eq!(server.record.of("POST", "initialize").len(), 1 + calls);
    }
}

#[tokio::test]
async fn failed_renewal_fails_the_call() {
    let check = async |again: fn(&RecordedRequest) -> Reply| {
        let server = Double::new(move |request| match request.method() {
            "initialize" if request.nth > 0 => again(request),
            "tools/call" => Reply::status(404),
            _ => legacy(request),
        });
        let client = server.connect().await.unwrap();
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(error.http_status(), Some(404), "{error:?}");
        assert_eq!(server.record.of("POST", "tools/call").len(), 1);
        assert_eq!(server.record.of("POST", "initialize").len(), 2);
    };
    check(|_| Reply::status(500)).await;
    check(|_| Reply::status(404)).await;
    check(|request| request.reject(200, json!({"code": -32603, "message": "no"}))).await;
    // A server with another version needs a new connection.
    check(|request| {
        let mut result = super::script::initialized(request);
        result["protocolVersion"] = json!("2025-03-26");
        request.respond(result)
    })
    .await;
}

#[tokio::test]
async fn status_404_without_a_session_is_an_error() {
    let server = Double::new(|request| match request.method() {
        "tools/call" => Reply::status(404),
        _ => {
            let mut reply = legacy(request);
            reply.headers.retain(|(name, _)| name != "mcp-session-id");
            reply
        }
    });
    let client = server
        .connect_with(ClientBuilder::new("test", "1"))
        .await
        .unwrap();
    let error = client.call_tool("act", json!({})).await.unwrap_err();
    assert_eq!(error.http_status(), Some(404));
    assert_eq!(server.record.of("POST", "initialize").len(), 1);
}

#[tokio::test]
async fn closing_the_client_fails_running_calls() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let server = Fake::start(move |request| match request.method() {
            "tools/call" => Reply::events("").left_open(),
            _ if version == ProtocolVersion::LATEST => super::script::modern(request),
            _ => legacy(request),
        });
        let server = server.await;
        let client = server.connect().await.unwrap();
        let call = tokio::spawn(client.call_tool("act", json!({})).into_future());
        server.record.nth("POST", "tools/call", 0).await;
        within(client.close()).await;
        assert!(
            within(call).await.unwrap().unwrap_err().is_closed(),
            "{version}"
        );
    }
}
