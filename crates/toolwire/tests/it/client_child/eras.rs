//! Finding out what a child speaks.

use serde_json::json;
use toolwire::ProtocolVersion;
use toolwire::proto::negotiate::{DetectedEra, LegacyTransport};

use super::child::Part;
use super::{Heard, builder, connect};
use crate::peer::within;

/// Connects and calls a tool: this is spoken, and this is what the child received.
async fn check(part: Part, version: &str, expected: &[&str]) {
    let (client, heard) = connect(part).await;
    assert_eq!(client.version().as_str(), version, "{part:?}");
    let result = client.call_tool("anything", json!({})).await;
    let result = result.expect("it answers");
    assert_eq!(result.content[0].as_text(), Some("done"), "{part:?}");
    client.close().await;
    assert_eq!(heard.received().await, expected, "{part:?}");
}

#[tokio::test]
async fn a_modern_server_is_asked_once() {
    check(
        Part::Modern,
        "2026-07-28",
        &["server/discover", "tools/call"],
    )
    .await;
}

#[tokio::test]
async fn any_refusal_that_is_not_modern_means_a_legacy_server() {
    let received = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ];
    for code in [-32601, -32602, -32600, -32000, -32603, 7] {
        check(Part::Refuses(code), "2025-11-25", &received).await;
    }
    check(Part::AnswersSomethingElse, "2025-11-25", &received).await;
}

#[tokio::test]
async fn silence_and_garbage_mean_a_legacy_server() {
    for part in [Part::KeepsSilent, Part::PrintsGarbage] {
        let (client, heard) = connect(part).await;
        assert_eq!(client.version().as_str(), "2025-11-25", "{part:?}");
        client.close().await;
        let received = heard.received().await;
        assert_eq!(
            received.first().map(String::as_str),
            Some("server/discover")
        );
        assert!(received.contains(&"initialize".to_owned()), "{received:?}");
    }
}

#[tokio::test]
async fn a_child_that_dies_of_the_question_is_started_again_and_initialized() {
    let (client, heard) = connect(Part::DiesOfDiscover).await;
    assert_eq!(client.version().as_str(), "2025-11-25");
    client.call_tool("anything", json!({})).await.unwrap();
    client.close().await;
    let received = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ];
    assert_eq!(heard.received().await, received);
}

#[tokio::test]
async fn a_child_that_always_dies_is_started_twice_and_the_error_says_how_it_ended() {
    let (command, heard) = Heard::of(Part::DiesAlways.command());
    let error = within(builder().spawn(command)).await.unwrap_err();
    assert!(error.is_closed(), "{error}");
    let exit = error.server_exit().expect("it was a process");
    assert_eq!(exit.code, Some(3));
    assert!(exit.stderr.ends_with("line 999\nthe database is gone\n"));
    assert_eq!(exit.stderr.len(), 4096);
    let message = error.to_string();
    assert!(message.contains("exit code 3"), "{message}");
    assert!(message.ends_with("the database is gone"), "{message}");
    assert_eq!(heard.received().await, ["server/discover", "initialize"]);
}

#[tokio::test]
async fn a_modern_server_that_was_too_slow_for_the_question_gets_a_second_one() {
    let (client, heard) = connect(Part::LateModern).await;
    assert_eq!(client.version().as_str(), "2026-07-28");
    client.call_tool("anything", json!({})).await.unwrap();
    client.close().await;
    let mut received = heard.received().await;
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
async fn a_server_that_names_only_a_legacy_version_is_initialized_with_it() {
    let received = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ];
    check(Part::NamesLegacyVersion, "2025-06-18", &received).await;
}

#[tokio::test]
async fn a_verdict_from_an_earlier_connection_needs_no_question() {
    let modern = DetectedEra::Modern {
        version: ProtocolVersion::LATEST,
    };
    let (client, _) = connect(Part::Modern).await;
    assert_eq!(client.detected_era(), modern);
    client.close().await;

    let (command, heard) = Heard::of(Part::Modern.command());
    let client = builder()
        .with_detected_era(modern)
        .spawn(command)
        .await
        .unwrap();
    client.call_tool("anything", json!({})).await.unwrap();
    client.close().await;
    assert_eq!(heard.received().await, ["tools/call"]);

    let legacy = DetectedEra::Legacy {
        version: "2025-06-18".parse().unwrap(),
        transport: LegacyTransport::Direct,
    };
    let (command, heard) = Heard::of(Part::Refuses(-32601).command());
    let client = builder()
        .with_detected_era(legacy)
        .spawn(command)
        .await
        .unwrap();
    assert_eq!(client.detected_era(), legacy);
    client.close().await;
    let received = ["initialize", "notifications/initialized"];
    assert_eq!(heard.received().await, received);
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_named_with_a_remedy() {
    let check = async |command: toolwire::ServerCommand, expected: &[&str]| {
        let error = builder().spawn(command).await.unwrap_err();
        let message = error.to_string();
        for part in expected {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
    };
    let missing = "no-such-program-anywhere";
    check(
        missing.into(),
        &["`no-such-program-anywhere`", "install it"],
    )
    .await;
    check("no-such-program --stdio".into(), &["ServerCommand::arg"]).await;
    let elsewhere = Part::Modern.command().current_dir("/no/such/directory");
    check(elsewhere, &["`/no/such/directory`", "current_dir"]).await;
    let no_program = std::env::temp_dir();
    check(no_program.into(), &["not executable"]).await;
}
