//! Notifications in both directions that the protocol does not define, or whose effect is left to the server's author.

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolwire::{LoggingLevel, RequestContext, Server};
use toolwire_tests::peer::{
    Peer, call, complete, legacy, modern, notification, plain, result_response, server, text,
    within,
};

/// Returns a server that reports the notifications it handles.
fn hearing_server() -> (Server, mpsc::UnboundedReceiver<(String, Value)>) {
    let (heard, received) = mpsc::unbounded_channel();
    let mut server = server();
    for name in [
        "notifications/roots/list_changed",
        "notifications/progress",
        "com.example/tick",
    ] {
        let heard = heard.clone();
        server = server.on_notification(name, move |client, params: Value| {
            let heard = heard.clone();
            async move {
                let version = client.version().map_or("none", |version| version.as_str());
                let sent = heard.send((format!("{name} {version}"), params));
                sent.expect("the test receives the notifications");
            }
        });
    }
    (server, received)
}

#[tokio::test]
async fn notifications_of_a_client_reach_their_handlers_in_order() {
    let (server, mut received) = hearing_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let progress = json!({"progressToken": 7, "progress": 1});
    peer.send(notification("notifications/roots/list_changed", json!({})))
        .await;
    peer.send(r#"{"jsonrpc":"2.0","method":"com.example/tick"}"#)
        .await;
    peer.send(notification("com.example/unknown", json!({})))
        .await;
    peer.send(notification("notifications/progress", progress.clone()))
        .await;
    for (name, params) in [
        ("notifications/roots/list_changed 2025-11-25", json!({})),
        ("com.example/tick 2025-11-25", json!({})),
        ("notifications/progress 2025-11-25", progress),
    ] {
        let heard = within(received.recv()).await;
        assert_eq!(heard, Some((name.to_owned(), params)));
    }
    peer.close_input();
    peer.expect_end().await;
    drop(server);
    assert_eq!(
        within(received.recv()).await,
        None,
        "nothing else was heard"
    );
}

#[tokio::test]
async fn custom_notification_needs_no_session() {
    let (server, mut received) = hearing_server();
    let peer = Peer::connect(&server);
    let params = json!({"n": 1});
    peer.send(notification("com.example/tick", params.clone()))
        .await;
    let expected = ("com.example/tick none".to_owned(), params);
    assert_eq!(within(received.recv()).await, Some(expected.clone()));
    let message = notification("com.example/tick", expected.1.clone()).to_string();
    assert_eq!(server.handle(message.as_bytes()).await, None);
    assert_eq!(within(received.recv()).await, Some(expected));
}

#[tokio::test]
async fn notification_with_unreadable_params_or_a_panic_does_not_stop_later_ones() {
    #[derive(Deserialize)]
    struct Step {
        n: u32,
    }

    let (heard, mut received) = mpsc::unbounded_channel();
    let server = server().on_notification("com.example/step", move |_, step: Step| {
        let heard = heard.clone();
        async move {
            assert_ne!(step.n, 2, "this handler panics");
            heard.send(step.n).unwrap();
        }
    });
    let peer = Peer::connect(&server);
    for params in [
        json!({"n": 1}),
        json!({"n": "two"}),
        json!({"n": 2}),
        json!({"n": 3}),
    ] {
        peer.send(notification("com.example/step", params)).await;
    }
    assert_eq!(within(received.recv()).await, Some(1));
    assert_eq!(within(received.recv()).await, Some(3));
}

#[tokio::test]
async fn slow_handler_of_a_notification_does_not_delay_requests() {
    let server = server().on_notification("com.example/slow", |_, _: Value| {
        std::future::pending::<()>()
    });
    let mut peer = Peer::connect(&server);
    for _ in 0..1000 {
        peer.send(notification("com.example/slow", json!({}))).await;
    }
    peer.send(legacy(1, "ping", json!({}))).await;
    peer.expect(result_response(1, json!({}))).await;
}

#[test]
#[should_panic(
    expected = "`notifications/cancelled` is not a notification that clients send to handlers"
)]
fn handler_of_a_notification_that_the_server_processes_itself_is_rejected() {
    let _ = server().on_notification("notifications/cancelled", |_, _: Value| async {});
}

#[test]
#[should_panic(expected = "`tools/list` is not a notification")]
fn handler_of_a_request_is_rejected() {
    let _ = server().on_notification("tools/list", |_, _: Value| async {});
}

#[tokio::test]
async fn handler_sends_its_own_notifications_before_the_response() {
    let late = Arc::new(Mutex::new(None));
    let stored = Arc::clone(&late);
    let server = server().tool(plain("tell", move |ctx: RequestContext| {
        let stored = Arc::clone(&stored);
        async move {
            ctx.notify("com.example/step", json!({"n": 1})).unwrap();
            *stored.lock().unwrap() = Some(ctx);
            "told"
        }
    }));
    let mut peer = Peer::connect(&server);
    let step = notification("com.example/step", json!({"n": 1}));
    peer.send(call(1, "tell", json!({}))).await;
    peer.expect(step.clone()).await;
    peer.expect(complete(1, text("told"))).await;
    peer.initialize("2025-06-18").await;
    peer.send(legacy(2, "tools/call", json!({"name": "tell"})))
        .await;
    peer.expect(step).await;
    peer.expect(result_response(2, text("told"))).await;
    let ctx = late.lock().unwrap().take().unwrap();
    ctx.notify("com.example/step", json!({"n": 2})).unwrap();
    peer.expect_silence().await;
}

#[tokio::test]
async fn own_notifications_have_a_name_of_their_own_and_an_object() {
    let server = server();
    for name in ["", "notifications/message", "tools/list"] {
        let error = server.notify_all(name, json!({})).unwrap_err();
        assert!(
            error.to_string().contains("not a notification of your own"),
            "{error}"
        );
    }
    let error = server.notify_all("com.example/tick", 5).unwrap_err();
    assert!(error.to_string().contains("not a JSON object"), "{error}");
}

#[tokio::test]
async fn notification_to_all_reaches_clients_with_a_session() {
    let server = server();
    let mut initialized = Peer::connect(&server);
    initialized.initialize("2025-03-26").await;
    let mut modern_peer = Peer::connect(&server);
    modern_peer
        .result_of(modern(1, "server/discover", json!({})))
        .await;
    let params = json!({"minutes": 5});
    let reached = server.notify_all("com.example/maintenance", &params);
    assert_eq!(reached.unwrap(), 1);
    initialized
        .expect(notification("com.example/maintenance", params))
        .await;
    modern_peer.expect_silence().await;
}

#[tokio::test]
async fn connected_clients_are_known_and_can_be_notified() {
    let server = server();
    assert!(server.connected_clients().is_empty());
    let mut peer = Peer::connect(&server);
    assert!(server.connected_clients().is_empty(), "not initialized");
    peer.initialize_with("2025-06-18", json!({"roots": {}}))
        .await;
    let clients = server.connected_clients();
    let [client] = &clients[..] else {
        panic!("one client is connected: {clients:?}");
    };
    assert_eq!(client.version().unwrap().as_str(), "2025-06-18");
    assert_eq!(client.client_info().unwrap().name, "legacy-peer");
    assert!(client.client_capabilities().roots.is_some());
    assert!(!client.auth().valid);
    client.notify("com.example/tick", json!({"n": 1})).unwrap();
    peer.expect(notification("com.example/tick", json!({"n": 1})))
        .await;
    peer.close_input();
    peer.expect_end().await;
    assert!(server.connected_clients().is_empty());
}

#[tokio::test]
async fn connected_client_gets_log_messages_of_its_level() {
    let server = server().with_logging();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let clients = server.connected_clients();
    let log = |level: LoggingLevel, text: &str| clients[0].log_as("build", level, text);
    let expected = |level: &str, text: &str| {
        let params = json!({"level": level, "logger": "build", "data": text});
        notification("notifications/message", params)
    };
    log(LoggingLevel::Debug, "below the default level").unwrap();
    log(LoggingLevel::Info, "started").unwrap();
    peer.expect(expected("info", "started")).await;
    peer.send(legacy(2, "logging/setLevel", json!({"level": "error"})))
        .await;
    peer.expect(result_response(2, json!({}))).await;
    log(LoggingLevel::Warning, "below the level of the client").unwrap();
    log(LoggingLevel::Error, "failed").unwrap();
    peer.expect(expected("error", "failed")).await;
    peer.close_input();
    peer.expect_end().await;
    assert!(log(LoggingLevel::Error, "late").unwrap_err().is_closed());
}

#[tokio::test]
async fn request_gives_access_to_its_scope_and_transport() {
    let server = server().tool(plain("look", |ctx: RequestContext| async move {
        let scope = ctx.scope();
        let transport = scope.transport();
        format!(
            "{} {} {:?} {}",
            scope.version(),
            transport.streaming(),
            transport.next_event_id(),
            ctx.client().is_some(),
        )
    }));
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "look", json!({}))).await;
    peer.expect(complete(1, text("2026-07-28 false None true")))
        .await;
}
