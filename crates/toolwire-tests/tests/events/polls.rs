//! `events/list` and `events/poll`, and the errors of all methods.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use toolwire::Server;
use toolwire::events::{Event, NoArguments};
use toolwire_tests::peer::{Peer, legacy, modern, server};

use crate::sources::{Controlled, Incident, desk, emit, incidents, poll};

const EXTENSION: &str = "io.modelcontextprotocol/events";

#[tokio::test]
async fn list_has_the_schemas_and_the_delivery_modes() {
    let (server, _incidents) = desk();
    let server = server.event("topic.changed", Controlled::default());
    let mut peer = Peer::connect(&server.with_page_size(1));
    let first = peer.result_of(modern(1, "events/list", json!({}))).await;
    assert_eq!(first["resultType"], "complete");
    let entry = &first["events"][0];
    assert_eq!(entry["name"], "incident.created");
    assert_eq!(entry["description"], "An incident was created.");
    assert_eq!(entry["delivery"], json!(["poll", "push"]), "{entry}");
    let severity = &entry["inputSchema"]["properties"]["severity"];
    assert_eq!(severity["maximum"], 5, "{entry}");
    assert_eq!(entry["payloadSchema"]["required"], json!(["severity"]));
    let rest = json!({"cursor": first["nextCursor"]});
    let second = peer.result_of(modern(2, "events/list", rest)).await;
    assert_eq!(second["events"][0]["name"], "topic.changed");
    assert_eq!(second.get("nextCursor"), None);
}

#[tokio::test]
async fn extension_is_declared_in_2026_07_28_only() {
    let (server, _incidents) = desk();
    let mut peer = Peer::connect(&server);
    let discovered = peer
        .result_of(modern(1, "server/discover", json!({})))
        .await;
    let settings = &discovered["capabilities"]["extensions"][EXTENSION];
    assert_eq!(*settings, json!({"listChanged": true}));
    let mut older = Peer::connect(&server);
    let initialized = older.initialize("2025-11-25").await;
    let extensions = &initialized["capabilities"]["extensions"];
    assert_eq!(extensions.get(EXTENSION), None, "{initialized}");
    for method in ["events/list", "events/poll", "events/stream"] {
        older
            .error_of(
                legacy(2, method, json!({"name": "incident.created"})),
                -32601,
            )
            .await;
    }
}

#[tokio::test]
async fn poll_continues_after_its_cursor() {
    let (server, incidents) = desk();
    let mut peer = Peer::connect(&server);
    emit(&incidents, "before", 1);
    let start = peer.result_of(poll(1, json!({"cursor": null}))).await;
    assert_eq!(
        start["events"],
        json!([]),
        "there is no history without a cursor"
    );
    assert_eq!(
        (&start["truncated"], &start["hasMore"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(start["nextPollMs"], 5000);
    for (id, severity) in [("a", 1), ("b", 3), ("c", 3)] {
        emit(&incidents, id, severity);
    }
    let arguments = json!({"severity": 2});
    let params = json!({"cursor": start["cursor"], "arguments": arguments, "maxEvents": 1});
    let first = peer.result_of(poll(2, params)).await;
    assert_eq!(first["events"].as_array().unwrap().len(), 1);
    let event = &first["events"][0];
    assert_eq!(
        (&event["eventId"], &event["name"]),
        (&json!("b"), &json!("incident.created"))
    );
    assert_eq!(event["data"], json!({"severity": 3}));
    assert!(
        event["timestamp"].as_str().unwrap().ends_with('Z'),
        "{event}"
    );
    assert_eq!(event["cursor"], first["cursor"]);
    assert_eq!(
        (&first["hasMore"], &first["nextPollMs"]),
        (&json!(true), &json!(0))
    );
    let params = json!({"cursor": first["cursor"], "arguments": arguments});
    let second = peer.result_of(poll(3, params.clone())).await;
    assert_eq!(second["events"][0]["eventId"], "c");
    let again = peer.result_of(poll(4, params)).await;
    assert_eq!(
        again["events"], second["events"],
        "a repeated poll returns the same"
    );
    let rest = peer
        .result_of(poll(5, json!({"cursor": second["cursor"]})))
        .await;
    assert_eq!(rest["events"], json!([]));
}

#[tokio::test]
async fn unknown_cursor_is_truncated_and_not_an_error() {
    let (server, incidents) = desk();
    let mut peer = Peer::connect(&server);
    emit(&incidents, "a", 1);
    for cursor in ["", "nonsense", "AAAAAAAAAAAAAAAAAAAAAA"] {
        let result = peer.result_of(poll(1, json!({"cursor": cursor}))).await;
        assert_eq!(
            (&result["truncated"], &result["events"]),
            (&json!(true), &json!([]))
        );
        let fresh = json!({"cursor": result["cursor"]});
        let result = peer.result_of(poll(2, fresh)).await;
        assert_eq!(result["truncated"], false, "the new cursor is valid");
    }
}

#[tokio::test]
async fn maximum_age_skips_events_and_reports_it() {
    let (server, incidents) = desk();
    let mut peer = Peer::connect(&server);
    let start = peer.result_of(poll(1, json!({}))).await;
    emit(&incidents, "a", 1);
    let all = json!({"cursor": start["cursor"], "maxAgeMs": 600_000});
    let result = peer.result_of(poll(2, all)).await;
    assert_eq!(
        (&result["truncated"], &result["events"][0]["eventId"]),
        (&json!(false), &json!("a"))
    );
    // Times are compared in milliseconds, so the event is too old when the clock shows another one.
    let emitted = SystemTime::now();
    while emitted.elapsed().unwrap_or_default() < Duration::from_millis(2) {
        tokio::task::yield_now().await;
    }
    let none = json!({"cursor": start["cursor"], "maxAgeMs": 0});
    let result = peer.result_of(poll(3, none)).await;
    assert_eq!(
        (&result["truncated"], &result["events"]),
        (&json!(true), &json!([]))
    );
}

#[tokio::test]
async fn rejections_have_their_codes() {
    async fn check(server: &Server, method: &str, params: Value, code: i64, data: Option<Value>) {
        let mut peer = Peer::connect(server);
        let error = peer.error_of(modern(1, method, params), code).await;
        assert_eq!(error.get("data").cloned(), data, "{error}");
    }
    let (desk, _incidents) = desk();
    let delivery = json!({"mode": "webhook", "url": "https://x.test/h", "secret": "whsec_AAAA"});
    let named = |arguments: Value| json!({"name": "incident.created", "arguments": arguments});
    for method in ["events/poll", "events/stream"] {
        let unknown = Some(json!({"kind": "event"}));
        check(&desk, method, json!({"name": "x"}), -32023, unknown).await;
        check(&desk, method, json!({}), -32602, None).await;
        for arguments in [
            json!({"severity": "high"}),
            json!({"severity": 6}),
            json!([]),
            json!({"x": "y".repeat(16 * 1024)}),
        ] {
            check(&desk, method, named(arguments), -32602, None).await;
        }
    }
    let params = json!({"name": "incident.created", "delivery": delivery});
    let unsupported = Some(json!({"feature": "delivery", "value": "webhook"}));
    check(
        &desk,
        "events/subscribe",
        params.clone(),
        -32026,
        unsupported,
    )
    .await;
    let missing = Some(json!({"kind": "subscription"}));
    check(&desk, "events/unsubscribe", params.clone(), -32023, missing).await;
    let polled = Controlled {
        only_polls: true,
        ..Controlled::default()
    };
    let polled = server().event("topic.changed", polled);
    let topic = json!({"name": "topic.changed", "arguments": {"topic": "a"}});
    let unsupported = Some(json!({"feature": "delivery", "value": "push"}));
    check(&polled, "events/stream", topic, -32026, unsupported).await;
    let without = server();
    for method in [
        "events/list",
        "events/poll",
        "events/stream",
        "events/subscribe",
    ] {
        check(&without, method, params.clone(), -32601, None).await;
    }
}

#[test]
fn registration_rejects_what_cannot_be_served() {
    let (server, _incidents) = desk();
    let error = server
        .add_event("incident.created", incidents())
        .unwrap_err();
    assert!(error.to_string().contains("registered twice"), "{error}");
    let error = server.add_event("no spaces", incidents()).unwrap_err();
    assert!(error.to_string().contains("no spaces"), "{error}");
    let emitter = toolwire::events::Emitter::<Vec<u32>, Incident>::new();
    let error = server.add_event("list", emitter).unwrap_err();
    assert!(error.to_string().contains("NoArguments"), "{error}");
}

#[test]
fn event_may_have_256_kib() {
    let texts = toolwire::events::Emitter::<NoArguments, String>::new();
    let text = |bytes: usize| Event::new("x".repeat(bytes - 2));
    texts.emit(text(256 * 1024)).unwrap();
    let error = texts.emit(text(256 * 1024 + 1)).unwrap_err();
    assert!(error.to_string().contains("262144"), "{error}");
}
