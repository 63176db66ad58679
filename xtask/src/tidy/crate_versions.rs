//! The version of a path dependency equals that of the workspace: the registry does not know the path.

use super::source::numbered;
use super::{File, Finding};

/// The manifest with the version.
const MANIFEST: &str = "Cargo.toml";

/// Compares all manifests with that of the workspace.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let manifest = files.iter().find(|file| file.path == MANIFEST);
    let Some(expected) = manifest.and_then(|file| workspace_version(&file.text)) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for file in files {
        if !file.path.ends_with(MANIFEST) {
            continue;
        }
        for (number, line) in numbered(&file.text) {
            if let Some(named) = version_beside_path(line)
                && named != expected
            {
                let rule = format!("names version {named}, the workspace has {expected}");
                findings.push(file.finding(number, rule));
            }
        }
    }
    findings
}

fn workspace_version(manifest: &str) -> Option<&str> {
    let (_, package) = manifest.split_once("[workspace.package]")?;
    value(package, "version = \"")
}

/// Returns the version of a dependency that also has a path.
fn version_beside_path(line: &str) -> Option<&str> {
    line.contains("path = \"")
        .then(|| value(line, "version = \""))?
}

fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(key)?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_of_path_dependencies_are_found() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let check = |dependency: &str, expected: usize| {
            let manifest = "[workspace.package]\nversion = \"0.2.0\"\n";
            let files = [
                file("Cargo.toml", manifest),
                file("crates/b/Cargo.toml", dependency),
            ];
            let findings = check(&files);
            assert_eq!(findings.len(), expected, "{dependency}: {findings:?}");
        };
        check("a = { path = \"../a\", version = \"0.2.0\" }", 0);
        check("a = { path = \"../a\", version = \"0.1.0\" }", 1);
        check("a = { path = \"../a\" }", 0);
        check("other = { version = \"0.1.0\" }", 0);
    }
}
