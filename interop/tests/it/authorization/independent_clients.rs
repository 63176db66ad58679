//! Independent clients log in at a protected toolwire server, with the information that it sends.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use toolwire::ProtocolVersion;
use toolwire_interop::Peer;

use super::protected_server::TokenKind;
use super::{Fixture, in_both_eras, start};

/// Longer than two logins take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_2_logs_in() {
    in_both_eras(&[], async |fixture, version| {
        check(fixture, Peer::TypeScript2, version).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_1_logs_in() {
    // This SDK supports one era only.
    let provider = start(&[]);
    let fixture = Fixture::new(&provider, TokenKind::Signed).await;
    check(&fixture, Peer::TypeScript1, ProtocolVersion::V2025_11_25).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_logs_in() {
    in_both_eras(&[], async |fixture, version| {
        check(fixture, Peer::Python, version).await;
    })
    .await;
}

async fn check(fixture: &Fixture<'_>, peer: Peer, version: ProtocolVersion) {
    let results = tokio::time::timeout(TIMEOUT, run(fixture, peer, version)).await;
    let results = results.expect("the client exits in time");
    let client_id = fixture
        .browser
        .last_parameter("client_id")
        .unwrap_or_default();
    let expected = [
        format!("result ann, {client_id}, notes:read"),
        "result written: a".to_owned(),
    ];
    assert_eq!(results, expected);
    let scopes = fixture.browser.last_parameter("scope").unwrap_or_default();
    assert!(scopes.contains("notes:read") && scopes.contains("notes:write"));
    assert_eq!(fixture.browser.opened().len(), 2);
}

/// Runs the client, opens the pages that it requests, and returns its result lines.
async fn run(fixture: &Fixture<'_>, peer: Peer, version: ProtocolVersion) -> Vec<String> {
    let command = peer.login(version.as_str(), &fixture.server.url);
    let mut command = Command::from(command.expect("the peers are installed"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the client starts");
    let output = child.stdout.take().expect("standard output is piped");
    let mut lines = BufReader::new(output).lines();
    let mut results = Vec::new();
    while let Some(line) = lines.next_line().await.expect("standard output is text") {
        match line.strip_prefix("open ") {
            Some(url) => drop(fixture.browser.log_in(url).await),
            None => results.push(line),
        }
    }
    let status = child.wait().await.expect("the client exits");
    assert!(status.success(), "{status}: {results:?}");
    results
}
