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
async fn create(directory: &Path, options: &[&str]) -> String {
    let (shown, repository) = (directory.display().to_string(), repository());
    let mut words = vec!["new", "weather", "--dir", &shown];
    words.extend(["--toolwire-path", &repository]);
    words.extend(options);
    run(&words).await.ok()
}

/// Runs a program that succeeds, and returns its output.
async fn succeeds(program: &str, words: &[&str], directory: &Path) -> String {
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::null());
    command.env_remove("CARGO_TARGET_DIR").kill_on_drop(true);
    run_command(command).await.ok()
}

/// The options that select a template, and the package of the workspace with its program.
const KINDS: [(&[&str], &str); 4] = [
    (&[], "stdio"),
    (&["--http"], "http"),
    (&["--auth"], "auth"),
    (&["--http", "--auth"], "auth"),
];

#[tokio::test]
async fn new_crate_is_formatted_and_its_readme_has_an_entry_for_hosts() {
    let scratch = TempDirectory::new("new");
    for (position, (options, _)) in KINDS.into_iter().enumerate() {
        let directory = scratch.0.join(position.to_string());
        let printed = create(&directory, options).await;
        assert!(printed.contains("cargo test"), "{printed}");
        let words = ["--check", "--edition", "2024", "src/main.rs"];
        succeeds("rustfmt", &words, &directory).await;
        let readme = std::fs::read_to_string(directory.join("README.md")).expect("a file");
        assert!(readme.contains("\"mcpServers\""), "{readme}");
        let ignored = std::fs::read_to_string(directory.join(".gitignore"));
        assert_eq!(ignored.expect("a file"), "/target\n");
    }
}

/// Adds the versions of this repository, so that cargo needs no registry, and returns the dependencies that it resolves.
async fn resolved(directory: &Path, options: &[&str]) -> String {
    let lock = Path::new(&repository()).join("Cargo.lock");
    std::fs::copy(lock, directory.join("Cargo.lock")).expect("a file");
    let words = ["tree", "--offline", "--depth", "1", "--prefix", "none"];
    let words = [&words[..], options].concat();
    succeeds("cargo", &words, directory).await
}

#[tokio::test]
async fn dependencies_of_a_new_crate_resolve_without_the_network() {
    let scratch = TempDirectory::new("new-resolved");
    let crates = Path::new(&repository()).join("crates");
    let crates = crates.canonicalize().expect("a directory");
    for (position, (options, kind)) in KINDS.into_iter().enumerate() {
        let directory = scratch.0.join(position.to_string());
        create(&directory, options).await;
        let from_path = resolved(&directory, &[]).await;
        // A released version: until there is one, this repository replaces the registry.
        let released = scratch.0.join(format!("{position}-released"));
        let shown = released.display().to_string();
        let words = [&["new", "weather", "--dir", &shown], options].concat();
        run(&words).await.ok();
        let mut patches = Vec::new();
        for name in ["toolwire", "toolwire-auth"] {
            let path = crates.join(name);
            let patch = format!(
                "patch.crates-io.{name}.path={:?}",
                path.display().to_string()
            );
            patches.extend(["--config".to_owned(), patch]);
        }
        let patches: Vec<&str> = patches.iter().map(String::as_str).collect();
        let from_version = resolved(&released, &patches).await;
        for tree in [from_path, from_version] {
            let has = |name: &str| {
                tree.lines()
                    .any(|line| line.starts_with(&format!("{name} v")))
            };
            assert!(has("weather") && has("toolwire") && has("tokio"), "{tree}");
            assert_eq!(has("toolwire-auth"), kind == "auth", "{tree}");
        }
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
    for (position, (options, kind)) in KINDS.into_iter().enumerate() {
        let directory = scratch.0.join(position.to_string());
        create(&directory, options).await;
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
