//! `toolwire new`. The packages in `examples/new` build its programs and run their tests.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;
use toml::{Table, Value};

use crate::client::{TempDirectory, run, run_command};
use crate::process::within;

fn repository() -> String {
    format!("{}/../..", env!("CARGO_MANIFEST_DIR"))
}

/// Creates the crate `weather` in a directory, with the crates of this repository.
async fn create(directory: &Path, option: Option<&str>) -> String {
    let (shown, repository) = (directory.display().to_string(), repository());
    let mut words = vec!["new", "weather", "--dir", &shown];
    words.extend(["--toolwire-path", &repository]);
    words.extend(option);
    run(&words).await.ok()
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
    for option in [None, Some("--http"), Some("--auth")] {
        let directory = scratch
            .0
            .join(format!("weather{}", option.unwrap_or_default()));
        let printed = create(&directory, option).await;
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

/// Returns the parts of a manifest that decide what is built, with the whole paths of dependencies.
fn built_parts(manifest: &Path) -> Table {
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    let mut parts: Table = text.parse().expect("TOML");
    let directory = manifest.parent().expect("a directory");
    let dependencies = parts.get_mut("dependencies");
    for (_, dependency) in dependencies.and_then(Value::as_table_mut).expect("a table") {
        if let Some(Value::String(path)) = dependency.get_mut("path") {
            let whole = directory.join(&*path).canonicalize().expect("a directory");
            *path = whole.display().to_string();
        }
    }
    parts.retain(|part, _| !["lints", "bin"].contains(&part));
    let package = parts.get_mut("package").and_then(Value::as_table_mut);
    let package = package.expect("a table");
    package.retain(|part, _| !["name", "publish", "readme"].contains(&part));
    parts
}

/// The manifests in `examples/new` name the programs of the templates, so their tests are those of the created crates.
#[tokio::test]
async fn packages_of_the_workspace_are_those_that_are_created() {
    let scratch = TempDirectory::new("new-built");
    for (option, kind) in [
        (None, "stdio"),
        (Some("--http"), "http"),
        (Some("--auth"), "auth"),
    ] {
        let directory = scratch.0.join(kind);
        create(&directory, option).await;
        let package = Path::new(&repository()).join("examples/new").join(kind);
        let manifest = package.join("Cargo.toml");
        assert_eq!(
            built_parts(&directory.join("Cargo.toml")),
            built_parts(&manifest),
            "{kind}"
        );
        let text = std::fs::read_to_string(manifest).expect("a manifest");
        let manifest: Table = text.parse().expect("TOML");
        let program = manifest["bin"][0]["path"].as_str().expect("a path");
        let program = std::fs::read_to_string(package.join(program)).expect("a program");
        let created = std::fs::read_to_string(directory.join("src/main.rs"));
        let expected = program.replace("my-server", "weather");
        assert_eq!(created.expect("a program"), expected, "{kind}");
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
