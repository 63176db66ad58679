//! Checks that every crate can be published.

use std::path::Path;

use crate::steps::{Outcome, cargo, run};

/// Packages every crate that is published, and checks the packages as the registry does, without an upload.
///
/// The packages are not built: that would build everything once more, and the tests build the same files.
pub(crate) fn check(root: &Path) -> Outcome {
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
