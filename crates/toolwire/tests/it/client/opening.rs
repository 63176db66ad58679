//! How a client finds out what a server speaks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::ProtocolVersion;
use toolwire::proto::negotiate::{DetectedEra, LegacyTransport};
use toolwire::testing::{ReceivedMessage, ScriptedServer, assert_rpc_error, assert_text};

use super::{LEGACY, MODERN, builder, calling, ended, expect_call, modern, text};

const LEGACY_VERDICT: DetectedEra = DetectedEra::Legacy {
    version: LEGACY,
    transport: LegacyTransport::Direct,
};

async fn initialized(server: &mut ScriptedServer, request: &ReceivedMessage, version: &str) {
    let result = json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "old", "version": "1"},
    });
    server.respond(request, result).await;
    server
        .expect_notification("notifications/initialized")
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_modern_server_says_of_itself_is_kept() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let request = server.expect("server/discover").await;
    server
        .respond(
            &request,
            json!({
                "supportedVersions": ["2026-07-28", "2099-01-01"],
                "capabilities": {"tools": {}},
                "instructions": "Be kind.",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "2"}},
            }),
        )
        .await;
    let client = connecting.await.expect("no panic").expect("connected");
    assert_eq!(client.version(), MODERN);
    assert_eq!(
        client.detected_era(),
        DetectedEra::Modern { version: MODERN }
    );
    let facts = client.server().expect("it said so");
    assert_eq!(
        facts.info.as_ref().map(|info| info.name.as_str()),
        Some("new")
    );
    assert_eq!(facts.instructions.as_deref(), Some("Be kind."));
    assert_eq!(facts.versions, ["2026-07-28", "2099-01-01"]);
    assert!(facts.capabilities.tools.is_some());
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn any_refusal_that_is_not_modern_means_legacy() {
    for code in [-32601, -32602, -32600, -32000, 7] {
        let (mut server, connecting) = ScriptedServer::listening(builder());
        let connecting = tokio::spawn(connecting);
        server.accept().await;
        let request = server.expect("server/discover").await;
        server
            .respond_error(&request, code, "what?", Value::Null)
            .await;
        let request = server.expect("initialize").await;
        assert_eq!(request.params["protocolVersion"], "2025-11-25");
        initialized(&mut server, &request, "2025-06-18").await;
        let client = connecting.await.expect("no panic").expect("connected");
        assert_eq!(client.version(), ProtocolVersion::V2025_06_18);
        let facts = client.server().expect("it said so");
        assert_eq!(
            facts.info.as_ref().map(|info| info.name.as_str()),
            Some("old")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_discover_that_is_none_means_legacy() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let request = server.expect("server/discover").await;
    server.respond(&request, json!({"ok": true})).await;
    let request = server.expect("initialize").await;
    initialized(&mut server, &request, "2024-11-05").await;
    let client = connecting.await.expect("no panic").expect("connected");
    assert_eq!(client.version(), ProtocolVersion::V2024_11_05);
}

#[tokio::test(start_paused = true)]
async fn silence_for_five_seconds_means_legacy_and_nothing_comes_before_initialize() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let start = Instant::now();
    let probe = server.expect("server/discover").await;
    let request = server.expect("initialize").await;
    assert_eq!(start.elapsed().as_secs(), 5);
    initialized(&mut server, &request, "2025-11-25").await;
    let client = connecting.await.expect("no panic").expect("connected");
    // The late answer to the probe changes nothing.
    server
        .respond_error(&probe, -32601, "late", Value::Null)
        .await;
    server.expect_silence().await;
    assert_eq!(client.version(), LEGACY);
    assert_eq!(client.ignored_messages(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_of_the_question_is_dialled_once_more() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    server.expect("server/discover").await;
    server.disconnect();
    server.accept().await;
    let request = server.expect("initialize").await;
    initialized(&mut server, &request, "2025-11-25").await;
    let client = connecting.await.expect("no panic").expect("connected");
    assert_eq!(client.detected_era(), LEGACY_VERDICT);
    // The connection that was lost belongs to nobody any more.
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&ended(call).await.expect("an answer"), "quick");

    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    for method in ["server/discover", "initialize"] {
        server.accept().await;
        server.expect(method).await;
        server.disconnect();
    }
    let error = connecting
        .await
        .expect("no panic")
        .expect_err("it died again");
    assert!(error.is_closed(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn another_modern_version_is_taken_from_the_refusal() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let request = server.expect("server/discover").await;
    let supported = json!({"supported": ["2025-06-18", "2099-01-01"], "requested": "2026-07-28"});
    server
        .respond_error(&request, -32022, "not that one", supported)
        .await;
    let request = server.expect("initialize").await;
    assert_eq!(request.params["protocolVersion"], "2025-06-18");
    initialized(&mut server, &request, "2025-06-18").await;
    connecting.await.expect("no panic").expect("connected");
}

#[tokio::test(start_paused = true)]
async fn a_version_this_client_does_not_speak_is_an_error_and_the_connection_ends() {
    for offered in ["1999-12-31", "2026-07-28", "2024-11-05"] {
        let only = builder().with_versions([LEGACY]);
        let (mut server, connecting) = ScriptedServer::listening(only);
        let connecting = tokio::spawn(connecting);
        server.accept().await;
        let request = server.expect("initialize").await;
        let info = json!({"name": "old", "version": "1"});
        let result = json!({"protocolVersion": offered, "capabilities": {}, "serverInfo": info});
        server.respond(&request, result).await;
        let error = connecting.await.expect("no panic").expect_err("not spoken");
        assert!(error.to_string().contains(offered), "{error}");
        server.expect_disconnect().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_initialize_is_told_with_the_words_of_the_server() {
    let only = builder().with_versions([LEGACY]);
    let (mut server, connecting) = ScriptedServer::listening(only);
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let request = server.expect("initialize").await;
    server
        .respond_error(&request, -32000, "closed on Sundays", Value::Null)
        .await;
    let outcome = connecting.await.expect("no panic");
    assert_eq!(assert_rpc_error(&outcome, -32000), "closed on Sundays");
    server.expect_disconnect().await;
}

#[tokio::test(start_paused = true)]
async fn a_verdict_spares_the_question() {
    let verdict = modern().await.0.detected_era();
    let known = builder().with_detected_era(verdict);
    let (client, mut server) = ScriptedServer::connect(known, MODERN).await;
    server.expect_silence().await;
    assert_eq!(client.version(), MODERN);
    assert_eq!(client.server(), None);
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&ended(call).await.expect("an answer"), "quick");

    let known = builder().with_detected_era(LEGACY_VERDICT);
    let (mut server, connecting) = ScriptedServer::listening(known);
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let request = server.expect("initialize").await;
    initialized(&mut server, &request, "2025-11-25").await;
    connecting.await.expect("no panic").expect("connected");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_verdict_is_corrected_by_the_first_call() {
    let known = builder().with_detected_era(DetectedEra::Modern { version: MODERN });
    let (client, mut server) = ScriptedServer::connect(known, MODERN).await;
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    let supported = json!({"supported": ["2025-11-25"], "requested": "2026-07-28"});
    server
        .respond_error(&request, -32022, "not any more", supported.clone())
        .await;
    server.accept().await;
    let request = server.expect("server/discover").await;
    server
        .respond_error(&request, -32022, "not any more", supported)
        .await;
    let request = server.expect("initialize").await;
    initialized(&mut server, &request, "2025-11-25").await;
    let request = expect_call(&mut server, "quick").await;
    assert_eq!(request.params.get("_meta"), None, "{request}");
    server.respond(&request, text("quick")).await;
    assert_text(&ended(call).await.expect("an answer"), "quick");
    assert_eq!(client.detected_era(), LEGACY_VERDICT);
    assert_eq!(client.pending_operations(), 0);
}

/// The old connection ends when the new one already serves; that must not touch what belongs to the new one.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_replaced_connection_does_not_touch_the_new_one() {
    let known = builder()
        .with_detected_era(DetectedEra::Modern { version: MODERN })
        .on_elicitation(|_| std::future::pending());
    let (client, mut server) = ScriptedServer::connect(known, MODERN).await;
    // Two calls: the second one keeps the old connection alive until it is over.
    let keeping = calling(&client, "keeping");
    expect_call(&mut server, "keeping").await;
    let call = calling(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    let supported = json!({"supported": ["2025-11-25"], "requested": "2026-07-28"});
    server
        .respond_error(&request, -32022, "not any more", supported.clone())
        .await;
    server.accept().await;
    let request = server.expect("server/discover").await;
    server
        .respond_error(&request, -32022, "not any more", supported)
        .await;
    let request = server.expect("initialize").await;
    initialized(&mut server, &request, "2025-11-25").await;
    let request = expect_call(&mut server, "quick").await;
    server.ask("q", "elicitation/create", super::form()).await;
    server.respond(&request, text("quick")).await;
    assert_text(&ended(call).await.expect("an answer"), "quick");
    assert_eq!(
        client.pending_operations(),
        1,
        "the question is being answered"
    );
    keeping.abort();
    drop(keeping.await);
    server.expect_silence().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        client.pending_operations(),
        1,
        "the question is still being answered"
    );
}
