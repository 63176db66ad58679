//! `toolwire replay --against`: a server compared with a record.

use serde_json::json;
use toolwire::{CallToolResult, Elicit, RequestContext, Server, ToolError, tool};

use crate::client::fake_http::FakeHttp;
use crate::client::run;
use crate::client::small_server::SmallServer;
#[cfg(target_os = "linux")]
use crate::client::terminal::run_at_terminal;
use crate::http::HttpDemo;
#[cfg(target_os = "linux")]
use crate::process::toolwire;
use crate::record::secrets::{JWT, log_in};
use crate::record::{
    CALLS, RecordFile, TASK_CALL, against, check_same, demo, record_call, record_unchecked,
};

/// Returns the time.
#[tool(read_only)]
async fn clock() -> CallToolResult {
    let since_epoch = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970");
    let time = format!("2026-11-18T10:00:00.{:09}Z", since_epoch.subsec_nanos());
    let structured = json!({ "time": time });
    let mut result = CallToolResult::text(structured.to_string());
    result.structured_content = Some(structured.into());
    result
}

#[derive(Debug, serde::Deserialize, Elicit)]
struct Confirmation {
    confirmed: bool,
}

/// Asks with a text that has a secret.
#[tool(read_only)]
async fn confirm(ctx: &RequestContext) -> Result<String, ToolError> {
    let question = format!("Use {JWT}?");
    let Confirmation { confirmed } = ctx.ask("confirmation", question).await?;
    Ok(format!("confirmed: {confirmed}"))
}

/// A server with several pages of tools. Its cursors differ between two processes.
fn small_server() -> Server {
    Server::new("small", "1.0.0")
        .with_page_size(1)
        .tool(clock)
        .tool(confirm)
        .tool(log_in)
}

/// The calls of the small server.
const SMALL_CALLS: [&[&str]; 3] = [
    &["tools"],
    &["call", "clock"],
    &["call", "confirm", "--answer", "confirmed=yes"],
];

#[tokio::test]
async fn records_replay_without_a_difference() {
    let http_demo = HttpDemo::start(&[]).await;
    let (demo_url, demo_command) = (http_demo.url(), demo());
    let recorded = SmallServer::start(small_server()).await;
    // Another server with the same tools, whose states and cursors are its own.
    let other = SmallServer::start(small_server()).await;
    let stdio: (&[&str], &[&str]) = (&demo_command, &demo_command);
    let http: (&[&str], &[&str]) = (&[&demo_url], &[&demo_url]);
    let small: (&[&str], &[&str]) = (&[recorded.url()], &[other.url()]);
    let demo_calls = [&CALLS[..], &[TASK_CALL]].concat();
    for ((server, compared), calls) in [
        (stdio, &demo_calls[..]),
        (http, &demo_calls[..]),
        (small, &SMALL_CALLS[..]),
    ] {
        for era in ["modern", "legacy"] {
            for call in calls {
                let case = format!("{server:?} {era} {call:?}");
                let record = if server == compared {
                    record_call(call, era, server).await
                } else {
                    let record = record_unchecked(call, era, server).await;
                    check_same(&record, compared, &case).await;
                    record
                };
                let has_http = record.text().contains(r#""kind":"http""#);
                assert_eq!(has_http, server.len() == 1, "{case}");
            }
        }
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
    // The names are in one line, whatever the record says.
    record
        .change(|line| Some(line.replace(r#""name":"fail""#, r#""name":"fail\ntoolwire: done""#)));
    let text = against(&record, &demo(), &[]).await.failed(2);
    assert!(text.contains("fail\u{fffd}toolwire: done"), "{text}");
    // A read-only tool needs none.
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    against(&record, &demo(), &[]).await.ok();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn user_is_asked_before_tools_are_called_again() {
    let record = record_call(&["call", "fail", "message=no"], "modern", &demo()).await;
    for (typed, code, outcome) in [("y", 0, "same       tools/call fail\n"), ("n", 2, "")] {
        let mut command = toolwire(&["replay", &record.name(), "--against"]);
        command.args(demo());
        let script = [("change something: fail. Call them again? [y/N] ", typed)];
        let output = run_at_terminal(command, &script).await;
        assert_eq!(output.code, Some(code), "{output:?}");
        assert!(output.stdout.contains(outcome), "{output:?}");
    }
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
async fn redirect_to_another_host_is_not_followed() {
    let other = FakeHttp::silent().await;
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        other.url()
    );
    let server = FakeHttp::responding(&redirect).await;
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    let output = against(&record, &[&server.url()], &["--yes", "--timeout", "5s"]).await;
    assert_ne!(output.code, Some(0), "{output:?}");
    assert!(server.request_count() > 0);
    assert_eq!(other.request_count(), 0);
}

#[tokio::test]
async fn unexpected_request_of_the_server_is_reported_without_secrets() {
    let server = SmallServer::start(small_server()).await;
    let url = [server.url()];
    let call = ["call", "confirm", "--answer", "confirmed=yes"];
    let record = record_call(&call, "legacy", &url).await;
    assert!(!record.text().contains(JWT));
    // As if the server had not asked.
    record.change(|line| {
        let is_input = line.contains("elicitation/create") && line.contains(r#""dir":"in""#)
            || line.contains(r#""action":"accept""#);
        (!is_input).then(|| line.to_owned())
    });
    let output = against(&record, &url, &["--timeout", "5s"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.stdout.contains("a request of the server"),
        "{output:?}"
    );
    assert!(output.stdout.contains("[redacted "), "{output:?}");
    assert!(!output.stdout.contains(JWT), "{output:?}");
}
