//! Legacy servers that do not survive `server/discover`, or ignore it: they are probed once for each command.

use std::time::Duration;

use toolwire::{DetectedEra, LegacyTransport, ProtocolVersion, ServerCommand};
use toolwire_tests::peer::within;

use super::child::Behavior;
use super::{SHORT, StderrLines, builder, check_call, connect, limits};

/// The methods that the two processes receive if the first one fails after the probe.
const INITIALIZED_TWICE: [&str; 5] = [
    "server/discover",
    "initialize",
    "initialize",
    "notifications/initialized",
    "tools/call",
];

/// Returns a command that no other test uses, because the client stores the era of such commands.
fn command_of(behavior: Behavior, test: &str) -> ServerCommand {
    behavior.command().env("TOOLWIRE_TEST_NAME", test)
}

#[tokio::test]
async fn child_that_exits_after_the_probe_is_restarted_and_initialized() {
    let (client, stderr) = connect(Behavior::ExitsAfterDiscover).await;
    assert_eq!(client.version().as_str(), "2025-11-25");
    check_call(&client, stderr, &INITIALIZED_TWICE).await;
}

#[tokio::test]
async fn child_that_hangs_after_the_probe_is_restarted_and_initialized() {
    let mut limits = limits();
    limits.probe_timeout = SHORT;
    limits.connect_timeout = Duration::from_secs(10);
    let (command, stderr) = StderrLines::of(Behavior::HangsAfterDiscover.command());
    let client = builder().with_limits(limits).spawn(command);
    let client = within(client).await.unwrap();
    check_call(&client, stderr, &INITIALIZED_TWICE).await;
}

#[tokio::test]
async fn restarted_command_is_not_probed_again() {
    let command = || command_of(Behavior::ExitsOnDiscover, "not_probed_again");
    let (first, stderr) = StderrLines::of(command());
    let client = within(builder().spawn(first)).await.unwrap();
    let era = DetectedEra::Legacy {
        version: ProtocolVersion::V2025_11_25,
        transport: LegacyTransport::Direct,
    };
    assert_eq!(client.detected_era(), era);
    assert!(client.probe_failed());
    client.close().await;
    let expected = ["server/discover", "initialize", "notifications/initialized"];
    assert_eq!(stderr.received().await, expected);

    for _ in 0..2 {
        let (again, stderr) = StderrLines::of(command());
        let client = within(builder().spawn(again)).await.unwrap();
        assert_eq!(client.detected_era(), era);
        assert!(!client.probe_failed());
        let expected = ["initialize", "notifications/initialized", "tools/call"];
        check_call(&client, stderr, &expected).await;
    }

    let (other, stderr) = StderrLines::of(command().env("TOOLWIRE_TEST_OTHER", "1"));
    let client = within(builder().spawn(other)).await.unwrap();
    client.close().await;
    assert_eq!(stderr.received().await[0], "server/discover");
}

/// Connects twice with a short probe timeout. Returns whether the first probe failed, and the first message to the
/// second process.
async fn connect_twice(behavior: Behavior, test: &str) -> (bool, String) {
    let mut limits = limits();
    limits.probe_timeout = SHORT;
    let builder = || builder().with_limits(limits.clone());
    let client = within(builder().spawn(command_of(behavior, test))).await;
    let client = client.expect("a connection");
    let probe_failed = client.probe_failed();
    client.close().await;
    let (again, stderr) = StderrLines::of(command_of(behavior, test));
    let client = within(builder().spawn(again)).await;
    let client = client.expect("a second connection");
    assert_eq!(client.version().as_str(), "2025-11-25");
    client.close().await;
    (probe_failed, stderr.received().await.swap_remove(0))
}

#[tokio::test]
async fn command_that_ignores_the_probe_is_not_probed_again() {
    let (probe_failed, first) = connect_twice(Behavior::IgnoresDiscover, "ignores").await;
    assert!(probe_failed);
    assert_eq!(first, "initialize");
}

#[tokio::test]
async fn command_that_responds_late_is_probed_again() {
    let (probe_failed, first) = connect_twice(Behavior::RespondsLate, "responds_late").await;
    assert!(!probe_failed);
    assert_eq!(first, "server/discover");
}

#[tokio::test]
async fn error_of_the_second_process_names_the_legacy_era() {
    let (command, stderr) = StderrLines::of(Behavior::ExitsInTwoWays.command());
    let error = within(builder().spawn(command)).await.unwrap_err();
    let message = error.to_string();
    for part in [
        "exit code 2",
        "the port is in use",
        "Era::Legacy",
        "--era legacy",
    ] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert_eq!(stderr.received().await, ["server/discover", "initialize"]);

    // The probe is not the cause if the process exits in the same way without it.
    let same = Behavior::AlwaysExits.command();
    let error = within(builder().spawn(same)).await.unwrap_err();
    assert!(!error.to_string().contains("--era"), "{error}");
}
