//! Checks that every crate can be published.

use std::path::Path;

use crate::steps::{Outcome, cargo, run};
use crate::suite::DOCUMENTED;

/// The package of the command, which is published beside the libraries.
const COMMAND: &str = "toolwire-cli";

/// The files that every package contains beside its code. The licences are links to those of the repository.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Packages every crate that is published, and checks the packages as the registry does, without an upload.
///
/// The packages are not built: that would build everything once more, and the tests build the same files.
pub(crate) fn check(root: &Path) -> Outcome {
    for package in DOCUMENTED.into_iter().chain([COMMAND]) {
        check_files(root, package)?;
    }
    run(&mut cargo(
        root,
        &[
            "publish",
            "--workspace",
            "--dry-run",
            "--no-verify",
            "--allow-dirty",
        ],
    ))
}

fn check_files(root: &Path, package: &str) -> Outcome {
    let arguments = ["package", "--list", "--allow-dirty", "--package", package];
    let output = cargo(root, &arguments)
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cannot list the files of {package}: {reason}"));
    }
    let list = String::from_utf8_lossy(&output.stdout);
    match FILES
        .iter()
        .find(|file| !list.lines().any(|line| line == **file))
    {
        Some(file) => Err(format!("the package {package} has no {file}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_documented_crate_is_built_as_docs_rs_does() {
        for file in ["RELEASING.md", ".github/workflows/ci.yml"] {
            let path = crate::workspace_root().join(file);
            let text = fs::read_to_string(path).expect("the file can be read");
            let words: Vec<&str> = text.split_whitespace().collect();
            for package in DOCUMENTED {
                let is_built = words.windows(2).any(|pair| pair == ["-p", package]);
                assert!(is_built, "{file} does not document {package}");
            }
        }
    }
}
