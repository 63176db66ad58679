//! `quickstart`: the program of the README.

use std::path::Path;

use serde_json::json;

use crate::client::{BOTH, Client};

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
