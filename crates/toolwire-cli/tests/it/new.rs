//! `toolwire new`. The tests of the examples build the templates and run their tests.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::client::{TempDirectory, run, run_command};
use crate::process::within;

fn repository() -> String {
    format!("{}/../..", env!("CARGO_MANIFEST_DIR"))
}

async fn succeeds(program: &str, words: &[&str], directory: &Path) {
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::null());
    command.env_remove("CARGO_TARGET_DIR").kill_on_drop(true);
    let output = run_command(command).await;
    assert_eq!(output.code, Some(0), "{program} {words:?}: {output:?}");
}

#[tokio::test]
async fn new_crate_is_formatted_and_cargo_accepts_it() {
    let scratch = TempDirectory::new("new");
    for option in ["", "--http", "--auth"] {
        let directory = scratch.0.join(format!("weather{option}"));
        let shown = directory.display().to_string();
        let repository = repository();
        let mut words = vec![
            "new",
            "weather",
            "--dir",
            &shown,
            "--toolwire-path",
            &repository,
        ];
        words.extend(Some(option).filter(|option| !option.is_empty()));
        let printed = run(&words).await.ok();
        assert!(printed.contains("cargo test"), "{printed}");
        succeeds(
            "rustfmt",
            &["--check", "--edition", "2024", "src/main.rs"],
            &directory,
        )
        .await;
        let words = [
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ];
        succeeds("cargo", &words, &directory).await;
        let readme = std::fs::read_to_string(directory.join("README.md"));
        assert!(readme.is_ok_and(|text| text.contains("\"mcpServers\"")));
    }
}

#[tokio::test]
async fn directory_that_is_not_empty_is_not_changed() {
    let scratch = TempDirectory::new("new-exists");
    scratch.write("mine.txt", "mine");
    let directory = scratch.0.display().to_string();
    let failed = run(&["new", "weather", "--dir", &directory])
        .await
        .failed(2);
    assert!(failed.contains("the directory is not empty"), "{failed}");
    let entries = std::fs::read_dir(&scratch.0).expect("the directory is readable");
    assert_eq!(entries.count(), 1);
    let words = [
        "new",
        "weather",
        "--dir",
        "nowhere",
        "--toolwire-path",
        &directory,
    ];
    let failed = within(run(&words)).await.failed(2);
    assert!(failed.contains("--toolwire-path"), "{failed}");
    assert!(!Path::new("nowhere").exists());
}
