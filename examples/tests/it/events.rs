//! The example with events: `build_alerts`.

use serde_json::json;

use crate::client::{Client, Revision};

#[tokio::test]
async fn events_are_polled_and_streamed() {
    let mut client = Client::start("build_alerts", Revision::Newest).await;
    let listed = client.ask("events/list", json!({})).await;
    assert_eq!(listed["events"][0]["name"], "build.finished");
    assert_eq!(listed["events"][1]["name"], "note.written");

    let main_only = json!({"name": "build.finished", "arguments": {"branch": "main"}});
    let start = client.ask("events/poll", main_only.clone()).await;
    for branch in ["other", "main"] {
        client.call("build", json!({"branch": branch})).await;
    }
    let mut rest = main_only;
    rest["cursor"] = start["cursor"].clone();
    let polled = client.ask("events/poll", rest).await;
    let builds = polled["events"].as_array().unwrap();
    assert_eq!(builds.len(), 1, "{polled}");
    assert_eq!(builds[0]["eventId"], "build-2");
    assert_eq!(builds[0]["data"], json!({"number": 2, "branch": "main"}));

    client
        .begin("events/stream", json!({"name": "note.written"}))
        .await;
    client.notification("notifications/events/active").await;
    client.call("write", json!({"text": "buy milk"})).await;
    let written = client.notification("notifications/events/event").await;
    let number = &written["data"]["number"];
    assert_eq!(
        client.call_text("read", json!({"number": number})).await,
        "buy milk"
    );
    client.end().await;
}

#[tokio::test]
async fn older_clients_have_no_events() {
    let mut client = Client::start("build_alerts", Revision::Legacy).await;
    let error = client.expect_error("events/list", json!({})).await;
    assert_eq!(error["code"], -32601);
    client.end().await;
}
