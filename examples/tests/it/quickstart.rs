//! `quickstart`: the program of the README.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::client::{BOTH, Client, program};

/// The timeout of the program, so that a blocked test fails instead of hanging.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum number of code lines that the README states.
const MAX_LINES: usize = 12;

fn read(path: &str) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(package.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn readme_shows_the_tested_program() {
    let readme = read("../README.md");
    let (_, from_block) = readme.split_once("```rust\n").unwrap();
    let (block, _) = from_block.split_once("```").unwrap();
    assert_eq!(block, read("examples/quickstart.rs"));
}

#[test]
fn getting_started_shows_the_tested_program() {
    let guide = read("../crates/toolwire/src/guide/getting_started.md");
    let (_, from_block) = guide
        .split_once("<!-- write: src/main.rs -->\n```no_run\n")
        .unwrap();
    let (block, _) = from_block.split_once("```").unwrap();
    assert_eq!(block, read("examples/quickstart.rs"));
}

#[tokio::test]
async fn getting_started_shows_the_response_of_the_program() {
    let guide = read("../crates/toolwire/src/guide/getting_started.md");
    let (_, from_block) = guide
        .split_once("<!-- write: request.json -->\n```json\n")
        .unwrap();
    let (request, _) = from_block.split_once("```").unwrap();
    let (_, from_output) = guide.split_once(" < request.json\n=> ").unwrap();
    let (expected, _) = from_output.split_once('\n').unwrap();

    let mut server = Command::new(program("quickstart"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    input.write_all(request.as_bytes()).await.unwrap();
    // The end of the input ends the program.
    drop(input);
    let output = timeout(STEP_TIMEOUT, server.wait_with_output()).await;
    let output = output.expect("the program exits").unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), expected);
}

#[test]
fn first_server_is_short() {
    let program = read("examples/quickstart.rs");
    let is_code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//") && !line.starts_with("/*")
    };
    let lines = program.lines().filter(is_code).count();
    assert!(lines <= MAX_LINES, "{lines} lines");
}

#[tokio::test]
async fn server_adds() {
    for revision in BOTH {
        let mut client = Client::start("quickstart", revision).await;
        let list = client.ask("tools/list", json!({})).await;
        let tool = &list["tools"][0];
        assert_eq!(tool["description"], "Adds two integers.");
        let first = &tool["inputSchema"]["properties"]["a"];
        assert_eq!(first["description"], "The first number.");
        let sum = client.call_text("add", json!({"a": 19, "b": 23})).await;
        assert_eq!(sum, "42");
        assert!(client.end().await.is_empty());
    }
}
