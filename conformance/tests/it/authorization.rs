//! Runs every authorization server scenario with the OAuth proxy.

use std::path::Path;

use toolwire_conformance::check_authorization;

use crate::{assert_clean, results, suite};

/// The number changes if the suite gains or loses a scenario.
async fn check(spec_version: &str) {
    let binary = Path::new(env!("CARGO_BIN_EXE_conformance-authorization"));
    let results = results("authorization", spec_version);
    let verdict = check_authorization(&suite(binary), binary, spec_version, &results).await;
    assert_eq!(assert_clean(verdict).scenarios, 2);
}

#[tokio::test]
async fn proxy_passes_every_scenario_of_2025_03_26() {
    check("2025-03-26").await;
}

#[tokio::test]
async fn proxy_passes_every_scenario_of_2025_06_18() {
    check("2025-06-18").await;
}

#[tokio::test]
async fn proxy_passes_every_scenario_of_2025_11_25() {
    check("2025-11-25").await;
}

#[tokio::test]
async fn proxy_passes_every_scenario_of_2026_07_28() {
    check("2026-07-28").await;
}
