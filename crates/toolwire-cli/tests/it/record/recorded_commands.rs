//! What each command records.

use serde_json::json;

use crate::client::fake_http::FakeHttp;
use crate::client::{run, run_command};
use crate::http::HttpDemo;
use crate::inspect::InspectCommand;
use crate::process::toolwire;
use crate::record::{PROGRAM, RecordFile, SUM, check_same, demo, record_call};

#[tokio::test]
async fn record_of_a_proxy_replays_without_a_difference() {
    for era in ["modern", "legacy"] {
        let record = RecordFile::new("proxied");
        let name = record.name();
        let mut command = toolwire(&["call", "add", "a=1", "b=2", "--era", era]);
        command.args(["--", PROGRAM, "record", &name]);
        command.args(demo());
        assert_eq!(run_command(command).await.ok(), SUM);
        check_same(&record, &demo(), era).await;
    }
}

#[tokio::test]
async fn record_of_a_gateway_replays_without_a_difference() {
    let record = RecordFile::new("gateway");
    let config = format!(
        "listen = \"127.0.0.1:0\"\n[upstream.demo]\ncommand = [{PROGRAM:?}, \"demo\", \"--stdio\"]\n"
    );
    let config = record.directory.write("gateway.toml", &config);
    let gateway = toolwire(&["gateway", "--config", &config, "--record", &record.name()]);
    let gateway = HttpDemo::start_command(gateway).await;
    for era in ["modern", "legacy"] {
        let url = gateway.url();
        let call = ["call", &url, "demo_add", "a=1", "b=2", "--era", era];
        assert_eq!(run(&call).await.ok(), SUM);
    }
    let text = record.text_with(r#""sum":3"#).await;
    drop(gateway);
    assert!(
        text.contains(r#""kind":"connection","server":"demo""#),
        "{text}"
    );
    check_same(&record, &demo(), "gateway").await;
}

#[tokio::test]
async fn record_of_the_inspector_replays_without_a_difference() {
    let record = RecordFile::new("inspected");
    let name = record.name();
    let arguments = [&["--record", &name][..], &demo()].concat();
    let inspect = InspectCommand::start(&arguments).await;
    let outcome = inspect.call("add", json!({"a": 1, "b": 2})).await;
    assert_eq!(
        outcome["result"]["structuredContent"],
        json!({"sum": 3}),
        "{outcome}"
    );
    // The log of the page has the messages, too.
    let log = inspect.get("/api/log").await;
    assert!(log.to_string().contains("tools/call"), "{log}");
    record.text_with(r#""sum":3"#).await;
    drop(inspect);
    check_same(&record, &demo(), "inspect").await;
}

#[tokio::test]
async fn existing_record_is_not_overwritten() {
    let record = record_call(&["ping"], "modern", &demo()).await;
    let before = record.text();
    let mut command = toolwire(&["ping", "--record", &record.name()]);
    command.args(demo());
    let text = run_command(command).await.failed(2);
    assert!(text.contains("cannot be created"), "{text}");
    assert_eq!(record.text(), before);
}

#[tokio::test]
async fn rejected_connection_is_recorded() {
    let server = FakeHttp::responding("HTTP/1.1 503 Service Unavailable\r\n\r\n").await;
    let record = RecordFile::new("rejected");
    let url = server.url();
    let output = run(&["ping", &url, "--record", &record.name()]).await;
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(
        record.text().contains(r#""status":503"#),
        "{}",
        record.text()
    );
}

#[tokio::test]
async fn failed_connection_leaves_no_empty_record() {
    let record = RecordFile::new("failed");
    let name = record.name();
    let failed = ["call", "add", "--record", &name, "--", "no-such-program"];
    run(&failed).await.failed(3);
    assert!(!record.path().exists());
    // So the next attempt succeeds.
    let mut command = toolwire(&["ping", "--record", &name]);
    command.args(demo());
    run_command(command).await.ok();
    assert!(record.path().exists());
}
