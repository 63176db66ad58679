//! `toolwire replay --against`: a server compared with a record.

use crate::client::fake_http::FakeHttp;
use crate::client::{CommandOutput, run, run_command};
use crate::http::HttpDemo;
use crate::process::toolwire;
use crate::record::{CALLS, RecordFile, add_command, demo, record_call};

async fn against(record: &RecordFile, server: &[&str], more: &[&str]) -> CommandOutput {
    let mut command = toolwire(&["replay", &record.name(), "--against"]);
    if let [url] = server {
        command.arg(url);
    }
    command.args(more);
    add_command(&mut command, server);
    run_command(command).await
}

#[tokio::test]
async fn record_of_a_command_replays_without_a_difference() {
    for era in ["modern", "legacy"] {
        for call in CALLS {
            let record = record_call(call, era, &demo()).await;
            let output = against(&record, &demo(), &["--yes"]).await;
            assert_eq!(output.code, Some(0), "{era} {call:?} {output:?}");
            let last = output.stdout.lines().last().unwrap_or_default();
            assert!(
                last.ends_with(" same, 0 different, 0 skipped"),
                "{output:?}"
            );
            assert!(!last.starts_with('0'), "{output:?}");
        }
    }
}

#[tokio::test]
async fn record_of_an_address_replays_without_a_difference() {
    let demo = HttpDemo::start(&[]).await;
    let url = demo.url();
    for era in ["modern", "legacy"] {
        for call in CALLS {
            let record = record_call(call, era, &[&url]).await;
            let output = against(&record, &[&url], &["--yes"]).await;
            assert_eq!(output.code, Some(0), "{era} {call:?} {output:?}");
            assert!(record.text().contains(r#""kind":"http""#));
        }
    }
}

#[tokio::test]
async fn record_of_a_proxy_replays_without_a_difference() {
    for era in ["modern", "legacy"] {
        let record = RecordFile::new("proxied");
        let name = record.name();
        let mut command = toolwire(&["call", "add", "a=1", "b=2", "--era", era]);
        command.args(["--", crate::record::PROGRAM, "record", &name]);
        command.args(demo());
        assert_eq!(run_command(command).await.ok(), crate::record::SUM);
        against(&record, &demo(), &[]).await.ok();
    }
}

#[tokio::test]
async fn differences_are_reported_in_three_forms() {
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    let changed = record.text().replace("\"sum\":3", "\"sum\":4");
    std::fs::write(record.path(), changed).expect("the record is writable");
    let output = against(&record, &demo(), &[]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let expected = "  /result/structuredContent/sum\n    - 4\n    + 3\n";
    assert!(output.stdout.contains(expected), "{output:?}");

    let junit = record.directory.0.join("report.xml").display().to_string();
    let output = against(&record, &demo(), &["--json", "--junit", &junit]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let report: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(report["different"], 1, "{report}");
    let junit = std::fs::read_to_string(junit).expect("the file was written");
    assert!(junit.contains("failures=\"1\""), "{junit}");

    let ignored = [
        "--ignore",
        "/result/structuredContent",
        "--ignore",
        "/result/content/*/text",
    ];
    against(&record, &demo(), &ignored).await.ok();
}

#[tokio::test]
async fn tools_that_may_change_something_need_a_permission() {
    let record = record_call(&["call", "fail", "message=no"], "modern", &demo()).await;
    let text = against(&record, &demo(), &[]).await.failed(2);
    assert!(
        text.contains("tools that may change something: fail"),
        "{text}"
    );
    assert!(text.contains("--yes"), "{text}");
    // A read-only tool needs none.
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    against(&record, &demo(), &[]).await.ok();
}

#[tokio::test]
async fn invalid_records_and_options_are_usage_errors() {
    let record = RecordFile::new("invalid");
    std::fs::write(record.path(), "{}\n").expect("the directory is writable");
    let text = run(&["replay", &record.name()]).await.failed(2);
    assert!(text.contains("it is not a record"), "{text}");
    let text = run(&["replay", "no-such.mcplog"]).await.failed(2);
    assert!(text.contains("no-such.mcplog"), "{text}");
    let record = record_call(&["ping"], "modern", &demo()).await;
    let text = against(&record, &demo(), &["--ignore", "result"]).await;
    assert!(text.failed(2).contains("JSON pointer"));
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
