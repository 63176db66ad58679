//! Counts the instructions of a call with valgrind, independent of the clock and of other load on the machine.
//!
//! The figures are those of the last measured version, and 5 % more are accepted. Other compilers and processors count
//! differently, so every figure is scaled by that of reading and writing the same message with serde_json. A change
//! that lowers a figure updates it.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use toolwire_bench::counting::{self, Counting};
use toolwire_bench::load::{Era, Kind, Workload};

/// The message, read and written once with serde_json.
const REFERENCE: f64 = 30_347.0;

/// One `tools/call` with a small text, from bytes to bytes in process.
const IN_PROCESS: f64 = 10_905.0;

/// The same over HTTP, with the whole transport: 2026-07-28, and in a session of 2025-11-25.
const HTTP: f64 = 20_325.0;
const HTTP_IN_SESSION: f64 = 19_343.0;

/// The same over stdio, with all calls at once. The scheduler decides how many calls are read at a time, so this figure
/// varies by 3 %.
const STDIO: f64 = 9_007.0;

/// A further middleware that does nothing, around a call in process. This is the goal, and 5 % more are not accepted.
const MIDDLEWARE: f64 = 400.0;

/// A middleware that is not active, around a call in process. This is the goal for telemetry without a provider, and 5 % more
/// are not accepted.
const INACTIVE: f64 = 300.0;

const COUNTING: Counting = Counting::new(100, 600);
const MODERN: Workload = Workload::new(Era::Modern, Kind::Echo, 100);
const LEGACY: Workload = Workload::new(Era::Legacy, Kind::Echo, 100);

#[tokio::test]
async fn calls_take_at_most_the_recorded_instructions() {
    assert!(
        counting::is_available(),
        "missing: valgrind, which counts instructions; install the package of that name"
    );
    let program = build_program();
    let command_with = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments);
        command
    };
    let repeated = |word| {
        let each = |times: usize| command_with(&[word, &times.to_string()]);
        COUNTING.repeated(each, &MODERN.message(1)).unwrap()
    };
    let http = command_with(&["http"]);
    let reference = repeated("reference").instructions;
    let scale = reference / REFERENCE;
    let alone = repeated("handle");
    let figures = [
        ("a call in process", IN_PROCESS, alone),
        (
            "a call over HTTP",
            HTTP,
            COUNTING.over_http(&http, MODERN).await.unwrap(),
        ),
        (
            "a call in a session over HTTP",
            HTTP_IN_SESSION,
            COUNTING.over_http(&http, LEGACY).await.unwrap(),
        ),
        (
            "a call over stdio",
            STDIO,
            COUNTING.over_stdio(&command_with(&["stdio"])).unwrap(),
        ),
    ];
    let mut exceeded = String::new();
    eprintln!("reference: {reference:.0}");
    for (what, recorded, measured) in figures {
        let measured = measured.instructions;
        let allowed = recorded * scale * 1.05;
        eprintln!("{what}: {measured:.0}, at most {allowed:.0}");
        if measured > allowed {
            exceeded +=
                &format!("{what} takes {measured:.0} instructions; {allowed:.0} are allowed\n");
        }
    }
    // The first middleware also pays for the request that all of them see.
    let behind = |middleware: usize| {
        let middleware = middleware.to_string();
        let each = |times: usize| command_with(&["handle-behind", &middleware, &times.to_string()]);
        COUNTING.repeated(each, &MODERN.message(1)).unwrap()
    };
    let (first, second) = (behind(1), behind(2));
    let inactive = repeated("handle-behind-inactive");
    eprintln!("a call behind one middleware: {:.0}", first.instructions);
    for (what, goal, more, fewer) in [
        ("a further middleware", MIDDLEWARE, second, first),
        ("a middleware that is not active", INACTIVE, inactive, alone),
    ] {
        let measured = more.instructions - fewer.instructions;
        let allowed = goal * scale;
        eprintln!("{what}: {measured:.0}, at most {allowed:.0}");
        if measured > allowed {
            exceeded +=
                &format!("{what} takes {measured:.0} instructions; {allowed:.0} are allowed\n");
        }
    }
    assert!(exceeded.is_empty(), "{exceeded}");
}

/// Builds the program in release mode, with only the features that it needs.
fn build_program() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args([
            "build",
            "--release",
            "--quiet",
            "--package",
            "toolwire-instructions",
        ])
        .current_dir(package)
        .status()
        .unwrap();
    assert!(status.success(), "the program to be counted does not build");
    // The directory of this test: target/debug/deps.
    let here = std::env::current_exe().unwrap();
    let target = here.ancestors().nth(3).unwrap();
    target.join("release").join("counted")
}
