//! Runs the official suite with `conformance-server`, `conformance-client` and `conformance-authorization`, and with
//! `toolwire proxy` in front of the server: one test per revision and subject. Also tests tasks of `conformance-server` whose process is killed.

mod authorization;
mod client;
mod jobs;
mod proxy;
mod server;
mod task_faults;
mod task_workers;

use std::path::{Path, PathBuf};

use toolwire_conformance::{Problem, Suite, Verdict};

/// Returns the suite from the target directory of the binary under test.
fn suite(binary: &Path) -> Suite {
    let target = binary
        .ancestors()
        .nth(2)
        .expect("cargo puts binaries into target/<profile>");
    Suite::installed_in(&target.join("conformance")).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Returns the directory for the results of a run.
fn results(subject: &str, spec_version: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("conformance")
        .join(subject)
        .join(spec_version)
}

fn assert_clean(verdict: Result<Verdict, Problem>) -> Verdict {
    let verdict = verdict.unwrap_or_else(|problem| panic!("{problem}"));
    assert!(verdict.is_clean(), "{verdict}");
    verdict
}
