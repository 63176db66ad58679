//! Finding out what a server over HTTP speaks: which answers are evidence, and which are not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::proto::negotiate::{DetectedEra, LegacyTransport};
use toolwire::{ClientBuilder, ClientLimits, ProtocolVersion};

use super::double::Double;
use super::script::{Record, Reply, Seen, discovered, event, initialized, legacy, modern};

const NEWEST_LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

/// The requests of a connection, as `verb method`.
fn log(record: &Record) -> Vec<String> {
    let line = |seen: Seen| {
        format!("{} {}", seen.verb, seen.method())
            .trim_end()
            .to_owned()
    };
    record.all().into_iter().map(line).collect()
}

/// Lets tasks run that were begun.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

fn unsupported(theirs: &[&str]) -> Value {
    json!({
        "code": -32022,
        "message": "unsupported",
        "data": {"supported": theirs, "requested": "2026-07-28"},
    })
}

#[tokio::test]
async fn an_answer_to_discover_means_modern() {
    let server = Double::new(modern);
    let client = server.connect().await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::LATEST);
    assert!(client.server().is_some());
    assert_eq!(log(&server.record), ["POST server/discover"]);
}

#[tokio::test]
async fn an_error_only_modern_servers_have_never_leads_to_initialize() {
    let check = async |status: u16, error: Value| {
        let server = Double::new(move |seen| seen.refuse(status, error.clone()));
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
async fn a_refused_version_is_replaced_by_a_common_one() {
    let server = Double::new(|seen| match seen.method() {
        "server/discover" => seen.refuse(400, unsupported(&["2025-06-18", "2099-01-01"])),
        _ => legacy(seen),
    });
    let client = server.connect().await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::V2025_06_18);
    let initialize = &server.record.of("POST", "initialize")[0];
    assert_eq!(initialize.body["params"]["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn without_a_common_version_the_server_is_left_alone() {
    let server = Double::new(|seen| seen.refuse(400, unsupported(&["2099-01-01"])));
    let error = server.connect().await.unwrap_err();
    assert!(error.to_string().contains("2099-01-01"), "{error}");
    assert_eq!(log(&server.record), ["POST server/discover"]);
}

#[tokio::test]
async fn foreign_refusals_and_unknown_methods_lead_to_initialize() {
    let check = async |refuse: fn(&Seen) -> Reply| {
        let server = Double::new(move |seen| match seen.method() {
            "server/discover" => refuse(seen),
            _ => legacy(seen),
        });
        let client = server.connect().await.unwrap();
        assert_eq!(client.version(), NEWEST_LEGACY);
        settle().await;
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
    let no_session = |seen: &Seen| {
        seen.refuse(
            400,
            json!({"code": -32000, "message": "Bad Request: no valid session"}),
        )
    };
    check(no_session).await;
    // Without its list, this is not the modern error.
    check(|seen| seen.refuse(400, json!({"code": -32022, "message": "?"}))).await;
    check(|seen| seen.refuse(200, json!({"code": -32601, "message": "unknown"}))).await;
    check(|seen| seen.refuse(200, json!({"code": -32602, "message": "not initialized"}))).await;
    // A server that answers everything with something.
    check(|seen| seen.answer(json!({}))).await;
    // A server that could not even read the id.
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
async fn credentials_outages_and_load_are_no_evidence() {
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
async fn credentials_and_outages_are_no_evidence_after_initialize_either() {
    for status in [401, 403, 500, 503] {
        let server = Double::new(move |seen| match seen.method() {
            "initialize" => Reply::status(status),
            _ => legacy(seen),
        });
        let error = server.connect().await.unwrap_err();
        assert_eq!(error.http_status(), Some(status), "{error:?}");
        let expected = ["POST server/discover", "POST initialize"];
        assert_eq!(log(&server.record), expected, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_is_an_outage_and_ends_with_the_time_to_connect() {
    let check = async |script: fn(&Seen) -> Reply, asked: usize| {
        let server = Double::new(script);
        let error = server.connect().await.unwrap_err();
        assert!(error.is_timeout(), "{error:?}");
        assert_eq!(server.record.all().len(), asked);
        let last = server.record.all().pop().unwrap();
        assert_eq!(last.at.elapsed(), ClientLimits::default().connect_timeout);
    };
    check(|_| Reply::never(), 1).await;
    check(|_| Reply::events("").left_open(), 1).await;
    check(
        |seen| match seen.method() {
            "initialize" => Reply::never(),
            _ => legacy(seen),
        },
        2,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_takes_the_first_notification_does_not_hang_the_client() {
    let server = Double::new(|seen| match seen.method() {
        "notifications/initialized" => Reply::never(),
        _ => legacy(seen),
    });
    let connecting = tokio::time::timeout(Duration::from_secs(3600), server.connect());
    let outcome = connecting.await.expect("connecting has a limit");
    assert!(outcome.unwrap_err().is_timeout());
    // The session the server opened is ended again.
    let delete = server.record.nth("DELETE", "", 0).await;
    assert_eq!(delete.header("mcp-session-id"), Some("session-1"));
}

/// A server of the oldest transport at this status for POSTs to the wrong place. Its answers come on a stream that is
/// written in advance: ids are counted.
fn oldest(status: u16) -> impl Fn(&Seen) -> Reply {
    move |seen| match &*seen.verb {
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
        _ if seen.target.ends_with("/messages?session=1") => Reply::status(202),
        _ => Reply::status(status),
    }
}

#[tokio::test]
async fn what_refuses_initialize_may_speak_the_oldest_transport() {
    for status in [400, 404, 405] {
        let server = Double::new(oldest(status));
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

#[tokio::test]
async fn the_first_refusal_is_reported_when_the_oldest_transport_is_not_there_either() {
    let server = Double::new(|_| Reply::status(404).with("no such page"));
    let error = server.connect().await.unwrap_err();
    assert_eq!(error.http_status(), Some(404));
    assert!(error.to_string().contains("no such page"), "{error}");
    let expected = ["POST server/discover", "POST initialize", "GET"];
    assert_eq!(log(&server.record), expected);
}

fn knowing(verdict: DetectedEra) -> ClientBuilder {
    ClientBuilder::new("test", "1").with_detected_era(verdict)
}

const MODERN: DetectedEra = DetectedEra::Modern {
    version: ProtocolVersion::LATEST,
};

fn legacy_verdict(transport: LegacyTransport) -> DetectedEra {
    DetectedEra::Legacy {
        version: NEWEST_LEGACY,
        transport,
    }
}

#[tokio::test]
async fn a_known_verdict_saves_the_question() {
    let server = Double::new(modern);
    let client = server.connect_with(knowing(MODERN)).await.unwrap();
    assert_eq!(log(&server.record), [""; 0]);
    client.call_tool("act", json!({})).await.unwrap();
    assert_eq!(log(&server.record), ["POST tools/call"]);

    let server = Double::new(legacy);
    let verdict = legacy_verdict(LegacyTransport::Direct);
    let client = server.connect_with(knowing(verdict)).await.unwrap();
    assert_eq!(client.detected_era(), verdict);
    assert_eq!(log(&server.record)[0], "POST initialize");
}

#[tokio::test]
async fn a_modern_verdict_that_is_wrong_is_corrected_once() {
    let server = Double::new(|seen| match seen.header("mcp-session-id") {
        None if seen.method() == "tools/call" => Reply::status(400),
        _ => legacy(seen),
    });
    let client = server.connect_with(knowing(MODERN)).await.unwrap();
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
async fn a_verdict_is_not_doubted_again_and_again() {
    // Everything but the question is refused, in a way that could mean the other era.
    let server = Double::new(|seen| match seen.method() {
        "server/discover" => seen.answer(discovered()),
        _ => Reply::status(400),
    });
    let client = server.connect_with(knowing(MODERN)).await.unwrap();
    for _ in 0..3 {
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(error.http_status(), Some(400));
    }
    assert_eq!(server.record.of("POST", "server/discover").len(), 1);
}

#[tokio::test]
async fn outages_do_not_shake_a_verdict() {
    for status in [401, 403, 500, 503] {
        let server = Double::new(move |_| Reply::status(status));
        let client = server.connect_with(knowing(MODERN)).await.unwrap();
        let error = client.call_tool("act", json!({})).await.unwrap_err();
        assert_eq!(error.http_status(), Some(status));
        assert_eq!(log(&server.record), ["POST tools/call"]);
    }
}

#[tokio::test]
async fn a_legacy_verdict_that_is_wrong_is_corrected_too() {
    for transport in [LegacyTransport::Direct, LegacyTransport::HttpWithSse] {
        let server = Double::new(modern);
        let client = server
            .connect_with(knowing(legacy_verdict(transport)))
            .await;
        let client = client.expect("the server is asked anew");
        assert_eq!(client.version(), ProtocolVersion::LATEST, "{transport:?}");
        client.call_tool("act", json!({})).await.unwrap();
    }
}

#[tokio::test]
async fn a_verdict_for_the_oldest_transport_goes_there_at_once() {
    let server = Double::new(|seen| {
        let mut reply = oldest(404)(seen);
        if seen.verb == "GET" {
            // The first id is spent on `initialize` here.
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
    let verdict = legacy_verdict(LegacyTransport::HttpWithSse);
    server.connect_with(knowing(verdict)).await.unwrap();
    assert_eq!(log(&server.record)[..2], ["GET", "POST initialize"]);
}

#[tokio::test]
async fn a_server_may_become_legacy_while_it_is_asked() {
    // It answers the question, and then turns out to have only legacy versions.
    let asked = Arc::new(AtomicBool::new(false));
    let server = Double::new(move |seen| match seen.method() {
        "server/discover" => {
            asked.store(true, Ordering::Relaxed);
            let mut answer = discovered();
            answer["supportedVersions"] = json!(["2025-06-18"]);
            seen.answer(answer)
        }
        "initialize" => {
            assert!(asked.load(Ordering::Relaxed));
            seen.answer(initialized(seen))
        }
        _ => legacy(seen),
    });
    let client = server.connect().await.unwrap();
    assert_eq!(client.version(), ProtocolVersion::V2025_06_18);
}
