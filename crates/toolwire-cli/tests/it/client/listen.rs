//! Changes as they happen.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::client::{run, run_demo};
use crate::http::HttpDemo;
use crate::process::{toolwire, within};

#[tokio::test]
async fn changed_resource_is_shown() {
    // The clock changes every second.
    for era in ["modern", "legacy"] {
        let ran = run_demo(&[
            "listen",
            "--json",
            "--era",
            era,
            "--count",
            "1",
            "demo://clock",
        ])
        .await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let change: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(
            change,
            json!({"method": "notifications/resources/updated", "params": {"uri": "demo://clock"}}),
        );
    }
}

#[tokio::test]
async fn changed_list_is_shown() {
    let demo = HttpDemo::start(&[]).await;
    let mut command = toolwire(&["listen", &demo.url(), "--tools", "--count", "1"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut listener = command.spawn().unwrap();
    let mut stderr_lines = BufReader::new(listener.stderr.take().unwrap()).lines();
    let line = within(stderr_lines.next_line()).await.unwrap().unwrap();
    assert_eq!(line, "listening for changes of tools");
    run(&["call", &demo.url(), "change_list", "list=tools"])
        .await
        .ok();
    let output = within(listener.wait_with_output()).await.unwrap();
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "the list of tools changed\n"
    );
}
