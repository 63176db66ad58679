//! Streams of legacy servers that end before the answer, and are opened again.

use std::time::Duration;

use serde_json::json;
use toolwire::{Client, ClientLimits};

use super::double::Double;
use super::script::{Reply, Seen, event, legacy};

/// A legacy server that answers calls with a stream, and each time the stream is opened again as `again` says.
///
/// The standing stream is refused.
async fn connected(
    first: fn(&Seen) -> Reply,
    again: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static,
) -> (Double, Client) {
    let server = Double::new(move |seen| match (&*seen.verb, seen.method()) {
        ("POST", "tools/call") => first(seen),
        // The first GET is that for the standing stream.
        ("GET", _) if seen.header("last-event-id").is_some() => again(seen, seen.nth),
        _ => legacy(seen),
    });
    let client = server.connect().await.unwrap();
    server.record.nth("GET", "", 0).await;
    (server, client)
}

/// The answer to the call that ids are counted for: discover, initialize, call.
fn late_answer() -> String {
    let result = json!({"content": [{"type": "text", "text": "late"}]});
    event(json!({"jsonrpc": "2.0", "id": 3, "result": result}).to_string())
}

fn resumes(server: &Double) -> Vec<Seen> {
    let mut gets = server.record.of("GET", "");
    gets.retain(|seen| seen.header("last-event-id").is_some());
    gets
}

const PRIMING: &str = "id: first\ndata:\n\n";

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_early_goes_on_after_its_last_event() {
    let (server, client) = connected(
        |_| Reply::events(PRIMING),
        |_, _| Reply::events(late_answer()),
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
async fn a_stream_without_an_id_cannot_be_resumed() {
    let (server, client) =
        connected(|_| Reply::events(event("{}")), |_, _| Reply::events("")).await;
    let error = client.call_tool("act", json!({})).await.unwrap_err();
    assert!(error.is_closed(), "{error:?}");
    assert!(resumes(&server).is_empty());
    assert_eq!(server.record.of("POST", "tools/call").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn opening_a_stream_without_news_is_tried_a_few_times() {
    // The stream opens every time, names a place to resume from, and ends.
    for again in [
        (|_: &Seen, _| Reply::events("id: again\ndata:\n\n")) as fn(&Seen, usize) -> Reply,
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
async fn news_start_the_count_anew() {
    let news = event(
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
            "level": "info", "data": "still at it",
        }})
        .to_string(),
    );
    // Twice as often as without news.
    let (server, client) = connected(
        |_| Reply::events(PRIMING),
        move |seen, _| {
            let resumed: usize = seen.header("last-event-id").unwrap().parse().unwrap_or(0);
            match resumed {
                10 => Reply::events(late_answer()),
                _ => Reply::events(format!("id: {}\n{news}", resumed + 1)),
            }
        },
    )
    .await;
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(resumes(&server).len(), 11);
}

#[tokio::test(start_paused = true)]
async fn the_wait_before_a_stream_is_opened_again_is_kept_within_reason() {
    let check = async |first: fn(&Seen) -> Reply, expected: u64| {
        let (server, client) = connected(first, |_, _| Reply::events(late_answer())).await;
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
async fn the_wish_of_the_server_outlives_the_connection_it_came_on() {
    let (server, client) = connected(
        |_| Reply::events("retry: 3000\nid: a\ndata:\n\n"),
        |_, nth| match nth {
            1 => Reply::events(""),
            _ => Reply::events(late_answer()),
        },
    )
    .await;
    client.call_tool("act", json!({})).await.unwrap();
    let resumed = resumes(&server);
    let waited = resumed[1].at - resumed[0].at;
    assert!(waited >= Duration::from_millis(3000), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn an_id_of_any_text_can_be_resumed_from() {
    let (server, client) = connected(
        |_| Reply::events("id: é/1 = x\ndata:\n\n"),
        |_, _| Reply::events(late_answer()),
    )
    .await;
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(resumes(&server)[0].header("last-event-id"), Some("é/1 = x"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_the_server_has_forgotten_does_not_repeat_the_call() {
    // The server took the call, so it may have had an effect.
    for status in [400, 404, 405, 410] {
        let server = Double::new(move |seen| match (&*seen.verb, seen.method()) {
            ("POST", "tools/call") if seen.nth == 0 => Reply::events(PRIMING),
            ("GET", _) if seen.header("last-event-id").is_some() => Reply::status(status),
            _ => legacy(seen),
        });
        let client = server.connect().await.unwrap();
        client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(server.record.of("POST", "tools/call").len(), 1, "{status}");
        // The next call works, in a new session if need be.
        client.call_tool("act", json!({})).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_nothing_left_of_a_stream_ends_the_call() {
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
