//! Runs every client scenario.

use std::path::Path;

use toolwire_conformance::{check_client, check_client_extensions};

use crate::{assert_clean, results, suite};

const CLIENT: &str = env!("CARGO_BIN_EXE_conformance-client");

/// The number changes if the suite gains or loses a scenario.
async fn check(spec_version: &str, scenarios: usize) {
    let binary = Path::new(CLIENT);
    let results = results("client", spec_version);
    let verdict = assert_clean(check_client(&suite(binary), binary, spec_version, &results).await);
    assert_eq!(verdict.scenarios, scenarios, "{verdict}");
}

#[tokio::test]
async fn client_passes_every_scenario_of_2025_03_26() {
    check("2025-03-26", 2).await;
}

#[tokio::test]
async fn client_passes_every_scenario_of_2025_06_18() {
    check("2025-06-18", 5).await;
}

#[tokio::test]
async fn client_passes_every_scenario_of_2025_11_25() {
    check("2025-11-25", 19).await;
}

#[tokio::test]
async fn client_passes_every_scenario_of_2026_07_28() {
    check("2026-07-28", 33).await;
}

#[tokio::test]
async fn client_passes_every_scenario_of_extensions() {
    let binary = Path::new(CLIENT);
    let results = results("client", "extensions");
    let verdict = assert_clean(check_client_extensions(&suite(binary), binary, &results).await);
    assert_eq!(verdict.scenarios, 14, "{verdict}");
}
