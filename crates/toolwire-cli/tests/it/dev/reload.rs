//! A changed, a broken and a mended server, with a client on stdio and the page.

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::project::{Project, start_with_client, until_build, until_connected};
use crate::client::run_command;
use crate::process::{Demo, Era, toolwire, within};

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

async fn tools(client: &mut Demo) -> Vec<String> {
    let response = client.ask("tools/list", json!({})).await;
    let tools = response["result"]["tools"].as_array().expect("a list");
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

/// Waits for the notification about a changed list of tools.
async fn until_changed(client: &mut Demo) {
    let is_change = |message: &Value| message["method"] == TOOLS_CHANGED;
    client.next_unsolicited(is_change).await;
}

/// How long a client may wait for a changed server after the end of its build.
const SERVED_AFTER_BUILD: Duration = Duration::from_secs(2);

/// Fails if the last build ended too long ago. On a loaded machine, a plain start of the server is slow, too, so the
/// limit is at least as long as some of them.
async fn assert_served_in_time(project: &Project) {
    let built = std::fs::metadata(project.path.join("built.sh")).and_then(|file| file.modified());
    let since_build = SystemTime::now().duration_since(built.expect("a program"));
    let since_build = since_build.unwrap_or_default();
    let start = Instant::now();
    let mut plain = toolwire(&["tools", "--", "sh", "built.sh"]);
    plain.current_dir(&project.path);
    run_command(plain).await.ok();
    let limit = SERVED_AFTER_BUILD.max(5 * start.elapsed());
    assert!(since_build < limit, "{since_build:?}, {limit:?}");
}

/// Lets a modern client listen to changes. Legacy clients need no request.
async fn listen(client: &mut Demo) {
    if client.era() == Era::Modern {
        let filter = json!({"notifications": {"toolsListChanged": true}});
        client.request("subscriptions/listen", filter).await;
        let is_accepted =
            |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
        client.next_unsolicited(is_accepted).await;
    }
}

#[tokio::test]
async fn client_stays_connected_while_its_server_changes() {
    for era in Era::BOTH {
        let project = Project::new();
        let (mut client, page) = start_with_client(&project, era).await;
        assert_eq!(tools(&mut client).await, ["first", "wait", "ask"]);
        listen(&mut client).await;
        let waiting = client.start_call("wait", json!({})).await;
        project.until_contains("waiting", "\n").await;

        project.write_server("second", "");
        until_changed(&mut client).await;
        assert_eq!(tools(&mut client).await, ["second", "wait", "ask"]);
        assert_served_in_time(&project).await;
        assert_eq!(client.call_text("second", json!({})).await, "second");

        // A broken build leaves the last good server.
        project.write_server("third", "broken");
        let build = until_build(&page, |build| build["phase"] == "failed").await;
        assert_eq!(build["command"], "sh build.sh");
        let output = build["output"].as_str().expect("the output");
        assert_eq!(
            output,
            "error: the tool is \u{fffd}]0;title\u{fffd}broken\n"
        );
        if era == Era::Legacy {
            let is_log = |message: &Value| message["method"] == "notifications/message";
            let log = client.next_unsolicited(is_log).await;
            assert_eq!(log["params"]["logger"], "toolwire dev");
            let text = log["params"]["data"].as_str().expect("a text");
            assert!(text.contains("error: the tool is"), "{text}");
        }
        assert_eq!(client.call_text("second", json!({})).await, "second");

        // Lists that are the same are not announced.
        let number = build["number"].as_u64().expect("a number");
        project.write_server("second", "mended");
        let is_next =
            |build: &Value| build["phase"] == "running" && build["number"].as_u64() > Some(number);
        until_build(&page, is_next).await;
        assert_eq!(tools(&mut client).await, ["second", "wait", "ask"]);
        assert_served_in_time(&project).await;
        let mut changes = client.unsolicited.iter();
        assert!(!changes.any(|message| message["method"] == TOOLS_CHANGED));

        // The call that ran all the time ends on the first server.
        project.write("go", "");
        let ended = client.response(waiting).await;
        assert_eq!(ended["result"]["content"][0]["text"], "first", "{ended}");

        project.write_server("third", "");
        until_changed(&mut client).await;
        assert_eq!(tools(&mut client).await, ["third", "wait", "ask"]);
        assert_served_in_time(&project).await;
        until_connected(&page).await;
        let shown = page.get("/api/lists/tools").await;
        assert_eq!(shown["items"][0]["name"], "third", "{shown}");
        let ended = client.end().await;
        assert!(ended.status.success(), "{:?}", ended.status);
        assert_terminal_is_safe(&project.read("stderr"));
    }
}

/// Fails unless the output has the lines of the build and of the server, without their control characters.
fn assert_terminal_is_safe(stderr: &str) {
    for line in ["error: the tool is", "called second"] {
        assert!(stderr.contains(line), "{stderr}");
    }
    let is_unsafe = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!stderr.contains(is_unsafe), "{stderr:?}");
}

#[tokio::test]
async fn new_server_gets_the_capabilities_of_the_client() {
    for era in Era::BOTH {
        let project = Project::new();
        let (mut client, _page) = start_with_client(&project, era).await;
        listen(&mut client).await;
        for tool in ["first", "second"] {
            if tool == "second" {
                project.write_server(tool, "");
                until_changed(&mut client).await;
            }
            let accept = json!({"action": "accept", "content": {"go": true}});
            let response = client.call_with_input("ask", json!({}), accept).await;
            let text = &response["result"]["content"][0]["text"];
            assert_eq!(*text, format!("{tool} accepted"), "{era:?}: {response}");
        }
    }
}

/// Subscribes to the resource of the server.
async fn subscribe(client: &mut Demo) {
    const URI: &str = "note:///1";
    if client.era() == Era::Legacy {
        let subscribed = client.ask("resources/subscribe", json!({"uri": URI})).await;
        assert!(subscribed.get("error").is_none(), "{subscribed}");
        return;
    }
    let filter = json!({"notifications": {"resourceSubscriptions": [URI]}});
    client.request("subscriptions/listen", filter).await;
    let is_accepted =
        |message: &Value| message["method"] == "notifications/subscriptions/acknowledged";
    client.next_unsolicited(is_accepted).await;
}

#[tokio::test]
async fn subscriptions_are_made_again_at_the_new_server() {
    for era in Era::BOTH {
        let project = Project::new();
        let (mut client, _page) = start_with_client(&project, era).await;
        subscribe(&mut client).await;
        project.until_contains("subscriptions", "first").await;
        project.write_server("second", "");
        // The content of the resource may differ at the new server.
        let is_update = |message: &Value| message["method"] == "notifications/resources/updated";
        let updated = client.next_unsolicited(is_update).await;
        assert_eq!(updated["params"]["uri"], "note:///1", "{era:?}");
        project.until_contains("subscriptions", "second").await;
    }
}

#[tokio::test]
async fn record_of_the_page_contains_standard_error() {
    let project = Project::new();
    let (mut client, page) = start_with_client(&project, Era::Modern).await;
    until_connected(&page).await;
    page.set_recording(true).await;
    assert_eq!(client.call_text("first", json!({})).await, "first");
    // The line may arrive after the response.
    within(async {
        while !page.record().await.contains("called first") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let record = page.record().await;
    let line = record.lines().find(|line| line.contains("called first"));
    let line: Value = serde_json::from_str(line.expect("a line")).expect("JSON");
    assert_eq!(line["kind"], "stderr", "{line}");
    // What the page sends replays at the server that it developed.
    page.call("first", json!({})).await;
    page.set_recording(false).await;
    let may_change = json!({"mayChange": true});
    let compared = page.request("POST", "/api/compare", Some(&may_change));
    let (_, report) = compared.await;
    let counts = (&report["different"], &report["skipped"]);
    assert_eq!(counts, (&json!(0), &json!(0)), "{report}");
    assert!(report["same"].as_u64() > Some(1), "{report}");
}

#[tokio::test]
async fn server_that_ends_by_itself_is_started_again() {
    let project = Project::new();
    let (mut client, page) = start_with_client(&project, Era::Modern).await;
    assert_eq!(client.call_text("first", json!({})).await, "first");
    until_connected(&page).await;
    let processes = project.read("processes");
    let status = std::process::Command::new("kill")
        .args(processes.split_whitespace())
        .status();
    assert!(status.is_ok());
    // Calls may fail until another process responds. The states between are too short to be observed.
    within(async {
        loop {
            let call = client.start_call("first", json!({})).await;
            let response = client.response(call).await;
            let is_answered = response["result"]["content"][0]["text"] == "first";
            if is_answered && project.read("processes") != processes {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}
