//! The two largest tasks: all tests, and all steps of continuous integration.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};

use crate::conformance;
use crate::docs;
use crate::failed_tests;
use crate::package;
use crate::page;
use crate::peers::{self, Toolchain};
use crate::programs;
use crate::releases;
use crate::steps::{
    Outcome, capture_and_print_after, cargo, note, output_of, run, run_and_capture,
    run_and_print_after, with_low_priority,
};

/// The feature sets to lint besides all features: none, and features that enable others or that others extend. The tests
/// of a server alone build `macros,http-server`. `.github/workflows/ci.yml` checks each feature of each package alone.
const FEATURE_SETS: [&str; 4] = ["", "macros,tasks", "client", "events"];

/// The feature sets of `toolwire-auth` to lint besides all features. They select `http-client` of `toolwire`.
const AUTH_FEATURE_SETS: [&str; 2] = ["client", "resource-server"];

/// What `toolwire new` creates, with the features that its own manifest selects.
const CREATED: &[&str] = &[
    "clippy",
    "--all-targets",
    "--package",
    "new-stdio",
    "--package",
    "new-http",
    "--package",
    "new-auth",
    "--",
    "-D",
    "warnings",
];

/// All tests except the count of instructions, [`COMPILED_ERRORS`] and the examples of the documentation. The package of
/// [`COMPILED_ERRORS`] is selected nevertheless, because the features of its dependencies are part of the build.
const MOST_TESTS: &[&str] = &[
    "test",
    "--workspace",
    "--exclude",
    INSTRUCTIONS,
    "--all-features",
    "--no-fail-fast",
    "--lib",
    "--bins",
    "--tests",
    "--",
    "--skip",
    COMPILED_ERRORS,
];

/// [`COMPILED_ERRORS`] with the features and the build of the other tests.
const MACRO_ERROR_TESTS: &[&str] = &[
    "test",
    "--workspace",
    "--exclude",
    INSTRUCTIONS,
    "--all-features",
    "--test",
    "messages",
];

/// The examples of the documentation.
const DOCUMENTATION_TESTS: &[&str] = &[
    "test",
    "--workspace",
    "--exclude",
    INSTRUCTIONS,
    "--all-features",
    "--no-fail-fast",
    "--doc",
];

/// Builds everything that the tests need, and the programs that no test needs.
const ALL_TARGETS: &[&str] = &[
    "build",
    "--workspace",
    "--exclude",
    INSTRUCTIONS,
    "--all-features",
    "--all-targets",
];

/// The tests of a server alone: without the client, `http2`, `input`, `schema-validation`, `testing` and `tls`. hyper has
/// HTTP/2 here, because tests need it.
const SERVER_ALONE: &[&str] = &[
    "test",
    "--package",
    "toolwire",
    "--lib",
    "--no-default-features",
    "--features",
    "macros,http-server",
];

/// The libraries. Their documentation is published. The program of `toolwire-cli` has the name of the main library, so
/// rustdoc would write both to one place.
pub(crate) const DOCUMENTED: [&str; 8] = [
    "toolwire",
    "toolwire-auth",
    "toolwire-gateway",
    "toolwire-otel",
    "toolwire-macros",
    "toolwire-proto",
    "toolwire-redis",
    "toolwire-types",
];

/// The compiler that also lints.
const CLIPPY_DRIVER: &str = if cfg!(windows) {
    "clippy-driver.exe"
} else {
    "clippy-driver"
};

/// The test that compiles programs with wrong uses of macros, in `crates/toolwire-macro-errors/tests/messages.rs`.
const COMPILED_ERRORS: &str = "macro_misuse_fails_to_compile_with_its_message";

/// The space that a complete run uses: builds without debug information, and the packages of the peers.
const NEEDED_GIGABYTES: u64 = 12;

/// The package whose test counts instructions with valgrind.
const INSTRUCTIONS: &str = "toolwire-instructions";

/// `true` if the test in `bench/instructions` runs on this platform.
const COUNTS_INSTRUCTIONS: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// Runs formatting, all tests, lints and documentation.
///
/// Builds have parts that use one processor only, and many tests wait for other processes. So the checks of feature sets,
/// the documentation and the builds of the last steps run beside them from the start, in target directories of their own:
/// a target directory can be used by one build at a time. The checks use one processor most of the time, so with a low
/// priority they would end long after the tests.
pub(crate) fn ci(root: &Path) -> Outcome {
    let toolchain = Toolchain::find()?;
    check_valgrind()?;
    check_disk_space(root)?;
    run(&mut cargo(root, &["fmt", "--all", "--", "--check"]))?;
    thread::scope(|scope| {
        let checking = scope.spawn(|| {
            build_server_alone(root)?;
            lint(root)
        });
        let building = scope.spawn(|| build_counted_program(root));
        build_and_test(root, &toolchain)?;
        join(checking, "the check of feature sets and documentation")?;
        join(building, "the build of the counted program")
    })?;
    run(ci_cargo(root, SERVER_ALONE).env("CARGO_TARGET_DIR", lint_directory()?))?;
    count_instructions(root, linting_cargo)
}

/// Builds all tests while it installs what they need, then runs them.
fn build_and_test(root: &Path, toolchain: &Toolchain) -> Outcome {
    thread::scope(|scope| {
        // The installations wait for the network most of the time.
        let installing = scope.spawn(|| {
            install_packages(root, toolchain)?;
            page::check(root)?;
            docs::check(root, toolchain)?;
            package::check(root)
        });
        run(&mut linting_cargo(root, ALL_TARGETS))?;
        join(installing, "the installation of the peers")
    })?;
    test_with(root, toolchain, linting_cargo)
}

/// Returns the outcome of a thread.
fn join(thread: ScopedJoinHandle<'_, Outcome>, name: &str) -> Outcome {
    let panicked = |_| Err(format!("{name} panicked"));
    thread.join().unwrap_or_else(panicked)
}

/// Returns a cargo command of continuous integration. Nothing is built twice there, so incremental data and debug
/// information would only cost time.
fn ci_cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = cargo(root, arguments);
    command
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

/// Returns a cargo command of continuous integration that also lints the packages of the workspace. A separate run of
/// clippy would read and check everything again.
fn linting_cargo(root: &Path, arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    let beside_cargo = cargo.map(|cargo| cargo.with_file_name(CLIPPY_DRIVER));
    let driver = beside_cargo.filter(|driver| driver.is_file());
    let driver = driver.unwrap_or_else(|| CLIPPY_DRIVER.into());
    // An option and not a variable, because tests that run cargo would inherit the variable.
    let wrapper = format!("build.rustc-workspace-wrapper='{}'", driver.display());
    let mut command = ci_cargo(root, &["--config", &wrapper]);
    command.args(arguments);
    // `cargo clippy` passes its arguments in the same way.
    command.env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    command
}

/// Checks feature sets and documentation.
fn lint(root: &Path) -> Outcome {
    let directory = lint_directory()?;
    let lint = |arguments: &[&str]| {
        let mut command = ci_cargo(root, arguments);
        command
            .env("CARGO_TARGET_DIR", &directory)
            .env("RUSTDOCFLAGS", "-D warnings");
        run_and_print_after(&mut command)
    };
    let sets = FEATURE_SETS.map(|features| ("toolwire", features));
    let auth_sets = AUTH_FEATURE_SETS.map(|features| ("toolwire-auth", features));
    for (package, features) in sets.into_iter().chain(auth_sets) {
        lint(&[
            "clippy",
            "--package",
            package,
            "--no-default-features",
            "--features",
            features,
            "--",
            "-D",
            "warnings",
        ])?;
    }
    lint(CREATED)?;
    // The documentation of the other packages is not published.
    let packages = DOCUMENTED.iter().flat_map(|package| ["--package", package]);
    let arguments: Vec<&str> = ["doc", "--no-deps", "--all-features"]
        .into_iter()
        .chain(packages)
        .collect();
    lint(&arguments)?;
    docs::check_item_links(root, &directory.join("doc"))
}

/// Builds the tests of a server alone. They run later: beside the other tests, they could reach their timeouts.
fn build_server_alone(root: &Path) -> Outcome {
    let mut build = ci_cargo(root, &[SERVER_ALONE, &["--no-run"]].concat());
    // The lints use the same macros and build scripts.
    run_and_print_after(build.env("CARGO_TARGET_DIR", lint_directory()?))
}

/// Builds the program whose instructions are counted, as the test that counts does. A release build does not block the
/// tests.
fn build_counted_program(root: &Path) -> Outcome {
    if !COUNTS_INSTRUCTIONS {
        return Ok(());
    }
    let arguments = ["build", "--release", "--package", INSTRUCTIONS];
    run_and_print_after(&mut with_low_priority(&ci_cargo(root, &arguments)))
}

/// Returns the target directory for builds beside the tests.
fn lint_directory() -> Outcome<PathBuf> {
    Ok(target_directory()?.join("lint"))
}

/// Installs what the tests of `toolwire-interop` need: the peers, and the packages of the page, whose code they run.
pub(crate) fn install_peers(root: &Path) -> Outcome {
    page::install(root, &Toolchain::find()?)?;
    peers::install(root)?;
    programs::valkey(root)?;
    Ok(())
}

/// Installs the packages of the peers and of the conformance suite if needed.
fn install_packages(root: &Path, toolchain: &Toolchain) -> Outcome {
    programs::chromium()?;
    programs::engine()?;
    programs::HAPROXY.find_or_install()?;
    page::install(root, toolchain)?;
    peers::install_packages(root, toolchain)?;
    programs::valkey(root)?;
    conformance::install(root, toolchain)
}

/// Counts the instructions of calls and compares them with the recorded figures.
pub(crate) fn instructions(root: &Path) -> Outcome {
    check_valgrind()?;
    count_instructions(root, cargo)
}

fn count_instructions(root: &Path, cargo: impl Fn(&Path, &[&str]) -> Command) -> Outcome {
    if !COUNTS_INSTRUCTIONS {
        note("instructions are counted on x86-64 Linux only");
        return Ok(());
    }
    // All packages are selected, so that their features and builds are those of the other tests.
    run(&mut cargo(
        root,
        &[
            "test",
            "--workspace",
            "--all-features",
            "--test",
            "instructions",
        ],
    ))
}

fn check_valgrind() -> Outcome {
    if COUNTS_INSTRUCTIONS && output_of("valgrind", &["--version"]).is_none() {
        return Err("the instructions test needs valgrind; install it".to_owned());
    }
    Ok(())
}

/// Fails if the disk would become full during a complete run. A run that continues an earlier one needs less.
fn check_disk_space(root: &Path) -> Outcome {
    if lint_directory()?.exists() {
        return Ok(());
    }
    // Without this program, the step that fills the disk fails.
    let table = output_of("df", &["-Pk", &root.to_string_lossy()]);
    match table.as_deref().and_then(free_gigabytes) {
        Some(free) if free < NEEDED_GIGABYTES => Err(format!(
            "a complete run needs {NEEDED_GIGABYTES} GB on the disk of {}, which has {free} GB free; delete files",
            root.display()
        )),
        _ => Ok(()),
    }
}

/// Returns the free space in the output of `df -Pk`, in GB.
fn free_gigabytes(table: &str) -> Option<u64> {
    let columns = table.lines().nth(1)?.split_whitespace();
    let kibibytes: u64 = columns.rev().nth(2)?.parse().ok()?;
    Some(kibibytes * 1024 / 1_000_000_000)
}

/// Runs all tests except the count of instructions: those of the crates, their documentation, the conformance suite, and
/// the peers with the built command.
pub(crate) fn test(root: &Path) -> Outcome {
    let toolchain = Toolchain::find()?;
    run(&mut cargo(root, ALL_TARGETS))?;
    test_with(root, &toolchain, cargo)
}

/// Runs the tests, whose programs are built.
///
/// Many tests wait for other processes. So the tests that only compile run beside the others.
fn test_with(
    root: &Path,
    toolchain: &Toolchain,
    cargo: impl Fn(&Path, &[&str]) -> Command + Sync,
) -> Outcome {
    install_packages(root, toolchain)?;
    releases::build_rmcp(root, &cargo)?;
    let mut most = cargo(root, MOST_TESTS);
    most.env("TOOLWIRE_BIN", built_command()?);
    most.env("TOOLWIRE_CHROMIUM", programs::chromium()?);
    most.env("TOOLWIRE_VALKEY", programs::valkey(root)?);
    // One more test runs at a time than there are processors, because tests wait.
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        let threads = thread::available_parallelism().map_or(2, |processors| processors.get() + 1);
        most.env("RUST_TEST_THREADS", threads.to_string());
    }
    let (most, errors, documentation) = thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let mut errors = with_low_priority(&cargo(root, MACRO_ERROR_TESTS));
            let errors = capture_and_print_after(&mut errors);
            (
                errors,
                capture_and_print_after(&mut cargo(root, DOCUMENTATION_TESTS)),
            )
        });
        let most = run_and_capture(&mut most);
        let failed = |_| {
            let error = Err("the tests beside the others panicked".to_owned());
            (error.clone(), error)
        };
        let (errors, documentation) = beside.join().unwrap_or_else(failed);
        (most, errors, documentation)
    });
    let mut counts = TestCounts::default();
    let mut outcomes = Vec::new();
    let mut reports = String::new();
    for run in [most, errors, documentation] {
        let (lines, outcome) = run?;
        counts.add(&lines);
        reports.push_str(&failed_tests::reports(&lines));
        outcomes.push(outcome);
    }
    note(&format!(
        "summary: {} passed, {} failed, {} ignored",
        counts.passed, counts.failed, counts.ignored
    ));
    // The steps beside the tests may still print. The error is printed last.
    let outcome: Outcome = outcomes.into_iter().collect();
    outcome.map_err(|error| format!("\n{reports}{error}"))
}

/// Returns `target/debug/toolwire`.
fn built_command() -> Outcome<PathBuf> {
    let name = format!("toolwire{}", std::env::consts::EXE_SUFFIX);
    Ok(target_directory()?.join("debug").join(name))
}

/// Returns the target directory, found from the path of this program.
pub(crate) fn target_directory() -> Outcome<PathBuf> {
    let program = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    program
        .parent()
        .and_then(Path::parent)
        .map(Path::to_owned)
        .ok_or_else(|| format!("{} is not in a target directory", program.display()))
}

/// The sums of all `test result:` lines.
#[derive(Debug, Default, PartialEq, Eq)]
struct TestCounts {
    passed: u32,
    failed: u32,
    ignored: u32,
}

impl TestCounts {
    /// Adds the tests of a run, given the lines of its output.
    fn add(&mut self, lines: &[String]) {
        for line in lines {
            let Some(result) = line.strip_prefix("test result: ") else {
                continue;
            };
            let count = |what: &str| {
                result
                    .split(['.', ';'])
                    .filter_map(|part| part.trim().split_once(' '))
                    .find_map(|(number, name)| (name == what).then(|| number.parse().ok())?)
                    .unwrap_or(0)
            };
            self.passed += count("passed");
            self.failed += count("failed");
            self.ignored += count("ignored");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_read_from_the_table() {
        let table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
            /dev/my disk 263000000 200000000 10000000 96% /\n";
        assert_eq!(free_gigabytes(table), Some(10));
        assert_eq!(free_gigabytes(""), None);
    }

    #[test]
    fn result_lines_are_summed() {
        let lines = [
            "running 2 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
        ]
        .map(str::to_owned);
        let expected = TestCounts {
            passed: 15,
            failed: 2,
            ignored: 1,
        };
        let mut counts = TestCounts::default();
        counts.add(&lines[..2]);
        counts.add(&lines[2..]);
        assert_eq!(counts, expected);
    }
}
