//! Rules for every file: no machine paths, no registry names, and workspace lints in each crate.

use super::source::numbered;
use super::{File, Finding};

/// This file contains the texts that it looks for.
const THIS_FILE: &str = "xtask/src/tidy/text.rs";

/// Package registries. A lock file that names one works with that one only.
const REGISTRIES: [&str; 6] = [
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "pypi.org",
    "files.pythonhosted.org",
    "index.crates.io",
    "static.crates.io",
];

/// The source that every cargo can replace.
const CARGO_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Prefixes of paths on one machine. `/home/user` is in examples of the specification.
const MACHINE_ROOTS: [&str; 3] = ["/root/", "/home/", "/Users/"];
const EXAMPLE_HOME: &str = "/home/user";

pub(super) fn check(file: &File) -> Vec<Finding> {
    if file.path == THIS_FILE {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in numbered(&file.text) {
        for registry in REGISTRIES.into_iter().filter(|name| line.contains(name)) {
            findings.push(file.finding(number, format!("names the registry {registry}")));
        }
        if has_machine_path(line) {
            findings.push(file.finding(number, "names a path of one machine"));
        }
        if file.path.ends_with("Cargo.lock")
            && line.starts_with("source = ")
            && !line.contains(CARGO_SOURCE)
        {
            findings.push(file.finding(number, "locks a package to another source than crates.io"));
        }
        if file.path.ends_with("package-lock.json") && line.trim_start().starts_with("\"resolved\"")
        {
            findings.push(file.finding(number, "locks a package to a registry: omit `resolved`"));
        }
    }
    if file.path.ends_with("Cargo.toml") && is_member(&file.text) && !inherits_lints(&file.text) {
        findings.push(file.finding(1, "does not contain `[lints] workspace = true`"));
    }
    findings
}

fn has_machine_path(line: &str) -> bool {
    MACHINE_ROOTS.iter().any(|root| {
        line.match_indices(root).any(|(at, _)| {
            // Within a longer path or URL it is an ordinary name.
            let inside = line[..at]
                .ends_with(|before: char| before.is_alphanumeric() || "/._-~}>*".contains(before));
            !inside && !line[at..].starts_with(EXAMPLE_HOME)
        })
    })
}

/// Returns `true` if a package belongs to this workspace.
fn is_member(manifest: &str) -> bool {
    let has = |section: &str| manifest.lines().any(|line| line.trim() == section);
    has("[package]") && !has("[workspace]")
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim);
    lines.any(|line| line == "[lints]")
        && lines.find(|line| !line.is_empty()) == Some("workspace = true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[usize]) {
        let file = File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let findings = super::check(&file);
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, expected, "{path}: {text}");
    }

    #[test]
    fn registries_are_found() {
        check("a.txt", "--index-url https://pypi.org/simple", &[1]);
        check(
            "a/package-lock.json",
            "{\n  \"resolved\": \"https://example.com/a.tgz\"\n}",
            &[2],
        );
        check(
            "Cargo.lock",
            &format!("source = \"{CARGO_SOURCE}\"\nsource = \"git+https://example.com\""),
            &[2],
        );
        check(
            "README.md",
            "[crates.io](https://crates.io/crates/toolwire)",
            &[],
        );
    }

    #[test]
    fn machine_paths_are_found() {
        check("a.md", "see /root/notes", &[1]);
        check("a.sh", "cd \"/Users/ada/x\"", &[1]);
        check("a.rs", "open(\"/home/ada/x\")", &[1]);
        check("a.rs", "open(\"/home/user/x\") or file:///home/ada", &[]);
        check("a.md", "docs/root/x and $HOME/root/x", &[]);
    }

    #[test]
    fn crates_inherit_lints() {
        check(
            "a/Cargo.toml",
            "[package]\n[lints]\nworkspace = true\n",
            &[],
        );
        check(
            "a/Cargo.toml",
            "[package]\n[dependencies]\nworkspace = true\n",
            &[1],
        );
        check("a/Cargo.toml", "[package]\n[lints]\n[dependencies]\n", &[1]);
        check("Cargo.toml", "[workspace]\nmembers = []\n", &[]);
        check("fuzz/Cargo.toml", "[workspace]\n[package]\n", &[]);
    }
}
