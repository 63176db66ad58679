//! Runs every server scenario.

use std::path::Path;

use serde_json::{Value, json};
use toolwire::{Client, ProtocolVersion};
use toolwire_conformance::{Fixture, check_server, check_server_extensions};

use crate::{assert_clean, results, suite};

async fn check(spec_version: &str) {
    let binary = Path::new(env!("CARGO_BIN_EXE_conformance-server"));
    let results = results("server", spec_version);
    assert_clean(check_server(&suite(binary), binary, spec_version, &results).await);
}

#[tokio::test]
async fn server_passes_every_scenario_of_2025_03_26() {
    check("2025-03-26").await;
}

#[tokio::test]
async fn server_passes_every_scenario_of_2025_06_18() {
    check("2025-06-18").await;
}

#[tokio::test]
async fn server_passes_every_scenario_of_2025_11_25() {
    check("2025-11-25").await;
}

#[tokio::test]
async fn server_passes_every_scenario_of_2026_07_28() {
    check("2026-07-28").await;
}

#[tokio::test]
async fn server_passes_every_scenario_of_extensions() {
    let binary = Path::new(env!("CARGO_BIN_EXE_conformance-server"));
    let results = results("server", "extensions");
    assert_clean(check_server_extensions(&suite(binary), binary, &results).await);
}

/// The suite does not have this scenario yet, so this test does what it will do.
#[tokio::test]
async fn server_sees_the_extensions_of_a_2025_11_25_client() {
    let server = Fixture::start(Path::new(env!("CARGO_BIN_EXE_conformance-server"))).await;
    let server = server.unwrap_or_else(|problem| panic!("{problem}"));
    let declared = json!({
        "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]},
        "com.example/conformance": {"nested": {"list": [1, null, {"deep": true}]}, "text": "é"},
        "com.example/empty": {},
    });
    let mut builder = Client::builder("extensions", "1.0.0");
    for (id, settings) in declared.as_object().expect("an object") {
        builder = builder.with_extension(id, settings.clone());
    }
    let client = builder
        .with_versions([ProtocolVersion::V2025_11_25])
        .connect(server.url())
        .await
        .expect("the server is reachable");
    let call = client.call_tool("test_legacy_extension_capabilities", ());
    let result = call.await.expect("a result");
    let text = result.content[0].as_text().expect("a text");
    let seen: Value = serde_json::from_str(text).expect("JSON text");
    assert_eq!(seen, json!({"extensions": declared}));
    client.close().await;
}
