//! Messages of a session outside of its requests: notifications of the client, and what the server sends on the GET
//! stream.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolwire::store::{MemoryBus, MemoryEventLog, MemorySessionStore};
use toolwire::transport::http::HttpOptions;
use toolwire::types::ElicitRequestURLParams;
use toolwire::{ConnectedClient, Error, RequestContext, Server};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::Events;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{Session, tool_call};
use toolwire_tests::peer::{legacy, notification, plain, result_response, server, within};

async fn listen(session: &Session) -> Events {
    let mut events = session.listen().await;
    skip_priming(&mut events, session).await;
    events
}

/// Skips the first event of a stream of 2025-11-25, which has no message.
async fn skip_priming(events: &mut Events, session: &Session) {
    if session.version == "2025-11-25" {
        assert_eq!(events.next().await.unwrap().data, "");
    }
}

/// Returns a server that lists the roots of a client when they change, and reports their number.
fn server_with_roots() -> (Server, mpsc::UnboundedReceiver<Result<usize, String>>) {
    let (sender, listed) = mpsc::unbounded_channel();
    let server = server().on_notification(
        "notifications/roots/list_changed",
        move |client: ConnectedClient, _: Value| {
            let sender = sender.clone();
            async move {
                let roots = client.list_roots().await;
                let roots = roots.map(|result| result.roots.len());
                sender
                    .send(roots.map_err(|error| error.to_string()))
                    .unwrap();
            }
        },
    );
    (server, listed)
}

#[tokio::test]
async fn handler_of_a_notification_asks_on_the_get_stream() {
    let (server, mut listed) = server_with_roots();
    let endpoint = Endpoint::serve(&server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let changed = notification("notifications/roots/list_changed", json!({}));
    session.send(changed.clone()).await;
    let without_stream = within(listed.recv()).await.unwrap().unwrap_err();
    assert!(without_stream.contains("channel"), "{without_stream}");

    let mut events = listen(&session).await;
    session.send(changed).await;
    let request = events.message().await;
    assert_eq!(request["method"], "roots/list");
    let roots = json!({"roots": [{"uri": "file:///a"}]});
    session
        .send(result_response(request["id"].clone(), roots))
        .await;
    assert_eq!(within(listed.recv()).await, Some(Ok(1)));
}

#[tokio::test]
async fn end_of_a_session_drops_its_notifications() {
    let (sender, mut started) = mpsc::unbounded_channel();
    let server =
        server().on_notification("com.example/wait", move |_: ConnectedClient, _: Value| {
            sender.send(()).unwrap();
            std::future::pending::<()>()
        });
    let endpoint = Endpoint::serve(&server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    // The second one waits for the first one.
    for _ in 0..2 {
        let wait = notification("com.example/wait", json!({}));
        session.send(wait).await;
    }
    within(started.recv()).await.unwrap();
    assert_eq!(endpoint.service.load().requests, 2);
    assert_eq!(session.end().await.status(), 204);
    within(async {
        while endpoint.service.load().requests > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn connected_clients_are_those_with_a_get_stream() {
    let server = server();
    let endpoint = Endpoint::serve(&server).await;
    let session = Session::open(&endpoint, "2025-06-18").await;
    assert!(server.connected_clients().is_empty());
    let mut events = listen(&session).await;
    let clients = server.connected_clients();
    let [client] = &clients[..] else {
        panic!("one client is connected: {clients:?}");
    };
    assert_eq!(client.connection_token(), Some(session.id.as_str()));
    assert_eq!(client.client_info().unwrap().name, "legacy-peer");
    client.notify("com.example/tick", json!({"n": 1})).unwrap();
    events
        .expect(notification("com.example/tick", json!({"n": 1})))
        .await;
    assert_eq!(server.notify_all("com.example/all", json!({})).unwrap(), 1);
    events
        .expect(notification("com.example/all", json!({})))
        .await;
    let pinging = tokio::spawn({
        let client = client.clone();
        async move { client.ping().await }
    });
    let ping = events.message().await;
    assert_eq!(ping["method"], "ping");
    session
        .send(result_response(ping["id"].clone(), json!({})))
        .await;
    within(pinging).await.unwrap().unwrap();
    assert_eq!(session.end().await.status(), 204);
    events.expect_end().await;
    assert!(!client.is_reachable());
    assert!(within(client.ping()).await.is_err());
}

#[tokio::test]
async fn custom_notification_without_a_session_reaches_its_handler() {
    let (sender, mut received) = mpsc::unbounded_channel();
    let server = server().on_notification("com.example/tick", move |client, params: Value| {
        let sender = sender.clone();
        async move {
            assert!(client.version().is_none());
            assert!(client.notify("com.example/tock", json!({})).is_err());
            sender.send(params).unwrap();
        }
    });
    let endpoint = Endpoint::serve(&server).await;
    let tick = notification("com.example/tick", json!({"n": 1}));
    let post = Request::post(&tick).with("MCP-Protocol-Version", "2026-07-28");
    assert_eq!(endpoint.request(&post).await.status(), 202);
    assert_eq!(within(received.recv()).await, Some(json!({"n": 1})));
}

#[tokio::test]
async fn required_url_is_completed_on_the_get_stream() {
    let server = server().tool(plain("connect", |ctx: RequestContext| async move {
        let page = ElicitRequestURLParams::new("Connect.", "https://example.test/connect")
            .with_elicitation_id("connect-1");
        Err::<String, Error>(ctx.url_elicitation_required([page]))
    }));
    let endpoint = Endpoint::serve(&server).await;
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {"url": {}}},
        "clientInfo": {"name": "legacy-peer", "version": "1"},
    });
    let opened = endpoint
        .request(&Request::post(&legacy(0, "initialize", params)))
        .await;
    let mut session = Session::open(&endpoint, "2025-11-25").await;
    session.id = opened.header("mcp-session-id").unwrap().to_owned();
    session
        .send(notification("notifications/initialized", json!({})))
        .await;
    let required = session.call(tool_call(1, "connect", json!({}))).await;
    assert_eq!(required["error"]["code"], -32042, "{required}");
    assert!(
        !server.elicitation_complete("connect-1"),
        "the session has no stream"
    );
    let mut events = listen(&session).await;
    assert!(server.elicitation_complete("connect-1"));
    let completed = json!({"elicitationId": "connect-1"});
    events
        .expect(notification(
            "notifications/elicitation/complete",
            completed,
        ))
        .await;
}

#[tokio::test]
async fn notification_to_all_reaches_clients_of_other_nodes() {
    let options = HttpOptions::new()
        .with_session_store(Arc::new(MemorySessionStore::default()))
        .with_event_log(Arc::new(MemoryEventLog::default()))
        .with_bus(Arc::new(MemoryBus::default()));
    let (at_a, at_b) = (server(), server());
    let a = Endpoint::serve_with(&at_a, options.clone()).await;
    let b = Endpoint::serve_with(&at_b, options).await;
    let session_a = Session::open(&a, "2025-11-25").await;
    let session_b = Session::open(&b, "2025-11-25").await;
    let mut events_a = listen(&session_a).await;
    let mut events_b = listen(&session_b).await;
    let params = json!({"minutes": 5});
    let reached = at_a.notify_all("com.example/maintenance", &params).unwrap();
    assert_eq!(reached, 1, "those of this node are counted");
    let expected = notification("com.example/maintenance", params);
    events_a.expect(expected.clone()).await;
    events_b.expect(expected).await;
}

#[tokio::test]
async fn message_for_a_stream_that_moved_to_another_node_goes_to_the_next_stream() {
    // Without a bus, the first node is not notified that the stream has moved.
    let options = HttpOptions::new()
        .with_session_store(Arc::new(MemorySessionStore::default()))
        .with_event_log(Arc::new(MemoryEventLog::default()));
    let at_a = server();
    let a = Endpoint::serve_with(&at_a, options.clone()).await;
    let b = Endpoint::serve_with(&server(), options).await;
    let session = Session::open(&a, "2025-11-25").await;
    let first = listen(&session).await;
    let mut second = listen(&session).await;
    let last = first.last_id.clone().expect("an event id");
    let _moved = session.at(&b).resume(&last).await;
    let clients = at_a.connected_clients();
    clients[0].notify("com.example/tick", json!({})).unwrap();
    let expected = notification("com.example/tick", json!({}));
    second.expect(expected).await;
}

#[tokio::test]
async fn context_reports_the_stream_of_its_response() {
    let server = server().tool(plain("look", |ctx: RequestContext| async move {
        let transport = ctx.scope().transport();
        let before = (transport.streaming(), transport.next_event_id().is_some());
        ctx.notify("com.example/step", json!({})).unwrap();
        while !transport.streaming() {
            tokio::task::yield_now().await;
        }
        format!("{before:?} {}", transport.next_event_id().is_some())
    }));
    let endpoint = Endpoint::serve(&server).await;
    let session = Session::open(&endpoint, "2025-11-25").await;
    let mut events = session.stream(&tool_call(1, "look", json!({}))).await;
    skip_priming(&mut events, &session).await;
    events
        .expect(notification("com.example/step", json!({})))
        .await;
    let response = events.message().await;
    let text = &response["result"]["content"][0]["text"];
    assert!(
        text.as_str().unwrap().starts_with("(false, false)"),
        "{response}"
    );
}
