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
        "a cake of 3 layers",
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

#[cfg(unix)]
#[tokio::test]
async fn tour_ends_with_commands_that_run() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_toolwire"));
    let directory = program.parent().expect("the program is in a directory");
    let above = directory.parent().expect("the directory has a parent");
    let shell = "/usr/bin:/bin";
    let on_path = format!("{}:{shell}", directory.display());
    for (path, start) in [(on_path.as_str(), "toolwire"), (shell, "")] {
        let mut command = toolwire(&["demo"]);
        command.current_dir(above).env("PATH", path);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = within(command.output()).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (_, commands) = text.split_once("Now try it yourself:").expect("the end");
        let mut lines = commands.lines().map(str::trim);
        let line = lines.find(|line| line.contains(" call add ")).unwrap();
        assert!(line.starts_with(start), "{line}");
        let mut command = tokio::process::Command::new("/bin/sh");
        command.args(["-c", line]).current_dir(above);
        command.env("PATH", path).stdin(Stdio::null());
        let output = within(command.output()).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, "{\n  \"sum\": 3\n}\n", "{path}: {line}");
    }
}

#[tokio::test]
async fn help_is_shown_without_a_command() {
    let output = within(toolwire(&[]).output()).await.unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("Usage: toolwire"), "{text}");
}
