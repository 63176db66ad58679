//! The inside view: what a server that is written with toolwire reports about its exchanges.

use std::time::Duration;

use serde_json::{Value, json};

use super::{DEMO, InspectCommand};
use crate::client::{run, run_command};
use crate::http::HttpDemo;
use crate::process::{toolwire, within};

/// The beginning of a report on standard error.
const MARKER: &str = "toolwire-inspection: ";

/// Requests something until it has the expected form.
async fn until(
    page: &InspectCommand,
    path: &str,
    is_expected: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    within(async {
        loop {
            let value = page.get(path).await;
            let entries = value.as_array().expect("a list");
            if is_expected(entries) {
                return entries.clone();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

/// Waits until the server has announced its reports.
pub(crate) async fn until_announced(page: &InspectCommand) {
    let is_announcement =
        |entry: &Value| entry["text"] == "the server reports what happens inside of it";
    until(page, "/api/log", |log| log.iter().any(is_announcement)).await;
}

/// Returns the only report of a call of the page.
pub(crate) async fn report_of(page: &InspectCommand, outcome: &Value) -> Value {
    let path = format!("/api/calls/{}/inside", outcome["id"]);
    let reports = until(page, &path, |reports| !reports.is_empty()).await;
    assert_eq!(reports.len(), 1, "{reports:?}");
    reports[0].clone()
}

#[tokio::test]
async fn calls_of_the_page_have_reports_in_both_eras() {
    for era in ["modern", "legacy"] {
        let page = InspectCommand::start(&[&["--era", era][..], &DEMO].concat()).await;
        until_announced(&page).await;
        let (status, _) = page.set_recording(true).await;
        assert_eq!(status, 200);
        let outcome = page.call("add", json!({"a": 40, "b": 2})).await;
        let report = report_of(&page, &outcome).await;
        assert_eq!(report["method"], "tools/call");
        assert_eq!(
            (&report["name"], &report["outcome"]),
            (&json!("add"), &json!("ok"))
        );
        let spans = report["spans"].as_array().expect("spans");
        assert_eq!(spans.last().expect("a span")["kind"], "handler", "{report}");
        assert_eq!(report["load"]["running"], 1);
        assert!(report.get("rejected").is_none(), "{report}");

        let outcome = page.call("add", json!({"a": "secret", "b": 2})).await;
        assert_eq!(outcome["failed"], true);
        let report = report_of(&page, &outcome).await;
        let rejected = json!({"what": "arguments", "paths": ["arguments.a"]});
        assert_eq!(report["rejected"], rejected);
        assert!(!report.to_string().contains("secret"), "{report}");

        // The reports are in the log, and not in the standard error that it shows.
        let is_call = |entry: &Value| entry["kind"] == "inside" && entry["method"] == "tools/call";
        let log = until(&page, "/api/log", |log| {
            log.iter().filter(|entry| is_call(entry)).count() == 2
        })
        .await;
        let is_stderr = |entry: &&Value| entry["kind"] == "stderr";
        let mut lines = log.iter().filter(is_stderr);
        assert!(!lines.any(|line| {
            line["text"]
                .as_str()
                .is_some_and(|text| text.contains(MARKER))
        }));
        assert!(!page.record().await.contains(MARKER));
        let unknown = page.request("GET", "/api/calls/999/inside", None).await;
        assert_eq!(unknown.0, 404);
    }
}

#[tokio::test]
async fn variable_of_the_user_switches_reports_off() {
    let off = ["--env", "TOOLWIRE_INSPECTION=0"];
    let page = InspectCommand::start(&[&off[..], &DEMO].concat()).await;
    let outcome = page.call("add", json!({"a": 1, "b": 2})).await;
    let reports = page
        .get(&format!("/api/calls/{}/inside", outcome["id"]))
        .await;
    assert_eq!(reports, json!([]));
    let log = page.get("/api/log").await;
    assert!(!log.to_string().contains("toolwire/call"), "{log}");
}

#[tokio::test]
async fn server_over_http_reports_nothing() {
    for value in [None, Some("1")] {
        let mut command = toolwire(&["demo", "--http", "127.0.0.1:0"]);
        if let Some(value) = value {
            command.env("TOOLWIRE_INSPECTION", value);
        }
        let server = HttpDemo::start_command(command).await;
        let url = server.url();
        for era in ["modern", "legacy"] {
            let call = ["call", &url, "add", "a=1", "b=2", "--era", era, "--verbose"];
            let output = run(&call).await;
            assert_eq!(output.code, Some(0), "{output:?}");
            assert!(
                !format!("{output:?}").contains("toolwire-inspection"),
                "{output:?}"
            );
        }
        let stderr = server.killed().await;
        assert!(!stderr.contains(MARKER), "{stderr}");
    }
}

#[tokio::test]
async fn call_shows_the_inside() {
    let call = |words: &[&str]| {
        let words = [&["call", "--inside"], words, &DEMO].concat();
        run_command(toolwire(&words))
    };
    let output = call(&["add", "a=1", "b=2", "--json"]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let result: Value = serde_json::from_str(&output.stdout).expect("only the result");
    assert_eq!(result["structuredContent"]["sum"], 3);
    let report: Value = serde_json::from_str(&output.stderr).expect("only the report");
    assert_eq!(
        (&report["name"], &report["outcome"]),
        (&json!("add"), &json!("ok"))
    );

    let output = call(&["add", "a=1", "b=2"]).await;
    let beginning = "inside tools/call add: ok, ";
    assert!(output.stderr.starts_with(beginning), "{output:?}");
    assert!(output.stderr.contains("  handler\n"), "{output:?}");
    assert!(!output.stdout.contains("inside"), "{output:?}");

    let address = ["call", "--inside", "http://127.0.0.1:1/mcp", "add"];
    let message = run(&address).await.failed(2);
    assert!(message.contains("--inside needs a command"), "{message}");
}
