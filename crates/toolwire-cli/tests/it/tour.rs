//! `toolwire demo`: the tour.

use std::process::Stdio;

use crate::process::{toolwire, within};

#[tokio::test]
async fn the_tour_reaches_its_end() {
    let mut command = toolwire(&["demo"]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = within(command.output()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains(r#"{"sum":42}"#), "{text}");
    assert!(text.contains("hello from the past"), "{text}");
    assert!(text.contains("toolwire demo --stdio"), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[tokio::test]
async fn without_a_command_the_help_is_shown() {
    let output = within(toolwire(&[]).output()).await.unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("Usage: toolwire"), "{text}");
}
