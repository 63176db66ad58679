//! Detection of the era over HTTP: which responses to the probe decide it, and which do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::{ClientBuilder, ClientLimits, ProtocolVersion};
use toolwire::{DetectedEra, Era, LegacyTransport};

use super::double::Double;
use super::script::{
    Record, RecordedRequest, Reply, discovered, event, initialized, legacy, modern,
};

const NEWEST_LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

/// Returns the received requests, each as HTTP method and JSON-RPC method.
fn log(record: &Record) -> Vec<String> {
    let line = |request: RecordedRequest| {
        format!("{} {}", request.http_method, request.method())
            .trim_end()
            .to_owned()
    };
    record.all().into_iter().map(line).collect()
}

/// Lets the spawned tasks run.
async fn run_spawned_tasks() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn unsupported(versions: &[&str]) -> Value {
    json!({
        "code": -32022,
        "message": "unsupported",
        "data": {"supported": versions, "requested": "2026-07-28"},
    })
}

#[tokio::test]
async fn response_to_discover_means_the_modern_era() {
    let server = Double::new(modern);
    let client = server.connect().await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::LATEST);
    assert!(client.server().is_some());
    assert_eq!(log(&server.record), ["POST server/discover"]);
}

#[tokio::test]
async fn modern_error_code_prevents_initialize() {
    let check = async |status: u16, error: Value| {
        let server = Double::new(move |request| request.reject(status, error.clone()));
        let client = server.connect().await.unwrap();
        assert_eq!(client.version(), ProtocolVersion::LATEST);
        assert_eq!(log(&server.record), ["POST server/discover"]);
    };
    for status in [400, 200] {
        check(
            status,
            json!({"code": -32020, "message": "a header is missing"}),
        )
        .await;
        check(
            status,
            json!({"code": -32021, "message": "a capability is missing"}),
        )
        .await;
    }
    check(404, json!({"code": -32601, "message": "method not found"})).await;
}

#[tokio::test]
async fn rejected_version_is_replaced_by_a_common_version() {
    let server = Double::new(|request| match request.method() {
        "server/discover" => request.reject(400, unsupported(&["2025-06-18", "2099-01-01"])),
        _ => legacy(request),
    });
    let client = server.connect().await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::V2025_06_18);
    let initialize = &server.record.of("POST", "initialize")[0];
    assert_eq!(initialize.body["params"]["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn server_without_a_common_version_gets_no_initialize() {
    let server = Double::new(|request| request.reject(400, unsupported(&["2099-01-01"])));
    let error = server.connect().await.unwrap_err();
    assert!(error.to_string().contains("2099-01-01"), "{error}");
    assert_eq!(log(&server.record), ["POST server/discover"]);
}

#[tokio::test]
async fn other_errors_of_discover_are_followed_by_initialize() {
    let check = async |reject: fn(&RecordedRequest) -> Reply| {
        let server = Double::new(move |request| match request.method() {
            "server/discover" => reject(request),
            _ => legacy(request),
        });
        let client = server.connect().await.unwrap();
        assert_eq!(client.version(), NEWEST_LEGACY);
        run_spawned_tasks().await;
        let expected = [
            "POST server/discover",
            "POST initialize",
            "POST notifications/initialized",
            "GET",
        ];
        assert_eq!(log(&server.record), expected);
    };
    check(|_| Reply::status(400)).await;
    check(|_| Reply::status(404)).await;
    check(|_| Reply::status(405)).await;
    check(|_| Reply::status(406)).await;
    check(|_| Reply::status(415)).await;
    check(|_| Reply::status(422).with("what?")).await;
    check(|_| Reply::json(400, "{\"error\": \"no session\"}")).await;
    check(|_| Reply::json(400, "[]")).await;
    let no_session = |request: &RecordedRequest| {
        request.reject(
            400,
            json!({"code": -32000, "message": "Bad Request: no valid session"}),
        )
    };
    check(no_session).await;
    // Without the list of versions, this is not the error of a modern server.
    check(|request| request.reject(400, json!({"code": -32022, "message": "?"}))).await;
    check(|request| request.reject(200, json!({"code": -32601, "message": "unknown"}))).await;
    check(|request| request.reject(200, json!({"code": -32602, "message": "not initialized"})))
        .await;
    // A server that responds to every request with a result.
    check(|request| request.respond(json!({}))).await;
    // A server that could not parse the id.
    check(|_| {
        let error = json!({"code": -32600, "message": "what?"});
        Reply::json(
            200,
            json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string(),
        )
    })
    .await;
}

#[tokio::test]
async fn authorization_and_server_errors_do_not_decide_the_era() {
    for status in [401, 403, 407, 408, 429, 500, 502, 503, 504] {
        let server = Double::new(move |_| Reply::status(status));
        let error = server.connect().await.unwrap_err();
        assert_eq!(error.http_status(), Some(status), "{error:?}");
        assert_eq!(log(&server.record), ["POST server/discover"], "{status}");
    }
    let server = Double::new(|_| Reply::status(200).with_header("content-type", "text/html"));
    assert!(server.connect().await.unwrap_err().is_protocol_violation());
    assert_eq!(log(&server.record), ["POST server/discover"]);
}

#[tokio::test]
async fn authorization_and_server_errors_of_initialize_fail_the_connection() {
    for status in [401, 403, 500, 503] {
        let server = Double::new(move |request| match request.method() {
            "initialize" => Reply::status(status),
            _ => legacy(request),
        });
        let error = server.connect().await.unwrap_err();
        assert_eq!(error.http_status(), Some(status), "{error:?}");
        let expected = ["POST server/discover", "POST initialize"];
        assert_eq!(log(&server.record), expected, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn probe_without_a_response_fails_after_the_connect_timeout() {
    let check = async |script: fn(&RecordedRequest) -> Reply, requests: usize| {
        let server = Double::new(script);
        let error = server.connect().await.unwrap_err();
        assert!(error.is_timeout(), "{error:?}");
        assert_eq!(server.record.all().len(), requests);
        let last = server.record.all().pop().unwrap();
        assert_eq!(last.at.elapsed(), ClientLimits::default().connect_timeout);
    };
    check(|_| Reply::never(), 1).await;
    check(|_| Reply::events("").left_open(), 1).await;
    check(
        |request| match request.method() {
            "initialize" => Reply::never(),
            _ => legacy(request),
        },
        2,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn initialized_notification_that_is_not_accepted_times_out() {
    let server = Double::new(|request| match request.method() {
        "notifications/initialized" => Reply::never(),
        _ => legacy(request),
    });
    let connecting = tokio::time::timeout(Duration::from_secs(3600), server.connect());
    let outcome = connecting.await.expect("a timeout of the client");
    assert!(outcome.unwrap_err().is_timeout());
    // The client deletes the session that the server opened.
    let delete = server.record.nth("DELETE", "", 0).await;
    assert_eq!(delete.header("mcp-session-id"), Some("session-1"));
}

/// The script of an HTTP+SSE server that rejects a POST to the URL of its stream with this status. The stream is
/// written in advance, so the id of `initialize` is known.
fn http_with_sse(status: u16) -> impl Fn(&RecordedRequest) -> Reply {
    move |request| match &*request.http_method {
        "GET" => {
            let initialize = json!({
                "jsonrpc": "2.0",
                "id": 3,
                "result": {
                    "protocolVersion": "2024-11-05",
                    "capabilities": {},
                    "serverInfo": {"name": "old", "version": "1"},
                },
            });
            let endpoint = "event: endpoint\ndata: /messages?session=1\n\n".to_owned();
            Reply::events(endpoint + &event(initialize.to_string())).left_open()
        }
        _ if request.target.ends_with("/messages?session=1") => Reply::status(202),
        _ => Reply::status(status),
    }
}

#[tokio::test]
async fn rejected_initialize_is_followed_by_http_with_sse() {
    for status in [400, 404, 405] {
        let server = Double::new(http_with_sse(status));
        let client = server.connect().await.unwrap();
        let expected = DetectedEra::Legacy {
            version: ProtocolVersion::V2024_11_05,
            transport: LegacyTransport::HttpWithSse,
        };
        assert_eq!(client.detected_era(), expected);
        let expected = [
            "POST server/discover",
            "POST initialize",
            "GET",
            "POST initialize",
            "POST notifications/initialized",
        ];
        assert_eq!(log(&server.record), expected);
    }
}

/// The script of an HTTP+SSE server that responds to a POST to the URL of its stream like to a GET. `initialize` has
/// this id.
fn http_with_sse_for_any_method(initialize: u64) -> impl Fn(&RecordedRequest) -> Reply {
    move |request| {
        if request.target.ends_with("/messages?session=1") {
            return Reply::status(202);
        }
        let response = json!({
            "jsonrpc": "2.0",
            "id": initialize,
            "result": {
                "protocolVersion": "2024-11-05",
                "capabilities": {},
                "serverInfo": {"name": "old", "version": "1"},
            },
        });
        let mut stream = "event: endpoint\ndata: /messages?session=1\n\n".to_owned();
        if request.http_method == "GET" {
            stream.push_str(&event(response.to_string()));
        }
        Reply::events(stream).left_open()
    }
}

const HTTP_WITH_SSE: DetectedEra = DetectedEra::Legacy {
    version: ProtocolVersion::V2024_11_05,
    transport: LegacyTransport::HttpWithSse,
};

#[tokio::test(start_paused = true)]
async fn endpoint_event_in_the_response_to_a_post_is_followed_by_http_with_sse() {
    let server = Double::new(http_with_sse_for_any_method(2));
    let client = server.connect().await.unwrap();
    assert_eq!(client.detected_era(), HTTP_WITH_SSE);
    let expected = [
        "POST server/discover",
        "GET",
        "POST initialize",
        "POST notifications/initialized",
    ];
    assert_eq!(log(&server.record), expected);

    // A client of legacy revisions starts with `initialize`.
    let server = Double::new(http_with_sse_for_any_method(2));
    let builder = ClientBuilder::new("test", "1").with_era(Era::Legacy);
    let client = server.connect_with(builder).await.unwrap();
    assert_eq!(client.detected_era(), HTTP_WITH_SSE);
    let expected = [
        "POST initialize",
        "GET",
        "POST initialize",
        "POST notifications/initialized",
    ];
    assert_eq!(log(&server.record), expected);
}

#[tokio::test(start_paused = true)]
async fn endpoint_event_corrects_a_wrong_modern_era() {
    let server = Double::new(http_with_sse_for_any_method(3));
    let client = server.connect_with(builder_with_era(MODERN)).await.unwrap();
    let call = client.call_tool("act", json!({}));
    // This server sends no response to calls.
    call.with_timeout(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(client.detected_era(), HTTP_WITH_SSE);
}

#[tokio::test]
async fn error_of_initialize_is_returned_if_http_with_sse_fails_too() {
    let server = Double::new(|_| Reply::status(404).with("no such page"));
    let error = server.connect().await.unwrap_err();
    assert_eq!(error.http_status(), Some(404));
    assert!(error.to_string().contains("no such page"), "{error}");
    let expected = ["POST server/discover", "POST initialize", "GET"];
    assert_eq!(log(&server.record), expected);
}

fn builder_with_era(era: DetectedEra) -> ClientBuilder {
    ClientBuilder::new("test", "1").with_detected_era(era)
}

const MODERN: DetectedEra = DetectedEra::Modern {
    version: ProtocolVersion::LATEST,
};

fn legacy_era(transport: LegacyTransport) -> DetectedEra {
    DetectedEra::Legacy {
        version: NEWEST_LEGACY,
        transport,
    }
}

#[tokio::test]
async fn configured_era_skips_the_probe() {
    let server = Double::new(modern);
    let client = server.connect_with(builder_with_era(MODERN)).await.unwrap();
    assert_eq!(log(&server.record), [""; 0]);
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(log(&server.record), ["POST tools/call"]);

    let server = Double::new(legacy);
    let era = legacy_era(LegacyTransport::Direct);
    let client = server.connect_with(builder_with_era(era)).await.unwrap();
    assert_eq!(client.detected_era(), era);
    assert_eq!(log(&server.record)[0], "POST initialize");
}

#[tokio::test]
async fn wrong_modern_era_is_corrected_once() {
    let server = Double::new(|request| match request.header("mcp-session-id") {
        None if request.method() == "tools/call" => Reply::status(400),
        _ => legacy(request),
    });
    let client = server.connect_with(builder_with_era(MODERN)).await.unwrap();
    let calls = (0..10).map(|_| {
        let client = client.clone();
        tokio::spawn(client.call_tool("act", json!({})).into_future())
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!(client.version(), NEWEST_LEGACY);
    assert_eq!(server.record.of("POST", "server/discover").len(), 1);
    assert_eq!(server.record.of("POST", "initialize").len(), 1);
}

#[tokio::test]
async fn configured_era_is_probed_again_at_most_once() {
    // The server rejects every request except the probe, with a status that a legacy server could send.
    let server = Double::new(|request| match request.method() {
        "server/discover" => request.respond(discovered()),
        _ => Reply::status(400),
    });
    let client = server.connect_with(builder_with_era(MODERN)).await.unwrap();
    for _ in 0..3 {
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(error.http_status(), Some(400));
    }
    assert_eq!(server.record.of("POST", "server/discover").len(), 1);
}

#[tokio::test]
async fn authorization_and_server_errors_do_not_change_the_configured_era() {
    for status in [401, 403, 500, 503] {
        let server = Double::new(move |_| Reply::status(status));
        let client = server.connect_with(builder_with_era(MODERN)).await.unwrap();
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(error.http_status(), Some(status));
        assert_eq!(log(&server.record), ["POST tools/call"]);
    }
}

#[tokio::test]
async fn wrong_legacy_era_is_corrected() {
    for transport in [LegacyTransport::Direct, LegacyTransport::HttpWithSse] {
        let server = Double::new(modern);
        let client = server
            .connect_with(builder_with_era(legacy_era(transport)))
            .await;
        let client = client.expect("another probe");
        assert_eq!(client.version(), ProtocolVersion::LATEST, "{transport:?}");
        client.call_tool("act", json!({})).await.unwrap();
    }
}

#[tokio::test]
async fn configured_http_with_sse_is_used_without_a_probe() {
    let server = Double::new(|request| {
        let mut reply = http_with_sse(404)(request);
        if request.http_method == "GET" {
            // Without a probe, `initialize` has the first id.
            reply = Reply::events("event: endpoint\ndata: /messages?session=1\n\n")
                .with(event(
                    json!({"jsonrpc": "2.0", "id": 1, "result": {
                        "protocolVersion": "2024-11-05", "capabilities": {},
                        "serverInfo": {"name": "old", "version": "1"},
                    }})
                    .to_string(),
                ))
                .left_open();
        }
        reply
    });
    let era = legacy_era(LegacyTransport::HttpWithSse);
    server.connect_with(builder_with_era(era)).await.unwrap();
    assert_eq!(log(&server.record)[..2], ["GET", "POST initialize"]);
}

#[tokio::test]
async fn response_to_discover_with_legacy_versions_is_followed_by_initialize() {
    // The server responds to the probe, but supports only legacy versions.
    let discovered_first = Arc::new(AtomicBool::new(false));
    let server = Double::new(move |request| match request.method() {
        "server/discover" => {
            discovered_first.store(true, Ordering::Relaxed);
            let mut result = discovered();
            result["supportedVersions"] = json!(["2025-06-18"]);
            request.respond(result)
        }
        "initialize" => {
            assert!(discovered_first.load(Ordering::Relaxed));
            request.respond(initialized(request))
        }
        _ => legacy(request),
    });
    let client = server.connect().await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::V2025_06_18);
}
