//! The crate in the current directory as the server.

use std::fs;

use serde_json::Value;

use super::*;
use crate::demo_crate::DemoCrate;

/// Installs the crate of the current directory in the home directory of a computer.
async fn install_crate(demo: &DemoCrate, computer: &Computer, options: &[&str]) -> CommandOutput {
    let words = [&["install", "--host", "cursor"], options].concat();
    let mut command = demo.command(&words);
    command.env("HOME", computer.file("home"));
    run_command(command).await
}

#[tokio::test]
async fn crate_without_a_server_argument_is_installed_by_its_release_binary() {
    let (demo, computer) = (
        DemoCrate::new("install-crate"),
        Computer::new("install-crate"),
    );
    let printed = install_crate(&demo, &computer, &[]).await.ok();
    // The host would start it from any directory, and so does the check.
    assert!(printed.contains("the server starts: "), "{printed}");
    let text = fs::read_to_string(computer.file("home/.cursor/mcp.json")).expect("a file");
    let file: Value = serde_json::from_str(&text).expect("it is JSON");
    let binary = fs::canonicalize(demo.file("target/release/weather")).expect("the binary");
    assert_eq!(
        file["mcpServers"]["weather"]["command"],
        binary.display().to_string()
    );
    // The name can be chosen.
    let options = ["--name", "rain", "--print", "--json"];
    let report = install_crate(&demo, &computer, &options).await.json();
    assert_eq!(report[0]["name"], "rain", "{report}");
    assert_eq!(report[0]["entry"]["command"], binary.display().to_string());
}

#[tokio::test]
async fn crate_that_is_not_built_is_not_installed() {
    let (demo, computer) = (
        DemoCrate::new("install-unbuilt"),
        Computer::new("install-unbuilt"),
    );
    fs::remove_file(demo.file("target/release/weather")).expect("the file exists");
    let failed = install_crate(&demo, &computer, &[]).await.failed(2);
    assert!(
        failed.contains("target/release/weather does not exist"),
        "{failed}"
    );
    assert!(failed.contains("cargo build --release"), "{failed}");
    assert!(!computer.file("home/.cursor").exists());
}

#[tokio::test]
async fn directory_without_a_crate_gets_the_alternatives() {
    let computer = Computer::new("install-nothing");
    let command = computer.command(&["install", "--host", "cursor"]);
    let failed = run_command(command).await.failed(2);
    for part in [
        "there is no crate in this directory",
        "give an address, or a command after --",
    ] {
        assert!(failed.contains(part), "{failed}");
    }
}
