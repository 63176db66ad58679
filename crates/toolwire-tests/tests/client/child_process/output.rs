//! What an error says about a program that sends no response: its standard error, or its text on standard output.

use std::time::{Duration, Instant};

use toolwire::{Error, ServerCommand};
use toolwire_tests::peer::within;

use super::{builder, limits};

/// The time for connecting. A quarter of it must suffice to start a shell.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// Starts a script of `sh` and returns the error.
async fn error_of(script: &str) -> Error {
    let mut limits = limits();
    limits.connect_timeout = CONNECT_TIMEOUT;
    let command = ServerCommand::new("sh").args(["-c", script]);
    let connecting = builder().with_limits(limits).spawn(command);
    within(connecting).await.expect_err("a failed connection")
}

fn check(error: &Error, expected: &[&str]) {
    let message = error.to_string();
    for part in expected {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[tokio::test]
async fn silent_server_is_quoted_with_its_standard_error() {
    let error = error_of(
        "echo 'waiting for the database' >&2; echo '+-----' >&2; while read line; do :; done",
    )
    .await;
    assert!(error.is_timeout(), "{error}");
    let quoted = "last line of stderr: waiting for the database";
    check(&error, &[quoted, "--era legacy"]);
}

#[tokio::test]
async fn program_that_prints_text_is_quoted_with_it() {
    let error = error_of("echo 'Welcome to the shop'; while read line; do :; done").await;
    assert!(error.is_timeout(), "{error}");
    check(&error, &["stdout: Welcome to the shop"]);

    for script in [
        "echo 'v22.1'; echo 'usage: shop FILE'",
        "printf 'usage: shop FILE'",
    ] {
        let error = error_of(script).await;
        check(&error, &["exit code 0", "stdout: usage: shop FILE"]);
        let exit = error.server_exit().expect("an exited process");
        assert!(exit.stdout.ends_with("usage: shop FILE\n"), "{exit:?}");
        assert_eq!(exit.stderr, "");
    }
}

#[tokio::test]
async fn error_is_quoted_and_not_the_version_of_the_runtime() {
    let script = "printf 'Error: Cannot find module\\n    at main (a.js:1:1)\\n\\nNode.js v22.12.0\\n' >&2; exit 1";
    let error = error_of(script).await;
    check(
        &error,
        &["exit code 1", "stderr: Error: Cannot find module"],
    );
    assert!(!error.to_string().contains("Node.js"), "{error}");
}

#[tokio::test]
async fn silent_server_fails_after_the_connect_timeout() {
    let start = Instant::now();
    let error = error_of("while read line; do :; done").await;
    assert!(error.is_timeout(), "{error}");
    assert!(start.elapsed() >= CONNECT_TIMEOUT);
}
