//! Programs that are built and do not start.

use serde_json::{Value, json};

use super::project::{Project, start_command_with_client, until_build, until_connected};
use crate::inspect::InspectCommand;
use crate::process::{Demo, Era};

/// A program that ends at once.
const EXITING: &str = "echo 'no such library' >&2\nexit 3\n";

/// A program that responds to no request.
const SILENT: &str = "echo 'waiting for a database' >&2\nwhile read -r line; do :; done\n";

/// Starts the script server. A program that responds to no request fails after a few seconds.
async fn start(project: &Project, era: Era) -> (Demo, InspectCommand) {
    let options = ["--timeout", "5s", "--build", "sh build.sh"];
    let arguments = [&options[..], &["--", "sh", "built.sh"]].concat();
    start_command_with_client(project, era, &arguments).await
}

/// Waits until the start of a build has failed, and checks that the page and the terminal say why.
async fn expect_failed_start(
    project: &Project,
    page: &InspectCommand,
    number: u64,
    reasons: &[&str],
) {
    let is_failed = |build: &Value| build["phase"] == "failed" && build["number"] == number;
    let build = until_build(page, is_failed).await;
    let error = build["error"].as_str().expect("a reason");
    assert!(error.starts_with("the server did not start: "), "{error}");
    for reason in reasons {
        assert!(error.contains(reason), "{error}");
    }
    // The build itself succeeded.
    assert!(build.get("output").is_none(), "{build}");
    let line = format!("toolwire: {error}\n");
    project.until_contains("stderr", &line).await;
}

/// Replaces a working server by a program that does not start, and by one that does.
async fn last_server_stays(era: Era, program: &str, reasons: &[&str]) {
    let project = Project::new();
    let (mut client, page) = start(&project, era).await;
    until_connected(&page).await;
    assert_first_responds(&mut client, &page).await;
    project.write("src/server.sh", program);
    expect_failed_start(&project, &page, 2, reasons).await;
    // Clients of later revisions get no messages outside of requests.
    if era == Era::Legacy {
        let is_log = |message: &Value| message["method"] == "notifications/message";
        let log = client.next_unsolicited(is_log).await;
        let text = log["params"]["data"].as_str().expect("a text");
        assert!(text.contains(reasons[0]), "{text}");
    }
    assert_first_responds(&mut client, &page).await;
    assert!(!client.unsolicited.iter().any(is_list_change));

    project.write_server("second", "");
    let is_running = |build: &Value| build["phase"] == "running";
    let build = until_build(&page, is_running).await;
    assert_eq!(build, json!({"number": 3, "phase": "running"}));
    assert_eq!(client.call_text("second", json!({})).await, "second");
}

/// Calls the first server as both clients. Each of them keeps its process for later calls.
async fn assert_first_responds(client: &mut Demo, page: &InspectCommand) {
    assert_eq!(client.call_text("first", json!({})).await, "first");
    let outcome = page.call("first", json!({})).await;
    let text = &outcome["result"]["content"][0]["text"];
    assert_eq!(text, "first", "{outcome}");
}

fn is_list_change(message: &Value) -> bool {
    let method = message["method"].as_str();
    method.is_some_and(|method| method.ends_with("/list_changed"))
}

#[tokio::test]
async fn last_server_stays_if_the_next_one_exits_at_once() {
    for era in Era::BOTH {
        last_server_stays(era, EXITING, &["no such library", "exit code 3"]).await;
    }
}

#[tokio::test]
async fn last_server_stays_if_the_next_one_never_responds() {
    let check = async |era| {
        let reasons = ["waiting for a database", "no response within the timeout"];
        last_server_stays(era, SILENT, &reasons).await;
    };
    // Each of them waits for the timeout.
    tokio::join!(check(Era::Modern), check(Era::Legacy));
}

#[tokio::test]
async fn clients_of_a_first_server_that_does_not_start_get_the_next_one() {
    for era in Era::BOTH {
        let project = Project::new();
        project.write("src/server.sh", EXITING);
        let (mut client, page) = start(&project, era).await;
        expect_failed_start(&project, &page, 1, &["no such library", "exit code 3"]).await;
        project.write_server("second", "");
        let is_running = |build: &Value| build["phase"] == "running";
        let build = until_build(&page, is_running).await;
        assert_eq!(build, json!({"number": 2, "phase": "running"}));
        assert_eq!(client.call_text("second", json!({})).await, "second");
    }
}
