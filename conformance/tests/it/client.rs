//! Every client scenario but those that are left out, which are counted.

use std::path::Path;

use toolwire_conformance::check_client;

use crate::{assert_clean, results, suite};

/// A scenario that the suite gains or loses, or that is left out by mistake, changes the numbers.
async fn check(spec_version: &str, scenarios: usize, left_out: usize) {
    let binary = Path::new(env!("CARGO_BIN_EXE_conformance-client"));
    let results = results("client", spec_version);
    let verdict = assert_clean(check_client(&suite(binary), binary, spec_version, &results).await);
    assert_eq!(verdict.scenarios, scenarios, "{verdict}");
    assert_eq!(verdict.left_out.len(), left_out, "{:?}", verdict.left_out);
}

#[tokio::test]
async fn all_client_scenarios_of_2025_03_26_are_about_authorization() {
    check("2025-03-26", 0, 2).await;
}

#[tokio::test]
async fn client_passes_every_scenario_of_2025_06_18() {
    check("2025-06-18", 2, 3).await;
}

#[tokio::test]
async fn client_passes_every_scenario_of_2025_11_25() {
    check("2025-11-25", 5, 14).await;
}

#[tokio::test]
async fn client_passes_every_scenario_of_2026_07_28() {
    check("2026-07-28", 8, 25).await;
}
