//! `toolwire demo`: the tour.

use std::process::Stdio;

use crate::process::{toolwire, within};

#[tokio::test]
async fn tour_runs_to_its_end() {
    let mut command = toolwire(&["demo"]);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = within(command.output()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for part in [
        r#"{"sum":42}"#,
        "2 to go, 1 to go, 0 to go; counted down from 3",
        "hello from a legacy client",
        "confirmed",
        "This is the first note.",
        "Ada, Alan",
        "received a change",
        "the tool failed: as requested",
        "toolwire demo --http",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let newest = "revision 2026-07-28";
    assert_eq!(text.matches(newest).count(), 3, "{text}");
    assert_eq!(text.matches("revision 2025-11-25").count(), 1, "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[tokio::test]
async fn help_is_shown_without_a_command() {
    let output = within(toolwire(&[]).output()).await.unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("Usage: toolwire"), "{text}");
}
