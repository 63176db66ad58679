//! Invalid input on a byte stream: the response to each kind, and that the connection serves the next request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::{RequestContext, Server, Tool, ToolHandler};
use toolwire_tests::legacy_server::rich_server;
use toolwire_tests::peer::{Peer, cancel, legacy, modern, notification, result_response};

/// The expected reaction of the server to an input.
#[derive(Debug, Clone)]
enum Reaction {
    /// No response.
    Ignored,
    /// An error without a request id.
    Unreadable(i64),
    /// An error with the id of the request.
    Rejected(i64, Value),
    /// An empty result with the id of the request.
    EmptyResult(Value),
}
use Reaction::{EmptyResult, Ignored, Rejected, Unreadable};

/// The negotiated version: none before the handshake, and each of the four legacy versions.
const NEGOTIATED_VERSIONS: [Option<&str>; 5] = [
    None,
    Some("2024-11-05"),
    Some("2025-03-26"),
    Some("2025-06-18"),
    Some("2025-11-25"),
];

/// Returns a peer that has negotiated this version.
async fn peer_with_version(negotiated: Option<&str>) -> Peer {
    let mut peer = Peer::connect(&rich_server());
    if let Some(version) = negotiated {
        peer.initialize(version).await;
    }
    peer
}

/// Returns the `id` member of an error that belongs to no request.
fn missing_id(negotiated: Option<&str>) -> Option<Value> {
    match negotiated {
        Some("2024-11-05" | "2025-03-26" | "2025-06-18") => Some(Value::Null),
        _ => None,
    }
}

/// Checks the reaction to an input with every negotiated version, and that the next valid request gets a response.
async fn check(input: impl AsRef<[u8]>, reaction: Reaction) {
    let input = input.as_ref();
    for negotiated in NEGOTIATED_VERSIONS {
        let shown = String::from_utf8_lossy(&input[..input.len().min(100)]);
        let context = format!("{shown} ({negotiated:?})");
        let mut peer = peer_with_version(negotiated).await;
        peer.send_bytes([input, b"\n"].concat()).await;
        match &reaction {
            Ignored => {}
            EmptyResult(id) => peer.expect(result_response(id.clone(), json!({}))).await,
            Unreadable(code) => {
                let received = peer.receive().await;
                assert_eq!(received["error"]["code"], *code, "{context}: {received}");
                assert_eq!(
                    received.get("id"),
                    missing_id(negotiated).as_ref(),
                    "{context}: {received}"
                );
            }
            Rejected(code, id) => {
                let received = peer.receive().await;
                assert_eq!(received["error"]["code"], *code, "{context}: {received}");
                assert_eq!(received["id"], *id, "{context}: {received}");
            }
        }
        peer.send(modern("up", "tools/list", json!({}))).await;
        let up = peer.receive().await;
        assert_eq!(up["id"], "up", "{context}: {up}");
        assert_eq!(up["result"]["resultType"], "complete", "{context}");
    }
}

#[tokio::test]
async fn blank_lines_are_ignored() {
    check("", Ignored).await;
    check("\r", Ignored).await;
    check("  \t ", Ignored).await;
    check("\n\n\n", Ignored).await;
}

#[tokio::test]
async fn invalid_json_is_a_parse_error() {
    check("not json", Unreadable(-32700)).await;
    check("{", Unreadable(-32700)).await;
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        Unreadable(-32700),
    )
    .await;
    check(
        r#"{'jsonrpc':'2.0','id':1,'method':'ping'}"#,
        Unreadable(-32700),
    )
    .await;
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#,
        Unreadable(-32700),
    )
    .await;
    check(
        r#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#,
        Unreadable(-32700),
    )
    .await;
    check(b"\xFF\xFE", Unreadable(-32700)).await;
    check(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xFF\xFEng\"}",
        Unreadable(-32700),
    )
    .await;
    check(b"\0\0\0\0", Unreadable(-32700)).await;
    check("\u{1b}[31mERROR\u{1b}[0m something", Unreadable(-32700)).await;
}

#[tokio::test]
async fn message_that_is_not_a_request_object_is_invalid() {
    for scalar in ["42", r#""x""#, "null", "true", "-0.5e3"] {
        check(scalar, Unreadable(-32600)).await;
    }
    check("{}", Unreadable(-32600)).await;
    check("[]", Unreadable(-32600)).await;
}

#[tokio::test]
async fn request_id_must_be_a_string_or_an_integer() {
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    for id in [
        "null",
        "1.5",
        "true",
        "[]",
        "{}",
        "9223372036854775808",
        "-9223372036854775809",
    ] {
        check(ping(id), Unreadable(-32600)).await;
    }
    for id in [
        json!(""),
        json!(0),
        json!(-1),
        json!("0"),
        json!(i64::MAX),
        json!(i64::MIN),
        json!("\u{e9}\u{1F600}\n\""),
    ] {
        check(ping(&id.to_string()), EmptyResult(id)).await;
    }
    check(ping("1.0"), EmptyResult(json!(1))).await;
}

#[tokio::test]
async fn envelope_must_be_json_rpc_2() {
    check(r#"{"id":7,"method":"ping"}"#, Rejected(-32600, json!(7))).await;
    for version in [r#""1.0""#, "2.0", "2", "null", r#""2""#] {
        check(
            format!(r#"{{"jsonrpc":{version},"id":7,"method":"ping"}}"#),
            Rejected(-32600, json!(7)),
        )
        .await;
    }
    check(
        r#"{"jsonrpc":"2.0","id":7,"Method":"ping"}"#,
        Rejected(-32600, json!(7)),
    )
    .await;
    check(
        r#"{"jsonrpc":"2.0","id":7,"method":""}"#,
        Rejected(-32601, json!(7)),
    )
    .await;
    for method in ["5", "null", "[]", r#"{"ping":1}"#] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":{method}}}"#),
            Rejected(-32600, json!(7)),
        )
        .await;
    }
    for params in ["[]", "5", "false", r#""x""#] {
        check(
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{params}}}"#),
            Rejected(-32602, json!(7)),
        )
        .await;
    }
    check(
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}"#,
        Rejected(-32600, json!(7)),
    )
    .await;
}

#[tokio::test]
async fn null_params_count_as_absent() {
    check(
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#,
        EmptyResult(json!(7)),
    )
    .await;
}

#[tokio::test]
async fn duplicate_member_names_are_rejected_at_every_depth() {
    for duplicate in [
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","m\u0065thod":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":1}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[{"b":1,"b":2}]}}"#,
    ] {
        check(duplicate, Rejected(-32600, json!(7))).await;
    }
    // With two `id` members the request cannot be identified.
    check(
        r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#,
        Unreadable(-32600),
    )
    .await;
}

#[tokio::test]
async fn unknown_members_are_ignored_and_names_are_case_sensitive() {
    check(
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","extra":{"a":[1]},"ID":9,"\u017Fid":1}"#,
        EmptyResult(json!(7)),
    )
    .await;
    check(
        r#" { "jsonrpc" : "2.0" , "id" : 7 , "method" : "ping" } "#,
        EmptyResult(json!(7)),
    )
    .await;
}

#[tokio::test]
async fn carriage_return_and_byte_order_mark_are_skipped() {
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\r",
        EmptyResult(json!(7)),
    )
    .await;
    let mut peer = Peer::connect(&rich_server());
    peer.send_bytes(b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".to_vec())
        .await;
    peer.expect(result_response(1, json!({}))).await;
}

#[tokio::test]
async fn notification_gets_no_response() {
    for method in [
        "notifications/unknown",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "tools/list",
        "ping",
        "initialize",
        "",
    ] {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": {}}});
        check(line.to_string(), Ignored).await;
        check(
            json!({"jsonrpc": "2.0", "method": method}).to_string(),
            Ignored,
        )
        .await;
        let malformed = json!({"jsonrpc": "2.0", "method": method, "params": []});
        check(malformed.to_string(), Ignored).await;
    }
}

#[tokio::test]
async fn response_without_a_pending_request_is_ignored() {
    check(result_response(1, json!({})).to_string(), Ignored).await;
    check(
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#,
        Ignored,
    )
    .await;
    // The id of an invalid response is an id of the server, so the error has no id.
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":"broken"}"#,
        Unreadable(-32600),
    )
    .await;
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#,
        Unreadable(-32600),
    )
    .await;
}

#[tokio::test]
async fn cancellation_of_an_unknown_request_is_ignored() {
    let mut peer = peer_with_version(Some("2025-06-18")).await;
    peer.result_of(legacy(1, "tools/list", json!({}))).await;
    peer.send(cancel(1)).await;
    peer.send(cancel(99)).await;
    peer.send(cancel("x")).await;
    peer.send(cancel(json!({"no": "id"}))).await;
    peer.send(notification("notifications/cancelled", json!({})))
        .await;
    peer.expect_silence().await;
    // A cancellation that precedes its request has no effect.
    peer.result_of(legacy(99, "tools/list", json!({}))).await;
}

#[tokio::test]
async fn modern_request_requires_version_and_capabilities_in_meta() {
    let mut peer = Peer::connect(&rich_server());
    peer.error_of(legacy(1, "tools/list", json!({})), -32602)
        .await;
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for meta in [
        json!({version: "2026-07-28"}),
        json!({version: 20260728, capabilities: {}}),
        json!({version: "2026-07-28", capabilities: []}),
        json!([]),
        json!("2026-07-28"),
    ] {
        peer.error_of(legacy(2, "tools/list", json!({"_meta": meta})), -32602)
            .await;
    }
    for unsupported in ["1900-01-01", "2025-11-25", ""] {
        let meta = json!({version: unsupported, capabilities: {}});
        let error = peer
            .error_of(legacy(3, "tools/list", json!({"_meta": meta})), -32022)
            .await;
        assert_eq!(error["data"]["requested"], unsupported);
        assert_eq!(error["data"]["supported"][0], "2026-07-28");
    }
    peer.result_of(modern(4, "tools/list", json!({}))).await;
}

#[tokio::test]
async fn first_message_may_be_a_modern_call_with_progress() {
    let mut peer = Peer::connect(&rich_server());
    let params = json!({"name": "steps", "_meta": {"progressToken": 5}});
    peer.send(modern(1, "tools/call", params)).await;
    for progress in [1.0, 2.0] {
        let received = peer.receive().await;
        assert_eq!(received["method"], "notifications/progress");
        assert_eq!(received["params"]["progress"], progress);
    }
    let result = peer.receive().await;
    assert_eq!(result["id"], 1);
    assert_eq!(result["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn id_of_an_open_subscription_cannot_be_reused() {
    let server = rich_server();
    let mut peer = Peer::connect(&server);
    let listen = || {
        let params = json!({"notifications": {"toolsListChanged": true}});
        modern(1, "subscriptions/listen", params)
    };
    peer.send(listen()).await;
    let acknowledged = peer.receive().await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    peer.send(listen()).await;
    let rejected = peer.receive().await;
    assert_eq!(rejected["error"]["code"], -32602);
    assert_eq!(rejected.get("id"), None);
    // The first subscription still receives notifications.
    assert_eq!(server.tools_changed(), 1);
    let changed = peer.receive().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    peer.send(cancel(1)).await;
    peer.send(listen()).await;
    assert_eq!(
        peer.receive().await["method"],
        "notifications/subscriptions/acknowledged"
    );
}

/// Returns a server whose only tool counts its calls.
fn counting_server() -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let descriptor = Tool::new("count", json!({"type": "object"}));
    let tool = ToolHandler::raw(descriptor, move |_: RequestContext, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { "counted" }
    });
    (Server::new("s", "1").tool(tool), calls)
}

#[tokio::test]
async fn two_messages_on_one_line_are_a_parse_error() {
    let (server, calls) = counting_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let call = legacy(1, "tools/call", json!({"name": "count"})).to_string();
    for both in [format!("{call}{call}"), format!("{call} {call}")] {
        peer.send(both).await;
        let rejected = peer.receive().await;
        assert_eq!(rejected["error"]["code"], -32700);
        assert_eq!(rejected.get("id"), None);
    }
    peer.expect_silence().await;
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn request_may_arrive_byte_by_byte() {
    let (server, calls) = counting_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let call = legacy("b\u{e9}", "tools/call", json!({"name": "count"})).to_string();
    for byte in call.bytes().chain([b'\r', b'\n']) {
        peer.send_bytes([byte]).await;
    }
    assert_eq!(peer.receive().await["id"], "b\u{e9}");
    peer.expect_silence().await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn many_requests_may_arrive_at_once() {
    let (server, calls) = counting_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let lines: String = (0..100)
        .map(|id| format!("{}\n", legacy(id, "tools/call", json!({"name": "count"}))))
        .collect();
    peer.send_bytes(lines).await;
    for _ in 0..100 {
        assert_eq!(
            peer.receive().await["result"]["content"][0]["text"],
            "counted"
        );
    }
    assert_eq!(calls.load(Ordering::Relaxed), 100);
}

#[tokio::test]
async fn incomplete_line_at_the_end_of_input_is_dropped() {
    let (server, calls) = counting_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let call = |id: i64| legacy(id, "tools/call", json!({"name": "count"})).to_string();
    peer.send(call(1)).await;
    let incomplete = call(2);
    peer.send_bytes(&incomplete.as_bytes()[..incomplete.len() - 3])
        .await;
    peer.close_input();
    assert_eq!(peer.receive().await["id"], 1);
    peer.expect_end().await;
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn last_request_needs_no_newline() {
    let (server, _) = counting_server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    peer.send_bytes(legacy(1, "tools/call", json!({"name": "count"})).to_string())
        .await;
    peer.close_input();
    assert_eq!(peer.receive().await["id"], 1);
    peer.expect_end().await;
}

#[tokio::test(start_paused = true)]
async fn at_most_ten_unreadable_lines_in_ten_seconds_get_an_error() {
    for negotiated in NEGOTIATED_VERSIONS {
        let mut peer = peer_with_version(negotiated).await;
        for _ in 0..10 {
            peer.send("noise").await;
            let received = peer.receive().await;
            assert_eq!(received["error"]["code"], -32700);
            assert_eq!(received.get("id"), missing_id(negotiated).as_ref());
        }
        for _ in 0..50 {
            peer.send("noise").await;
        }
        peer.expect_silence().await;
        // An invalid request with a readable id still gets an error.
        peer.send(r#"{"id":7,"method":"ping"}"#).await;
        peer.expect_error(7, -32600).await;
        tokio::time::advance(Duration::from_millis(9_900)).await;
        peer.send("noise").await;
        peer.expect_silence().await;
        tokio::time::advance(Duration::from_millis(100)).await;
        peer.send("noise").await;
        assert_eq!(peer.receive().await["error"]["code"], -32700);
    }
}
