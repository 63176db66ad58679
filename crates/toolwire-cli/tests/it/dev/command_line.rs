//! What is served, and invalid command lines.

use serde_json::json;
use toolwire::tool;

use super::project::{
    DevCommand, Project, start_command_with_client, until_build, until_connected,
};
use crate::client::run_command;
use crate::client::small_server::SmallServer;
use crate::process::{Era, toolwire};

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// Calls a tool of the demo server in both eras.
async fn assert_adds(url: &str) {
    for era in ["modern", "legacy"] {
        let call = ["call", url, "add", "a=1", "b=2", "--era", era, "--json"];
        let output = run_command(toolwire(&call)).await.json();
        assert_eq!(output["structuredContent"]["sum"], 3, "{era}: {output}");
    }
}

#[tokio::test]
async fn page_and_clients_use_one_address() {
    let project = Project::empty();
    let record = ["--record", "session.mcplog"];
    let arguments = [&record[..], &["--", PROGRAM, "demo", "--stdio"]].concat();
    let command = DevCommand::start(&project.path, &arguments).await;
    assert_adds(&command.mcp).await;
    until_build(&command.page, |build| build["phase"] == "running").await;
    until_connected(&command.page).await;
    let outcome = command.page.call("add", json!({"a": 40, "b": 2})).await;
    assert_eq!(outcome["result"]["structuredContent"], json!({"sum": 42}));
    project
        .until_contains("session.mcplog", r#""sum":42"#)
        .await;
    // The endpoint rejects other hosts, as the page does.
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for path in ["/mcp", "/api/state", "/"] {
        let host = ["Host: example.com"];
        let response = command.page.send("POST", path, &host, Some(&body)).await;
        assert_eq!(response.status(), 403, "{path}: {response:?}");
    }
    drop(command);
    let record = project.path.join("session.mcplog").display().to_string();
    let server = ["--yes", "--", PROGRAM, "demo", "--stdio"];
    let replay = [&["replay", &record, "--against"], &server[..]].concat();
    let output = run_command(toolwire(&replay)).await.ok();
    assert!(output.contains("same       tools/call add\n"), "{output}");
}

/// Greets the caller.
#[tool]
async fn greet() -> &'static str {
    "hello from the remote server"
}

#[tokio::test]
async fn server_with_an_address_is_served() {
    let remote = toolwire::Server::new("remote", "1.0.0").tool(greet);
    let remote = SmallServer::start(remote).await;
    let project = Project::empty();
    let command = DevCommand::start(&project.path, &[remote.url()]).await;
    for era in ["modern", "legacy"] {
        let call = ["call", &command.mcp, "greet", "--era", era];
        let called = run_command(toolwire(&call)).await.ok();
        assert!(
            called.contains("hello from the remote server"),
            "{era}: {called}"
        );
    }
}

#[tokio::test]
async fn options_of_the_page_are_for_its_connection() {
    let project = Project::empty();
    let options = ["--fault", "delay=30ms", "--without", "elicitation"];
    let options = [&options[..], &["--calls", "mine.json"]].concat();
    let server = ["--", PROGRAM, "demo", "--stdio"];
    let arguments = [&options[..], &server].concat();
    let command = DevCommand::start(&project.path, &arguments).await;
    until_connected(&command.page).await;
    let settings = command.page.get("/api/state").await["settings"].take();
    assert_eq!(settings["faults"]["delayMs"], 30, "{settings}");
    assert_eq!(settings["elicitation"], false, "{settings}");
    assert_eq!(command.page.get("/api/saved").await["file"], "mine.json");
    let outcome = command
        .page
        .call("approve", json!({"question": "Go?"}))
        .await;
    assert_eq!(outcome["failed"], true, "{outcome}");
    assert!(outcome["tookMs"].as_u64() >= Some(30), "{outcome}");
    // Other clients are not affected.
    let call = ["call", &command.mcp, "approve", "question=Go?", "--decline"];
    let called = run_command(toolwire(&call)).await.ok();
    assert!(called.contains("not approved"), "{called}");
}

#[tokio::test]
async fn server_that_listens_on_an_address_gets_advice() {
    let project = Project::empty();
    let script = "echo 'listening on http://127.0.0.1:9/mcp' >&2\nwhile read -r line; do :; done";
    project.write("listening.sh", script);
    let arguments = ["--", "sh", "listening.sh"];
    let _started = start_command_with_client(&project, Era::Modern, &arguments).await;
    let remedy = "run `toolwire dev http://127.0.0.1:9/mcp`";
    project.until_contains("stderr", remedy).await;
}

#[tokio::test]
async fn invalid_command_lines_name_the_remedy() {
    let project = Project::empty();
    let check = async |directory: &str, arguments: &[&str], code: i32, expected: &str| {
        let mut command = toolwire(&["dev"]);
        command.args(arguments);
        command.current_dir(project.path.join(directory));
        let failed = run_command(command).await;
        assert_eq!(failed.code, Some(code), "{arguments:?}: {failed:?}");
        assert!(
            failed.stderr.contains(expected),
            "{arguments:?}: {failed:?}"
        );
    };
    check("", &[], 2, "toolwire dev -- COMMAND").await;
    check("src", &["--", "sh"], 2, "--watch PATH").await;
    check("", &["--watch", "nothing", "--", "sh"], 2, "nothing").await;
    check("", &["--build", "", "--", "sh"], 2, "--build").await;
    check("", &["--", "no-such-program"], 3, "no-such-program").await;
    check(
        "",
        &["--listen", "0.0.0.0:0", "--", "sh"],
        2,
        "other machines",
    )
    .await;
}
