//! The benchmark of the streams.

use std::path::Path;
use std::time::Duration;

use toolwire_bench::streams::{self, Options};
use toolwire_bench::{ServerProcess, allow_open_files};

use crate::fake_server::{self, Behavior};

/// Returns options without idle times.
fn options(streams: usize) -> Options {
    let mut options = Options::default();
    options.streams = streams;
    options.idle = Duration::ZERO;
    options.settle = Duration::ZERO;
    options
}

#[tokio::test]
async fn two_hundred_streams_receive_a_change_exactly_once() {
    let options = options(200);
    allow_open_files(options.open_files()).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_stream-server"));
    let server = ServerProcess::start(program).await.unwrap();
    let report = streams::run(&server, &options).await.unwrap();
    assert_eq!(report.failures(u64::MAX), Vec::<String>::new());
    assert_eq!(report.delivered, 200);
    assert!(report.delivery.is_some());
    // The memory check is only useful if memory was measured.
    assert_eq!(report.server.is_some(), cfg!(target_os = "linux"));
}

#[tokio::test]
async fn every_change_is_delivered_to_every_stream() {
    let mut options = options(50);
    options.changes = 3;
    for (program, arguments) in [
        (env!("CARGO_BIN_EXE_stream-server"), &[][..]),
        (env!("CARGO_BIN_EXE_limit-server"), &["http", "0"]),
    ] {
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        let server = ServerProcess::start_command(command).await.unwrap();
        let report = streams::run(&server, &options).await.unwrap();
        assert_eq!(report.failures(u64::MAX), Vec::<String>::new());
        assert_eq!((report.changes, report.delivered), (3, 150));
    }
}

/// Runs five streams. The server serves one of them with this behavior.
async fn check(behavior: Behavior, expected: &[&str]) {
    let (url, _server) = fake_server::start(behavior).await;
    let report = streams::run_at(&url, &options(5))
        .await
        .expect("the server can be loaded");
    let mut failures = report.failures(u64::MAX);
    // The operating system decides which connection is the third.
    failures.retain(|failure| !failure.starts_with("first: "));
    assert_eq!(failures, expected, "{behavior:?}");
}

#[tokio::test]
async fn correct_server_passes() {
    check(Behavior::Correct, &[]).await;
}

#[tokio::test]
async fn rejected_stream_is_a_failure() {
    check(Behavior::Rejected, &["1 streams did not open"]).await;
}

#[tokio::test]
async fn lost_change_is_a_failure() {
    let expected = ["1 changes were not delivered", "1 streams ended early"];
    check(Behavior::Closed, &expected).await;
}

#[tokio::test]
async fn repeated_delivery_is_a_failure() {
    check(Behavior::NotifiedTwice, &["1 deliveries were repeated"]).await;
}

#[tokio::test]
async fn change_for_another_subscription_is_a_failure() {
    let expected = [
        "1 changes were not delivered",
        "1 messages were unexpected",
        "1 streams ended early",
    ];
    check(Behavior::WrongSubscription, &expected).await;
}

#[tokio::test]
async fn change_that_was_not_made_is_a_failure() {
    check(Behavior::NotifiedEarly, &["1 messages were unexpected"]).await;
}

#[tokio::test]
async fn unreachable_server_is_an_error() {
    let (url, server) = fake_server::start(Behavior::Correct).await;
    drop(server);
    assert!(streams::run_at(&url, &options(1)).await.is_err());
    assert!(streams::run_at("localhost", &options(1)).await.is_err());
}
