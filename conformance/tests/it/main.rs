//! The official suite against `conformance-server`, one test per revision.

use std::path::Path;

use toolwire_conformance::{Suite, check_server};

async fn check(spec_version: &str) {
    let binary = Path::new(env!("CARGO_BIN_EXE_conformance-server"));
    let target = binary
        .ancestors()
        .nth(2)
        .expect("cargo puts binaries into target/<profile>");
    let results = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("conformance")
        .join(spec_version);
    let suite = Suite::installed_in(&target.join("conformance"))
        .unwrap_or_else(|problem| panic!("{problem}"));
    let verdict = check_server(&suite, binary, spec_version, &results)
        .await
        .unwrap_or_else(|problem| panic!("{problem}"));
    assert!(verdict.is_clean(), "{verdict}");
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
