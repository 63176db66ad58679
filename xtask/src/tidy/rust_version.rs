//! Files that name the oldest Rust name the `rust-version` of the workspace: images, workflows, READMEs.

use super::source::numbered;
use super::{File, Finding};

/// The manifest with the version.
const MANIFEST: &str = "Cargo.toml";

/// Words before a version. Each is followed by a number with a point.
const MARKS: [&str; 7] = [
    "rust:",
    "need Rust ",
    "needs Rust ",
    "toolchain install ",
    "cargo +",
    "Rust version is ",
    "rust-version = \"",
];

/// How files with versions end.
const FILES: [&str; 5] = [".md", ".yml", "Dockerfile", "Cargo.toml", "Cargo.toml.txt"];

/// Compares all files with the manifest of the workspace.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let manifest = files.iter().find(|file| file.path == MANIFEST);
    let Some(oldest) = manifest.and_then(|file| number_after(&file.text, "rust-version = \""))
    else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for file in files {
        // The packages of other authors have versions of their own.
        if !FILES.iter().any(|end| file.path.ends_with(end)) || file.path.contains("/peers/") {
            continue;
        }
        for (number, line) in numbered(&file.text) {
            let named = MARKS.iter().filter_map(|mark| number_after(line, mark));
            for other in named.filter(|named| *named != oldest) {
                let rule = format!("names Rust {other}, the workspace needs {oldest}");
                findings.push(file.finding(number, rule));
            }
        }
    }
    findings
}

fn number_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(mark)?;
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let number = rest[..end].trim_end_matches('.');
    number.contains('.').then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_are_found() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let check = |path: &str, text: &str, expected: usize| {
            let manifest = file("Cargo.toml", "rust-version = \"1.90\"\n");
            let findings = check(&[manifest, file(path, text)]);
            assert_eq!(findings.len(), expected, "{path}: {findings:?}");
        };
        check("a/Dockerfile", "FROM rust:1.90-bookworm AS build", 0);
        check("a/Dockerfile", "FROM rust:1.89-bookworm AS build", 1);
        check("ci.yml", "rustup toolchain install 1.91", 1);
        check("ci.yml", "rustup toolchain install stable", 0);
        check(
            "README.md",
            "The minimum supported Rust version is 1.90.",
            0,
        );
        check("README.md", "The minimum supported Rust version is 1.9.", 1);
        check("main.rs", "rust:1.80", 0);
    }
}
