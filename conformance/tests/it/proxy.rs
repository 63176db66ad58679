//! Runs every server scenario through `toolwire proxy`: a proxy passes what the server passes.

use std::path::{Path, PathBuf};

use toolwire_conformance::{check_proxy, check_proxy_extensions};

use crate::{assert_clean, results, suite};

async fn check(spec_version: &str) {
    let binary = Path::new(env!("CARGO_BIN_EXE_conformance-server"));
    let (suite, command) = (suite(binary), toolwire(binary));
    let results = results("proxy", spec_version);
    assert_clean(check_proxy(&suite, &command, binary, spec_version, &results).await);
}

/// Returns the command `toolwire`, which is built beside the server.
fn toolwire(server: &Path) -> PathBuf {
    let beside = server.with_file_name(format!("toolwire{}", std::env::consts::EXE_SUFFIX));
    std::env::var_os("TOOLWIRE_BIN").map_or(beside, PathBuf::from)
}

#[tokio::test]
async fn proxy_passes_every_server_scenario_of_2025_03_26() {
    check("2025-03-26").await;
}

#[tokio::test]
async fn proxy_passes_every_server_scenario_of_2025_06_18() {
    check("2025-06-18").await;
}

#[tokio::test]
async fn proxy_passes_every_server_scenario_of_2025_11_25() {
    check("2025-11-25").await;
}

#[tokio::test]
async fn proxy_passes_every_server_scenario_of_2026_07_28() {
    check("2026-07-28").await;
}

#[tokio::test]
async fn proxy_passes_every_server_scenario_of_extensions() {
    let binary = Path::new(env!("CARGO_BIN_EXE_conformance-server"));
    let (suite, command) = (suite(binary), toolwire(binary));
    let results = results("proxy", "extensions");
    assert_clean(check_proxy_extensions(&suite, &command, binary, &results).await);
}
