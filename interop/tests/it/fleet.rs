//! Three nodes of `toolwire demo` that share an engine, behind a balancer that sends each request to another node.

use std::time::Duration;

use serde_json::json;
use tokio::time::{sleep, timeout};
use toolwire::{Client, ProtocolVersion};
use toolwire_interop::{Fleet, Peer, Wire};

use crate::clients::{expected, judge};

/// The timeout of what takes a few seconds at most.
const TIMEOUT: Duration = Duration::from_secs(60);

fn start(nodes: usize) -> Fleet {
    Fleet::start(nodes).unwrap_or_else(|problem| panic!("{problem}"))
}

fn check(peer: Peer, mode: &str) {
    let checks = peer
        .run_with_fleet(start(3), mode)
        .unwrap_or_else(|problem| panic!("{problem}"));
    let run = format!("{peer:?} in {mode} with three nodes");
    judge(&checks, expected(Wire::Http, mode), &run);
}

#[test]
fn typescript_2_uses_all_nodes_in_2026_07_28() {
    check(Peer::TypeScript2, "2026-07-28");
}

#[test]
fn typescript_2_uses_all_nodes_in_2025_11_25() {
    check(Peer::TypeScript2, "2025-11-25");
}

#[test]
fn python_uses_all_nodes_in_2025_11_25() {
    check(Peer::Python, "2025-11-25");
}

/// Calls a tool, and repeats a call that failed because of the fault of the test. Returns the number of failures.
async fn call(client: &Client, number: u32) -> u32 {
    let mut failures = 0;
    let called = async {
        loop {
            let call = client.call_tool("add", json!({"a": number, "b": 1})).await;
            match call {
                Ok(result) => {
                    assert!(result.all_text().contains(&(number + 1).to_string()));
                    return;
                }
                Err(_) => {
                    failures += 1;
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
    };
    let called = timeout(TIMEOUT, called).await;
    called.unwrap_or_else(|_| panic!("call {number} got no result"));
    failures
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_survive_lost_nodes_and_a_restart_of_the_engine() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let mut fleet = start(3);
        let builder = Client::builder("desk", "1.0.0").with_versions([version]);
        let client = builder.connect(&fleet.url()).await.unwrap();
        for number in 0..6 {
            assert_eq!(call(&client, number).await, 0, "{version}");
        }
        fleet.kill_node(0);
        for number in 6..12 {
            assert_eq!(
                call(&client, number).await,
                0,
                "{version}: a dead node gets no request"
            );
        }
        fleet
            .add_node()
            .unwrap_or_else(|problem| panic!("{problem}"));
        fleet
            .restart_engine()
            .unwrap_or_else(|problem| panic!("{problem}"));
        for number in 12..24 {
            let failures = call(&client, number).await;
            if version == ProtocolVersion::V2026_07_28 {
                assert_eq!(failures, 0, "these calls need no store");
            }
        }
        client.close().await;
    }
}
