//! Clients that are not ours log in at our protected server: what it tells them is enough for every SDK.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use toolwire::ProtocolVersion;
use toolwire_interop::Peer;

use super::guarded::Guard;
use super::{Scene, in_both_eras, start};

/// Longer than two logins take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_2_logs_in() {
    in_both_eras(&[], async |scene, version| {
        check(scene, Peer::TypeScript2, version).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typescript_1_logs_in() {
    // It knows one era.
    let provider = start(&[]);
    let scene = Scene::new(&provider, Guard::Signed).await;
    check(&scene, Peer::TypeScript1, ProtocolVersion::V2025_11_25).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_logs_in() {
    in_both_eras(&[], async |scene, version| {
        check(scene, Peer::Python, version).await;
    })
    .await;
}

async fn check(scene: &Scene<'_>, peer: Peer, version: ProtocolVersion) {
    let said = tokio::time::timeout(PATIENCE, run(scene, peer, version)).await;
    let said = said.expect("it ends in time");
    let client_id = scene.browser.asked_for("client_id").unwrap_or_default();
    let expected = [
        format!("said ann, {client_id}, notes:read"),
        "said written: a".to_owned(),
    ];
    assert_eq!(said, expected);
    let scopes = scene.browser.asked_for("scope").unwrap_or_default();
    assert!(scopes.contains("notes:read") && scopes.contains("notes:write"));
    assert_eq!(scene.browser.opened().len(), 2);
}

/// Opens what it wants to be opened; all else that it writes.
async fn run(scene: &Scene<'_>, peer: Peer, version: ProtocolVersion) -> Vec<String> {
    let command = peer.login(version.as_str(), &scene.server.url);
    let mut command = Command::from(command.expect("the peers are installed"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let output = child.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(output).lines();
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.expect("it is text") {
        match line.strip_prefix("open ") {
            Some(url) => drop(scene.browser.log_in(url).await),
            None => said.push(line),
        }
    }
    let status = child.wait().await.expect("it ends");
    assert!(status.success(), "{status}: {said:?}");
    said
}
