//! Records of `toolwire inspect` through its HTTP interface.

use std::time::Duration;

use serde_json::{Value, json};

use super::{DEMO, InspectCommand};
use crate::client::TempDirectory;
use crate::client::small_server::SmallServer;
#[cfg(unix)]
use crate::record::{RecordFile, against, check_same};

#[tokio::test]
async fn record_of_the_page_contains_headers_but_no_secrets() {
    let server = SmallServer::start(toolwire::Server::new("small", "1")).await;
    let secret = "canary-of-the-header";
    let header = format!("X-Key: {secret}");
    let command = InspectCommand::start(&[server.url(), "--header", &header]).await;
    let (status, state) = command.set_recording(true).await;
    assert_eq!((status, &state["record"]["running"]), (200, &json!(true)));
    let (status, error) = command.set_recording(true).await;
    assert_eq!(status, 400, "{error}");
    assert!(error.to_string().contains("stop it first"), "{error}");
    let password = "canary-of-the-password";
    let params = json!({"name": "any", "arguments": {"password": password}});
    let call = json!({"method": "tools/call", "params": params, "wait": true});
    command.request("POST", "/api/calls", Some(&call)).await;
    command.set_recording(false).await;
    let text = command.record().await;
    #[cfg(unix)]
    {
        let record = RecordFile::with_text("inspect-page", &text);
        let report = against(&record, &[server.url()], &["--yes", "--json"]).await;
        let report = report.json();
        // The call has a redacted argument, so it is not sent.
        let counts = (&report["different"], &report["skipped"]);
        assert_eq!(counts, (&json!(0), &json!(1)), "{report}");
    }
    for part in ["\"mcplog\"", "\"kind\":\"http\"", "tools/call"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    for canary in [secret, password] {
        assert!(!text.contains(canary), "{text}");
    }
}

#[tokio::test]
async fn record_option_records_every_connection() {
    let directory = TempDirectory::new("inspect-record");
    let file = directory.0.join("session.mcplog");
    let path = file.to_str().expect("UTF-8").to_owned();
    let command = InspectCommand::start(&[&["--record", &path][..], &DEMO].concat()).await;
    command.call("echo", json!({"text": "first"})).await;
    let era = json!({"era": "legacy"});
    command.request("PATCH", "/api/settings", Some(&era)).await;
    while command.get("/api/state").await["connection"]["number"] != 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    command.call("echo", json!({"text": "second"})).await;
    // A thread writes the file.
    let mut text = String::new();
    while !text.contains("second") || !text.ends_with('\n') {
        tokio::time::sleep(Duration::from_millis(20)).await;
        text = std::fs::read_to_string(&file).expect("a record");
    }
    let lines = text.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<Value> = lines.map(|line| line.expect("JSON")).collect();
    let connection_of = |argument: &str| {
        let found = lines
            .iter()
            .find(|line| line["body"]["params"]["arguments"]["text"] == argument);
        found.expect("a recorded call")["conn"].clone()
    };
    // Each call is recorded once.
    assert_eq!(text.matches("tools/call").count(), 2, "{text}");
    assert_eq!(connection_of("first"), 1);
    assert_eq!(connection_of("second"), 2);
    // Both connections replay, each in its era.
    #[cfg(unix)]
    {
        drop(command);
        let record = RecordFile::with_text("inspect-eras", &text);
        check_same(&record, &DEMO, "two eras").await;
    }
}

#[tokio::test]
async fn comparison_asks_before_it_calls_a_tool_that_may_change_something() {
    let command = InspectCommand::start(&DEMO).await;
    let compare = async |body: Value| command.request("POST", "/api/compare", Some(&body)).await;
    let (status, error) = compare(json!({})).await;
    assert_eq!(status, 400, "{error}");
    assert!(error.to_string().contains("start one first"), "{error}");
    let (status, error) = compare(json!({"record": "{}\n"})).await;
    assert_eq!(status, 400, "{error}");
    command.set_recording(true).await;
    command.call("bump", json!({})).await;
    command.set_recording(false).await;
    let (_, asked) = compare(json!({})).await;
    assert_eq!(asked, json!({"mayChange": ["bump"]}));
    let (_, report) = compare(json!({"mayChange": true})).await;
    assert_eq!(
        (&report["different"], &report["skipped"]),
        (&json!(0), &json!(0)),
        "{report}"
    );
    assert!(report["same"].as_u64() > Some(0), "{report}");
}

#[tokio::test]
async fn record_is_not_recorded_or_compared() {
    let directory = TempDirectory::new("inspect-opened");
    let header = json!({
        "format": "mcplog", "version": 1, "began": "", "tool": "", "redacted": [], "target": "stdio",
    });
    let stderr = json!({"t": 7, "conn": 2, "kind": "stderr", "text": "ready"});
    let file = directory.write("a.mcplog", &format!("{header}\n{stderr}\n"));
    let command = InspectCommand::start(&[&file]).await;
    let log = command.get("/api/log").await;
    assert_eq!(
        (&log[0]["text"], &log[0]["t"], &log[0]["conn"]),
        (&json!("ready"), &json!(7), &json!(2))
    );
    assert_eq!(command.get("/api/account").await, json!({"kind": "none"}));
    let (status, error) = command.set_recording(true).await;
    assert_eq!(status, 400, "{error}");
    let (status, error) = command
        .request("POST", "/api/compare", Some(&json!({})))
        .await;
    assert_eq!(status, 400, "{error}");
    assert!(
        error.to_string().contains("inspect the server instead"),
        "{error}"
    );
}
