//! Runs every server scenario.

use std::path::Path;

use toolwire_conformance::{check_server, check_server_extensions};

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
