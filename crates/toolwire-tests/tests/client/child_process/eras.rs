//! Detection of the era of child processes.

use serde_json::json;
use toolwire::ProtocolVersion;
use toolwire::{DetectedEra, LegacyTransport};
use toolwire_tests::peer::within;

use super::child::Behavior;
use super::{StderrLines, builder, check_call, connect};

/// The methods that a server of the legacy era receives after its response to the probe.
const INITIALIZED_AFTER_THE_PROBE: [&str; 4] = [
    "server/discover",
    "initialize",
    "notifications/initialized",
    "tools/call",
];

/// Connects to a child and calls a tool. Checks the version and the methods that the child received.
async fn check(behavior: Behavior, version: &str, expected: &[&str]) {
    let (client, stderr) = connect(behavior).await;
    assert_eq!(client.version().as_str(), version, "{behavior:?}");
    check_call(&client, stderr, expected).await;
}

#[tokio::test]
async fn modern_server_is_probed_once() {
    check(
        Behavior::Modern,
        "2026-07-28",
        &["server/discover", "tools/call"],
    )
    .await;
}

#[tokio::test]
async fn error_without_a_modern_code_means_a_legacy_server() {
    let received = INITIALIZED_AFTER_THE_PROBE;
    for code in [-32601, -32602, -32600, -32000, -32603, 7] {
        check(Behavior::Rejects(code), "2025-11-25", &received).await;
    }
    check(Behavior::RespondsWithOtherResult, "2025-11-25", &received).await;
}

#[tokio::test]
async fn missing_and_invalid_responses_mean_a_legacy_server() {
    for behavior in [Behavior::IgnoresDiscover, Behavior::PrintsGarbage] {
        let (client, stderr) = connect(behavior).await;
        assert_eq!(client.version().as_str(), "2025-11-25", "{behavior:?}");
        client.close().await;
        let received = stderr.received().await;
        assert_eq!(
            received.first().map(String::as_str),
            Some("server/discover")
        );
        assert!(received.contains(&"initialize".to_owned()), "{received:?}");
    }
}

#[tokio::test]
async fn child_that_exits_on_the_probe_is_restarted_and_initialized() {
    let received = INITIALIZED_AFTER_THE_PROBE;
    check(Behavior::ExitsOnDiscover, "2025-11-25", &received).await;
}

#[tokio::test]
async fn child_that_always_exits_is_started_twice_and_the_error_has_its_exit_status() {
    let (command, stderr) = StderrLines::of(Behavior::AlwaysExits.command());
    let error = within(builder().spawn(command)).await.unwrap_err();
    assert!(error.is_closed(), "{error}");
    let exit = error.server_exit().expect("an exited process");
    assert_eq!(exit.code, Some(3));
    assert!(exit.stderr.ends_with("line 999\nthe database is gone\n"));
    assert_eq!(exit.stderr.len(), 4096);
    let message = error.to_string();
    assert!(message.contains("exit code 3"), "{message}");
    assert!(message.ends_with("the database is gone"), "{message}");
    assert_eq!(stderr.received().await, ["server/discover", "initialize"]);
}

#[tokio::test]
async fn slow_modern_server_is_probed_again() {
    let (client, stderr) = connect(Behavior::LateModern).await;
    assert_eq!(client.version().as_str(), "2026-07-28");
    client.call_tool("anything", json!({})).await.unwrap();
    client.close().await;
    let mut received = stderr.received().await;
    received.retain(|method| !method.starts_with("notifications/cancelled"));
    assert_eq!(
        received,
        [
            "server/discover",
            "initialize",
            "server/discover",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn server_with_only_a_legacy_version_is_initialized_with_it() {
    let received = INITIALIZED_AFTER_THE_PROBE;
    check(Behavior::NamesLegacyVersion, "2025-06-18", &received).await;
}

#[tokio::test]
async fn configured_era_skips_the_probe() {
    let modern = DetectedEra::Modern {
        version: ProtocolVersion::LATEST,
    };
    let (client, _) = connect(Behavior::Modern).await;
    assert_eq!(client.detected_era(), modern);
    client.close().await;

    let (command, stderr) = StderrLines::of(Behavior::Modern.command());
    let client = builder()
        .with_detected_era(modern)
        .spawn(command)
        .await
        .unwrap();
    client.call_tool("anything", json!({})).await.unwrap();
    client.close().await;
    assert_eq!(stderr.received().await, ["tools/call"]);

    let legacy = DetectedEra::Legacy {
        version: "2025-06-18".parse().unwrap(),
        transport: LegacyTransport::Direct,
    };
    let (command, stderr) = StderrLines::of(Behavior::Rejects(-32601).command());
    let client = builder()
        .with_detected_era(legacy)
        .spawn(command)
        .await
        .unwrap();
    assert_eq!(client.detected_era(), legacy);
    client.close().await;
    let received = ["initialize", "notifications/initialized"];
    assert_eq!(stderr.received().await, received);
}

#[tokio::test]
async fn error_for_a_program_that_cannot_start_has_its_name_and_advice() {
    let check = async |command: toolwire::ServerCommand, expected: &[&str]| {
        let error = builder().spawn(command).await.unwrap_err();
        let message = error.to_string();
        for text in expected {
            assert!(message.contains(text), "{text:?} is not in {message:?}");
        }
    };
    let missing = "no-such-program-anywhere";
    check(
        missing.into(),
        &["`no-such-program-anywhere`", "install it"],
    )
    .await;
    check("no-such-program --stdio".into(), &["ServerCommand::arg"]).await;
    let missing_directory = Behavior::Modern.command().current_dir("/no/such/directory");
    check(missing_directory, &["`/no/such/directory`", "current_dir"]).await;
    let not_executable = std::env::temp_dir();
    check(not_executable.into(), &["not executable"]).await;
}
