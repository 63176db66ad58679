//! Benchmarks, built as they are released and run one at a time.

use std::path::Path;

use crate::steps::{Outcome, cargo, run};

/// Builds the servers and the load, and runs the benchmark these arguments name.
pub(crate) fn bench(root: &Path, arguments: &[&str]) -> Outcome {
    const PACKAGE: [&str; 3] = ["--release", "--package", "toolwire-bench"];
    // All its programs: the load starts a server that lies beside it.
    run(cargo(root, &["build"]).args(PACKAGE))?;
    let load = ["--bin", "toolwire-bench", "--"];
    run(cargo(root, &["run", "--quiet"])
        .args(PACKAGE)
        .args(load)
        .args(arguments))
}
