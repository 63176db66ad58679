//! The crate of the directory, built by cargo.

use super::project::{DevCommand, Project, until_build};
use crate::client::run_command;
use crate::process::toolwire;

const MANIFEST: &str = r#"
[package]
name = "tiny-server"
version = "1.2.3"
edition = "2021"

[package.metadata.toolwire]
dev-arguments = ["--stdio"]

[workspace]
"#;

/// A legacy server without dependencies. Without `--stdio`, it would listen on an address, like the program of
/// `toolwire new --http`.
const MAIN: &str = r##"
use std::io::BufRead;

fn main() {
    if std::env::args().nth(1).as_deref() != Some("--stdio") {
        return;
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Some((_, rest)) = line.split_once("\"id\":") else { continue };
        let id: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let body = if line.contains("\"initialize\"") {
            r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}"#
        } else if line.contains("\"tools/list\"") {
            r#""result":{"tools":[{"name":"tiny","inputSchema":{"type":"object"}}]}"#
        } else if line.contains("\"tools/call\"") {
            r#""result":{"content":[{"type":"text","text":"called"}]}"#
        } else {
            r#""error":{"code":-32601,"message":"no such method"}"#
        };
        println!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}");
    }
}
"##;

#[tokio::test]
async fn program_of_the_last_good_build_stays() {
    let project = Project::empty();
    project.write("Cargo.toml", MANIFEST);
    project.write("src/main.rs", MAIN);
    let command = DevCommand::start(&project.path, &[]).await;
    let is_running = |build: &serde_json::Value| build["phase"] == "running";
    until_build(&command.page, is_running).await;
    let server = run_command(toolwire(&["discover", &command.mcp, "--json"])).await;
    let server = server.json();
    assert_eq!(server["serverInfo"]["name"], "tiny-server");
    assert_eq!(server["serverInfo"]["version"], "1.2.3");

    project.write("src/main.rs", "fn main() { broken }");
    let is_failed = |build: &serde_json::Value| build["phase"] == "failed";
    let build = until_build(&command.page, is_failed).await;
    assert_eq!(build["command"], "cargo build");
    let output = build["output"].as_str().expect("the output");
    assert!(output.contains("cannot find value `broken`"), "{output}");
    assert_new_client_can_call(&command, "tiny").await;

    // This program is built, and does not start.
    project.write("src/main.rs", "fn main() { std::process::exit(3) }");
    let is_failed_start =
        |build: &serde_json::Value| build["phase"] == "failed" && build.get("output").is_none();
    let build = until_build(&command.page, is_failed_start).await;
    let error = build["error"].as_str().expect("a reason");
    assert!(error.contains("exit code 3"), "{error}");
    assert_new_client_can_call(&command, "tiny").await;

    project.write("src/main.rs", &MAIN.replace("\"tiny\"", "\"mended\""));
    until_build(&command.page, is_running).await;
    assert_new_client_can_call(&command, "mended").await;
}

/// Calls a tool as a client that starts another process of the last good build.
async fn assert_new_client_can_call(command: &DevCommand, tool: &str) {
    let call = ["call", &command.mcp, tool, "--era", "legacy"];
    let called = run_command(toolwire(&call)).await.ok();
    assert!(called.contains("called"), "{called}");
}
