//! Detection of the era and negotiation of the version.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolwire::ProtocolVersion;
use toolwire::testing::{ReceivedMessage, ScriptedServer, assert_rpc_error, assert_text};
use toolwire::{ClientLimits, DetectedEra, LegacyTransport};

use super::{LEGACY, MODERN, builder, expect_call, modern, outcome_of, spawn_tool_call, text};

const LEGACY_ERA: DetectedEra = DetectedEra::Legacy {
    version: LEGACY,
    transport: LegacyTransport::Direct,
};

/// Responds to `initialize` and expects the `initialized` notification.
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
async fn client_stores_the_discover_result() {
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
    let details = client.server().expect("server information");
    assert_eq!(
        details.info.as_ref().map(|info| info.name.as_str()),
        Some("new")
    );
    assert_eq!(details.instructions.as_deref(), Some("Be kind."));
    assert_eq!(details.versions, ["2026-07-28", "2099-01-01"]);
    assert!(details.capabilities.tools.is_some());
    server.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn error_without_a_modern_code_means_the_legacy_era() {
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
        let details = client.server().expect("server information");
        assert_eq!(
            details.info.as_ref().map(|info| info.name.as_str()),
            Some("old")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_discover_result_means_the_legacy_era() {
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
async fn probe_without_a_response_means_the_legacy_era_after_five_seconds() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let start = Instant::now();
    let probe = server.expect("server/discover").await;
    let request = server.expect("initialize").await;
    assert_eq!(start.elapsed().as_secs(), 5);
    initialized(&mut server, &request, "2025-11-25").await;
    let client = connecting.await.expect("no panic").expect("connected");
    // A late response to the probe is ignored.
    server
        .respond_error(&probe, -32601, "late", Value::Null)
        .await;
    server.expect_silence().await;
    assert_eq!(client.version(), LEGACY);
    assert_eq!(client.ignored_messages(), 1);
}

#[tokio::test(start_paused = true)]
async fn silent_server_is_connected_twice_within_the_connect_timeout() {
    let (server, connecting) = ScriptedServer::listening(builder());
    let mut server = server.with_timeout(Duration::from_secs(60));
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let start = Instant::now();
    server.expect("server/discover").await;
    server.expect("initialize").await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    server.accept().await;
    server.expect("initialize").await;
    // Half of the time that the probe left.
    assert_eq!(start.elapsed(), Duration::from_millis(17_500));
    let error = connecting
        .await
        .expect("no panic")
        .expect_err("no response");
    assert!(error.is_timeout(), "{error}");
    assert!(error.to_string().contains("--era legacy"), "{error}");
    assert_eq!(start.elapsed(), ClientLimits::default().connect_timeout);
}

#[tokio::test(start_paused = true)]
async fn short_connect_timeout_leaves_time_for_initialize() {
    let mut limits = ClientLimits::default();
    limits.connect_timeout = Duration::from_secs(4);
    let (mut server, connecting) = ScriptedServer::listening(builder().with_limits(limits));
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let start = Instant::now();
    server.expect("server/discover").await;
    let request = server.expect("initialize").await;
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    initialized(&mut server, &request, "2025-11-25").await;
    let client = connecting.await.expect("no panic").expect("connected");
    assert_eq!(client.version(), LEGACY);
}

#[tokio::test(start_paused = true)]
async fn server_that_disconnects_on_the_probe_is_connected_once_more() {
    let (mut server, connecting) = ScriptedServer::listening(builder());
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    server.expect("server/discover").await;
    server.disconnect();
    server.accept().await;
    let request = server.expect("initialize").await;
    initialized(&mut server, &request, "2025-11-25").await;
    let client = connecting.await.expect("no panic").expect("connected");
    assert_eq!(client.detected_era(), LEGACY_ERA);
    // Calls use the new connection.
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "quick");

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
        .expect_err("a closed connection");
    assert!(error.is_closed(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn version_is_chosen_from_the_unsupported_version_error() {
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
async fn unsupported_version_of_initialize_ends_the_connection() {
    for offered in ["1999-12-31", "2026-07-28", "2024-11-05"] {
        let only = builder().with_versions([LEGACY]);
        let (mut server, connecting) = ScriptedServer::listening(only);
        let connecting = tokio::spawn(connecting);
        server.accept().await;
        let request = server.expect("initialize").await;
        let info = json!({"name": "old", "version": "1"});
        let result = json!({"protocolVersion": offered, "capabilities": {}, "serverInfo": info});
        server.respond(&request, result).await;
        let error = connecting
            .await
            .expect("no panic")
            .expect_err("an unsupported version");
        assert!(error.to_string().contains(offered), "{error}");
        server.expect_disconnect().await;
    }
}

#[tokio::test(start_paused = true)]
async fn rejected_initialize_returns_the_error_of_the_server() {
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
async fn configured_era_skips_the_probe() {
    let era = modern().await.0.detected_era();
    let known = builder().with_detected_era(era);
    let (client, mut server) = ScriptedServer::connect(known, MODERN).await;
    server.expect_silence().await;
    assert_eq!(client.version(), MODERN);
    assert_eq!(client.server(), None);
    let call = spawn_tool_call(&client, "quick");
    let request = expect_call(&mut server, "quick").await;
    server.respond(&request, text("quick")).await;
    assert_text(&outcome_of(call).await.expect("a response"), "quick");

    let known = builder().with_detected_era(LEGACY_ERA);
    let (mut server, connecting) = ScriptedServer::listening(known);
    let connecting = tokio::spawn(connecting);
    server.accept().await;
    let request = server.expect("initialize").await;
    initialized(&mut server, &request, "2025-11-25").await;
    connecting.await.expect("no panic").expect("connected");
}

#[tokio::test(start_paused = true)]
async fn wrong_configured_era_is_corrected_by_the_first_call() {
    let known = builder().with_detected_era(DetectedEra::Modern { version: MODERN });
    let (client, mut server) = ScriptedServer::connect(known, MODERN).await;
    let call = spawn_tool_call(&client, "quick");
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
    assert_text(&outcome_of(call).await.expect("a response"), "quick");
    assert_eq!(client.detected_era(), LEGACY_ERA);
    assert_eq!(client.pending_operations(), 0);
}

/// The old connection ends after the new one is in use. That must not cancel requests of the new connection.
#[tokio::test(start_paused = true)]
async fn end_of_a_replaced_connection_does_not_affect_the_new_connection() {
    let known = builder()
        .with_detected_era(DetectedEra::Modern { version: MODERN })
        .on_elicitation(|_| std::future::pending());
    let (client, mut server) = ScriptedServer::connect(known, MODERN).await;
    // This call keeps the old connection open until it ends.
    let slow = spawn_tool_call(&client, "slow");
    expect_call(&mut server, "slow").await;
    let call = spawn_tool_call(&client, "quick");
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
    assert_text(&outcome_of(call).await.expect("a response"), "quick");
    assert_eq!(
        client.pending_operations(),
        1,
        "the input request is running"
    );
    slow.abort();
    drop(slow.await);
    server.expect_silence().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        client.pending_operations(),
        1,
        "the input request is still running"
    );
}
