//! Streams of legacy servers that end before the response and are resumed.

use std::time::Duration;

use serde_json::json;
use toolwire::{Client, ClientLimits};

use super::double::Double;
use super::script::{RecordedRequest, Reply, event, legacy};

/// Connects a client to a legacy server that responds to a call with `first`, and to each attempt to resume the stream
/// with `again`.
///
/// The server has no server stream.
async fn connected(
    first: fn(&RecordedRequest) -> Reply,
    again: impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static,
) -> (Double, Client) {
    let server = Double::new(
        move |request| match (&*request.http_method, request.method()) {
            ("POST", "tools/call") => first(request),
            // The first GET is the request for the server stream.
            ("GET", _) if request.header("last-event-id").is_some() => again(request, request.nth),
            _ => legacy(request),
        },
    );
    let client = server.connect().await.unwrap();
    server.record.nth("GET", "", 0).await;
    (server, client)
}

/// Returns the response to the call, which is the third request after discover and initialize.
fn late_response() -> String {
    let result = json!({"content": [{"type": "text", "text": "late"}]});
    event(json!({"jsonrpc": "2.0", "id": 3, "result": result}).to_string())
}

fn resumes(server: &Double) -> Vec<RecordedRequest> {
    let mut gets = server.record.of("GET", "");
    gets.retain(|request| request.header("last-event-id").is_some());
    gets
}

const PRIMING: &str = "id: first\ndata:\n\n";

#[tokio::test(start_paused = true)]
async fn stream_that_ends_early_resumes_after_its_last_event() {
    let (server, client) = connected(
        |_| Reply::events(PRIMING),
        |_, _| Reply::events(late_response()),
    )
    .await;
    let result = client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("late"));
    let resumed = &resumes(&server)[0];
    assert_eq!(resumed.header("last-event-id"), Some("first"));
    assert_eq!(resumed.header("mcp-session-id"), Some("session-1"));
    assert_eq!(resumed.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(resumed.header("accept"), Some("text/event-stream"));
    // The call itself was sent once.
    assert_eq!(server.record.of("POST", "tools/call").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn stream_without_an_event_id_is_not_resumed() {
    let (server, client) =
        connected(|_| Reply::events(event("{}")), |_, _| Reply::events("")).await;
    let error = client.call_tool("act", json!({})).await.unwrap_err();
    assert!(error.is_closed(), "{error:?}");
    assert!(resumes(&server).is_empty());
    assert_eq!(server.record.of("POST", "tools/call").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn resuming_without_new_events_is_limited() {
    // The attempts bring no event with data.
    for again in [
        (|_: &RecordedRequest, _| Reply::events("id: again\ndata:\n\n"))
            as fn(&RecordedRequest, usize) -> Reply,
        |_, _| Reply::events(""),
        |_, _| Reply::events(": nothing\n\n").cut(),
        |_, _| Reply::status(503),
    ] {
        let (server, client) = connected(|_| Reply::events(PRIMING), again).await;
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert!(error.is_closed(), "{error:?}");
        let limit = ClientLimits::default().reconnects;
        assert_eq!(resumes(&server).len(), limit as usize);
        assert_eq!(server.record.of("POST", "tools/call").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn new_event_resets_the_number_of_attempts() {
    let notification = event(
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
            "level": "info", "data": "still at it",
        }})
        .to_string(),
    );
    // Twice the limit for attempts without a new event.
    let (server, client) = connected(
        |_| Reply::events(PRIMING),
        move |request, _| {
            let resumed: usize = request
                .header("last-event-id")
                .unwrap()
                .parse()
                .unwrap_or(0);
            match resumed {
                10 => Reply::events(late_response()),
                _ => Reply::events(format!("id: {}\n{notification}", resumed + 1)),
            }
        },
    )
    .await;
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(resumes(&server).len(), 11);
}

#[tokio::test(start_paused = true)]
async fn reconnection_time_is_clamped() {
    let check = async |first: fn(&RecordedRequest) -> Reply, expected: u64| {
        let (server, client) = connected(first, |_, _| Reply::events(late_response())).await;
        let sent = tokio::time::Instant::now();
        client.call_tool("act", json!({})).await.unwrap();
        let waited = resumes(&server)[0].at - sent;
        // The clock of the runtime ticks in milliseconds.
        let expected = Duration::from_millis(expected);
        assert!(
            waited >= expected && waited <= expected + Duration::from_millis(2),
            "{waited:?}"
        );
    };
    check(|_| Reply::events("retry: 0\nid: a\ndata:\n\n"), 100).await;
    check(
        |_| Reply::events("retry: 999999999\nid: a\ndata:\n\n"),
        30_000,
    )
    .await;
    check(|_| Reply::events("retry: x\nid: a\ndata:\n\n"), 500).await;
    check(|_| Reply::events("retry: -5\nid: a\ndata:\n\n"), 500).await;
    check(
        |_| Reply::events("retry: 99999999999999999999999999\nid: a\ndata:\n\n"),
        30_000,
    )
    .await;
    check(|_| Reply::events("retry: 2000\nid: a\ndata:\n\n"), 2000).await;
    check(|_| Reply::events("id: a\ndata:\n\n"), 500).await;
}

#[tokio::test(start_paused = true)]
async fn reconnection_time_applies_to_later_connections() {
    let (server, client) = connected(
        |_| Reply::events("retry: 3000\nid: a\ndata:\n\n"),
        |_, nth| match nth {
            1 => Reply::events(""),
            _ => Reply::events(late_response()),
        },
    )
    .await;
    client.call_tool("act", json!({})).await.unwrap();
    let resumed = resumes(&server);
    let waited = resumed[1].at - resumed[0].at;
    assert!(waited >= Duration::from_millis(3000), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn event_id_may_be_any_text() {
    let (server, client) = connected(
        |_| Reply::events("id: é/1 = x\ndata:\n\n"),
        |_, _| Reply::events(late_response()),
    )
    .await;
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(resumes(&server)[0].header("last-event-id"), Some("é/1 = x"));
}

#[tokio::test(start_paused = true)]
async fn call_is_not_repeated_if_the_server_has_lost_its_stream() {
    // The server accepted the call, so it may have had an effect.
    for status in [400, 404, 405, 410] {
        let server = Double::new(
            move |request| match (&*request.http_method, request.method()) {
                ("POST", "tools/call") if request.nth == 0 => Reply::events(PRIMING),
                ("GET", _) if request.header("last-event-id").is_some() => Reply::status(status),
                _ => legacy(request),
            },
        );
        let client = server.connect().await.unwrap();
        client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(server.record.of("POST", "tools/call").len(), 1, "{status}");
        // The next call succeeds, in a new session if necessary.
        client.call_tool("act", json!({})).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn status_204_on_resumption_ends_the_call() {
    let (server, client) = connected(|_| Reply::events(PRIMING), |_, _| Reply::status(204)).await;
    assert!(
        client
            .call_tool("act", json!({}))
            .await
            .unwrap_err()
            .is_closed()
    );
    assert_eq!(resumes(&server).len(), 1);
}
