//! `toolwire doctor`.

use toolwire_tests::engine::{Engine, IN_MEMORY, PERSISTENT};

use crate::client::run;

fn start(arguments: &[&str]) -> Engine {
    Engine::start(arguments).unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn suitable_engine_is_reported_with_its_round_trip() {
    let engine = start(&PERSISTENT);
    let report = run(&["doctor", "redis", &engine.url()]).await.ok();
    assert!(report.starts_with("the engine can be used\n"), "{report}");
    assert!(!report.contains("warning"), "{report}");
    assert!(report.contains("round trip: "), "{report}");
    let output = run(&["doctor", "redis", &engine.url(), "--json"]).await;
    let report = output.json();
    assert_eq!(report["warnings"], serde_json::json!([]));
    assert!(report["roundTripMicros"].is_u64(), "{report}");
}

#[tokio::test]
async fn doctor_is_not_a_node_of_the_service() {
    let engine = start(&PERSISTENT);
    let url = engine.url();
    run(&["doctor", "redis", &url, "--service", "orders"])
        .await
        .ok();
    // Otherwise the next node would compare its keys with those of the doctor.
    assert_eq!(engine.command("EXISTS tw:orders:nodes").unwrap(), "0");
    assert_eq!(engine.command("DBSIZE").unwrap(), "0");
}

#[tokio::test]
async fn risks_are_reported_with_their_remedies() {
    let engine = start(&IN_MEMORY);
    let report = run(&["doctor", "redis", &engine.url()]).await.ok();
    assert!(
        report.contains("warning: the engine has neither"),
        "{report}"
    );
    assert!(report.contains("set `appendonly yes`"), "{report}");
}

#[tokio::test]
async fn faults_have_exit_codes() {
    let evicting = start(&["--maxmemory-policy", "allkeys-lru"]);
    let output = run(&["doctor", "redis", &evicting.url()]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("set it to noeviction"), "{output:?}");

    let output = run(&["doctor", "redis", "redis+unix:///nonexistent/socket"]).await;
    assert_eq!(output.code, Some(3), "{output:?}");
    let output = run(&["doctor", "redis", "http://localhost"]).await;
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("redis://host:port"), "{output:?}");

    // The user may use all commands and the keys, but no channel.
    let user = ["default", "on", "nopass", "+@all", "~*", "resetchannels"];
    let silent = start(&[&["--user"], &user[..]].concat());
    let output = run(&["doctor", "redis", &silent.url()]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    for text in ["nodes cannot hear each other", "NoPerm"] {
        assert!(output.stderr.contains(text), "{output:?}");
    }
}
