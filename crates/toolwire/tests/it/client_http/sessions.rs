//! Sessions of legacy servers: their id, their end, and what happens when the server forgets them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use tokio::sync::{Barrier, Notify};
use toolwire::{ClientBuilder, ProtocolVersion};

use super::double::Double;
use super::fake::Fake;
use super::script::{Reply, Seen, legacy};
use crate::peer::within;

#[tokio::test]
async fn the_session_and_the_version_go_with_everything_after_initialize() {
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
        assert_eq!(rest.last().unwrap().verb, "DELETE");
        let unnamed = [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_03_26];
        for seen in rest {
            assert_eq!(seen.header("mcp-session-id"), Some("session-1"));
            let expected = (!unnamed.contains(&version)).then_some(version.as_str());
            assert_eq!(seen.header("mcp-protocol-version"), expected);
            assert_eq!(seen.header("mcp-method"), None);
        }
        for seen in all.iter().filter(|seen| seen.verb == "POST") {
            let accepted = "application/json, text/event-stream";
            assert_eq!(seen.header("accept"), Some(accepted));
            assert_eq!(seen.header("content-type"), Some("application/json"));
        }
    }
}

#[tokio::test]
async fn a_server_without_sessions_gets_no_end_of_one() {
    let server = Double::new(|seen| {
        let mut reply = legacy(seen);
        reply.headers.retain(|(name, _)| name != "mcp-session-id");
        reply
    });
    let client = server.connect().await.unwrap();
    client.call_tool("act", json!({})).await.unwrap();
    client.close().await;
    let all = server.record.all();
    assert!(
        all.iter()
            .all(|seen| seen.header("mcp-session-id").is_none())
    );
    assert!(server.record.of("DELETE", "").is_empty());
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_session() {
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
async fn a_server_that_does_not_mind_the_end_does_not_keep_the_client() {
    for reply in [
        Reply::status(405),
        Reply::status(404),
        Reply::status(500),
        Reply::never(),
    ] {
        let server = Double::new(move |seen| match &*seen.verb {
            "DELETE" => reply.clone(),
            _ => legacy(seen),
        });
        let client = server.connect().await.unwrap();
        within(client.close()).await;
        assert_eq!(server.record.of("DELETE", "").len(), 1);
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert!(error.is_closed(), "{error:?}");
    }
}

#[tokio::test]
async fn any_success_accepts_a_notification() {
    for reply in [
        Reply::status(202),
        Reply::status(200),
        Reply::status(204),
        Reply::json(200, "{}"),
        Reply::status(200)
            .with_header("content-type", "text/html")
            .with("thanks"),
    ] {
        let server = Double::new(move |seen| match seen.method() {
            "notifications/initialized" => reply.clone(),
            _ => legacy(seen),
        });
        let client = server.connect().await.unwrap();
        client.call_tool("act", json!({})).await.unwrap();
    }
    let server = Double::new(|seen| match seen.method() {
        "notifications/initialized" => Reply::status(400),
        _ => legacy(seen),
    });
    assert_eq!(server.connect().await.unwrap_err().http_status(), Some(400));
}

#[tokio::test]
async fn a_session_id_that_is_none_is_refused() {
    for id in ["", "two words", "tab\there"] {
        let server = Double::new(move |seen| {
            let mut reply = legacy(seen);
            reply.headers.retain(|(name, _)| name != "mcp-session-id");
            match seen.method() {
                "initialize" => reply.with_header("mcp-session-id", id),
                _ => reply,
            }
        });
        let error = server.connect().await.unwrap_err();
        assert!(error.is_protocol_violation(), "{error:?}");
    }
}

/// A server that forgets its first session once told so.
fn forgetful(forgotten: &Arc<AtomicBool>) -> impl Fn(&Seen) -> Reply + use<> {
    let forgotten = Arc::clone(forgotten);
    move |seen| {
        let known = seen.header("mcp-session-id") != Some("session-1");
        match known || !forgotten.load(Ordering::Relaxed) {
            // Without a session, only one can be opened.
            _ if !seen.headers.contains_key("mcp-session-id")
                && !matches!(seen.method(), "initialize" | "server/discover") =>
            {
                Reply::status(400)
            }
            true => legacy(seen),
            false => Reply::status(404),
        }
    }
}

#[tokio::test]
async fn a_forgotten_session_is_opened_anew_once_for_everybody() {
    const CALLS: usize = 50;
    let forgotten = Arc::new(AtomicBool::new(false));
    let server = Fake::start(forgetful(&forgotten)).await;
    let client = server.connect().await.unwrap();
    forgotten.store(true, Ordering::Relaxed);
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
    // Nothing of the lost session is offered to the new one.
    let again = &server.record.of("POST", "initialize")[1];
    assert_eq!(again.header("mcp-session-id"), None);
    // The stream for the server's own messages is asked for again.
    server.record.nth("GET", "", 1).await;
    client.close().await;
    let deleted = server.record.nth("DELETE", "", 0).await;
    assert_eq!(deleted.header("mcp-session-id"), Some("session-2"));
}

#[tokio::test]
async fn a_call_that_begins_while_the_session_is_opened_anew_belongs_to_it() {
    let forgotten = Arc::new(AtomicBool::new(false));
    let gate = Arc::new(Notify::new());
    let script = forgetful(&forgotten);
    let held = Arc::clone(&gate);
    let server = Double::new(move |seen| match seen.method() {
        "initialize" if seen.nth == 1 => script(seen).held(&held),
        _ => script(seen),
    });
    let client = server.connect().await.unwrap();
    forgotten.store(true, Ordering::Relaxed);
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
async fn a_renewal_is_finished_though_its_call_was_dropped() {
    let forgotten = Arc::new(AtomicBool::new(false));
    let gate = Arc::new(Notify::new());
    let script = forgetful(&forgotten);
    let held = Arc::clone(&gate);
    let server = Double::new(move |seen| match seen.method() {
        "notifications/initialized" if seen.nth == 1 => script(seen).held(&held),
        _ => script(seen),
    });
    let client = server.connect().await.unwrap();
    server.record.nth("GET", "", 0).await;
    forgotten.store(true, Ordering::Relaxed);
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
    // The stream for the server's own messages comes last, so everything before it was done.
    server.record.nth("GET", "", 1).await;
}

#[tokio::test]
async fn a_server_that_forgets_every_session_is_not_asked_for_ever() {
    let server = Double::new(|seen| match seen.method() {
        "tools/call" => Reply::status(404),
        _ => legacy(seen),
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
async fn a_session_that_cannot_be_opened_anew_fails_the_call() {
    let check = async |again: fn(&Seen) -> Reply| {
        let server = Double::new(move |seen| match seen.method() {
            "initialize" if seen.nth > 0 => again(seen),
            "tools/call" => Reply::status(404),
            _ => legacy(seen),
        });
        let client = server.connect().await.unwrap();
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(error.http_status(), Some(404), "{error:?}");
        assert_eq!(server.record.of("POST", "tools/call").len(), 1);
        assert_eq!(server.record.of("POST", "initialize").len(), 2);
    };
    check(|_| Reply::status(500)).await;
    check(|_| Reply::status(404)).await;
    check(|seen| seen.refuse(200, json!({"code": -32603, "message": "no"}))).await;
    // A server that has changed its mind about the version would be another connection.
    check(|seen| {
        let mut result = super::script::initialized(seen);
        result["protocolVersion"] = json!("2025-03-26");
        seen.answer(result)
    })
    .await;
}

#[tokio::test]
async fn without_a_session_404_is_only_an_error() {
    let server = Double::new(|seen| match seen.method() {
        "tools/call" => Reply::status(404),
        _ => {
            let mut reply = legacy(seen);
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
async fn closing_fails_calls_that_run() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        let server = Fake::start(move |seen| match seen.method() {
            "tools/call" => Reply::events("").left_open(),
            _ if version == ProtocolVersion::LATEST => super::script::modern(seen),
            _ => legacy(seen),
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
