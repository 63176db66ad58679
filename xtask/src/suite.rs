//! The two largest tasks: all tests, and all steps of continuous integration.

use std::path::{Path, PathBuf};

use crate::conformance;
use crate::peers::{self, Toolchain};
use crate::steps::{Outcome, ask, cargo, note, run, run_and_capture};

/// The feature sets to build besides all features: none, the smallest servers, and features that enable others.
const FEATURE_SETS: [&str; 6] = [
    "",
    "macros",
    "macros,http-server",
    "http-client,http-server",
    "input",
    "client",
];

/// `true` if the test in `bench/instructions` runs on this platform.
const COUNTS_INSTRUCTIONS: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Runs formatting, lints and documentation, then all tests.
pub(crate) fn ci(root: &Path) -> Outcome {
    let toolchain = Toolchain::find()?;
    run(&mut cargo(root, &["fmt", "--all", "--", "--check"]))?;
    run(&mut cargo(
        root,
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ],
    ))?;
    for features in FEATURE_SETS {
        run(&mut cargo(
            root,
            &[
                "clippy",
                "--package",
                "toolwire",
                "--no-default-features",
                "--features",
                features,
                "--",
                "-D",
                "warnings",
            ],
        ))?;
    }
    // Tests without some features. hyper has HTTP/2 here, because tests need it, but the feature of toolwire is off.
    run(&mut cargo(
        root,
        &[
            "test",
            "--package",
            "toolwire",
            "--lib",
            "--no-default-features",
            "--features",
            "macros,http-server",
        ],
    ))?;
    run(
        cargo(root, &["doc", "--workspace", "--no-deps", "--all-features"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    test_with(root, &toolchain)
}

/// Runs all tests: those of the crates, their documentation, the conformance suite, and the peers with the built
/// command.
pub(crate) fn test(root: &Path) -> Outcome {
    let toolchain = Toolchain::find()?;
    test_with(root, &toolchain)
}

fn test_with(root: &Path, toolchain: &Toolchain) -> Outcome {
    if COUNTS_INSTRUCTIONS && ask("valgrind", &["--version"]).is_none() {
        return Err("the instructions test needs valgrind; install it".to_owned());
    }
    peers::install_with(root, toolchain)?;
    conformance::install(root, toolchain)?;
    let mut tests = cargo(
        root,
        &["test", "--workspace", "--all-features", "--no-fail-fast"],
    );
    // The command is built with the tests of its crate, and everything is built before any test runs.
    tests.env("TOOLWIRE_BIN", built_command()?);
    let (lines, outcome) = run_and_capture(&mut tests)?;
    let tally = Tally::of(&lines);
    note(&format!(
        "summary: {} passed, {} failed, {} ignored",
        tally.passed, tally.failed, tally.ignored
    ));
    outcome
}

/// Returns `target/debug/toolwire`.
fn built_command() -> Outcome<PathBuf> {
    let name = format!("toolwire{}", std::env::consts::EXE_SUFFIX);
    Ok(target_directory()?.join("debug").join(name))
}

/// Returns the target directory, found from the path of this program.
pub(crate) fn target_directory() -> Outcome<PathBuf> {
    let here = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    here.parent()
        .and_then(Path::parent)
        .map(Path::to_owned)
        .ok_or_else(|| format!("{} is not in a target directory", here.display()))
}

/// The sums of all `test result:` lines.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u32,
    failed: u32,
    ignored: u32,
}

impl Tally {
    fn of(lines: &[String]) -> Self {
        let mut tally = Self::default();
        for line in lines {
            let Some(counts) = line.strip_prefix("test result: ") else {
                continue;
            };
            let count = |what: &str| {
                counts
                    .split(['.', ';'])
                    .filter_map(|part| part.trim().split_once(' '))
                    .find_map(|(number, name)| (name == what).then(|| number.parse().ok())?)
                    .unwrap_or(0)
            };
            tally.passed += count("passed");
            tally.failed += count("failed");
            tally.ignored += count("ignored");
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_summed() {
        let lines = [
            "running 2 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ]
        .map(str::to_owned);
        let expected = Tally {
            passed: 15,
            failed: 2,
            ignored: 1,
        };
        assert_eq!(Tally::of(&lines), expected);
    }
}
