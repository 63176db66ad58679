//! `toolwire call --task` and `toolwire task`.

use serde_json::{Value, json};

use crate::client::run;
use crate::client::task_server::{TASK, TaskServer, core_task, legacy, modern, task, text};

/// Returns a task that asks whether to publish.
fn asking() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"sure": {"type": "boolean"}, "copies": {"type": "integer", "default": 2}},
        "required": ["sure", "copies"],
    });
    let form = json!({"mode": "form", "message": "Publish 240 frames?", "requestedSchema": schema});
    let requests = json!({"publish": {"method": "elicitation/create", "params": form}});
    let members = json!({"inputRequests": requests, "statusMessage": "rendered"});
    task("input_required", members)
}

/// Starts a server whose task is working at the first poll and complete at the second.
async fn rendering() -> TaskServer {
    TaskServer::start(|method, nth, _| match (method, nth) {
        ("tasks/get", 0) => Ok(task("working", json!({"statusMessage": "1/2"}))),
        ("tasks/get", _) => Ok(task("completed", json!({"result": text("a film")}))),
        ("tasks/cancel" | "tasks/update", _) => Ok(json!({"resultType": "complete"})),
        _ => modern(method),
    })
    .await
}

#[tokio::test]
async fn call_waits_for_the_task() {
    let server = rendering().await;
    let output = run(&["call", &server.url(), "render"]).await.ok();
    assert_eq!(output, "a film\n");
    let output = run(&["call", "--json", &server.url(), "render"]).await;
    assert_eq!(output.json(), text("a film"));
}

#[tokio::test]
async fn call_as_task_prints_the_id() {
    let server = rendering().await;
    let output = run(&["call", "--task", &server.url(), "render"]).await;
    assert_eq!(output.ok(), format!("{TASK}\n"));
    let output = run(&["call", "--task", "--json", &server.url(), "render"]).await;
    assert_eq!(output.json(), json!({"taskId": TASK}));
    assert!(server.params_of("tasks/get").is_empty());
    assert!(server.params_of("tasks/cancel").is_empty());
}

#[tokio::test]
async fn call_as_task_prints_a_result_that_came_at_once() {
    let server = TaskServer::start(|method, _, _| match method {
        "tools/call" => Ok(text("a film")),
        _ => modern(method),
    })
    .await;
    let output = run(&["call", "--task", &server.url(), "render"]).await;
    assert!(output.stderr.contains("no task"), "{output:?}");
    assert_eq!(output.ok(), "a film\n");
}

#[tokio::test]
async fn task_is_shown() {
    let server = TaskServer::start(|method, _, _| match method {
        "tasks/get" => Ok(asking()),
        _ => modern(method),
    })
    .await;
    let shown = run(&["task", "get", &server.url(), TASK]).await.ok();
    for part in [
        "input_required",
        "rendered",
        "publish: Publish 240 frames?",
        TASK,
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let output = run(&["task", "get", "--json", &server.url(), TASK]).await;
    let state = output.json();
    assert_eq!(state["status"], "input_required");
    assert!(state["inputRequests"]["publish"].is_object(), "{state}");
}

#[tokio::test]
async fn wait_prints_the_result() {
    let server = rendering().await;
    let output = run(&["task", "wait", &server.url(), TASK]).await.ok();
    assert_eq!(output, "a film\n");
    let output = run(&["task", "wait", "--json", &server.url(), TASK]).await;
    assert_eq!(output.json(), text("a film"));
}

#[tokio::test]
async fn exit_code_of_wait_is_that_of_a_call() {
    let check = async |state: Result<Value, Value>, code: i32, part: &str| {
        let server = TaskServer::start(move |method, _, _| match method {
            "tasks/get" => state.clone(),
            _ => modern(method),
        })
        .await;
        let output = run(&["task", "wait", &server.url(), TASK]).await;
        let shown = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code, Some(code), "{shown}");
        assert!(shown.contains(part), "{part}: {shown}");
    };
    let mut failed = text("no scene");
    failed["isError"] = json!(true);
    check(
        Ok(task("completed", json!({"result": failed}))),
        1,
        "no scene",
    )
    .await;
    let error = json!({"code": -32050, "message": "no disk"});
    check(Ok(task("failed", json!({"error": error}))), 4, "no disk").await;
    check(Ok(task("cancelled", json!({}))), 4, "was cancelled").await;
    let error = json!({"code": -32602, "message": "unknown task"});
    check(Err(error), 4, "check the id").await;
}

#[tokio::test]
async fn wait_responds_with_fields_of_the_command_line() {
    let server = TaskServer::start(|method, nth, _| match (method, nth) {
        ("tasks/get", 0) => Ok(asking()),
        ("tasks/get", _) => Ok(task("completed", json!({"result": text("published")}))),
        ("tasks/update", _) => Ok(json!({"resultType": "complete"})),
        _ => modern(method),
    })
    .await;
    let output = run(&["task", "wait", "--answer", "sure=yes", &server.url(), TASK]).await;
    assert_eq!(output.ok(), "published\n");
    let responses = &server.params_of("tasks/update")[0]["inputResponses"];
    let content = json!({"sure": true, "copies": 2});
    assert_eq!(
        responses,
        &json!({"publish": {"action": "accept", "content": content}})
    );
}

#[tokio::test]
async fn response_is_converted_and_validated() {
    let server = TaskServer::start(|method, _, _| match method {
        "tasks/get" => Ok(asking()),
        "tasks/update" => Ok(json!({"resultType": "complete"})),
        _ => modern(method),
    })
    .await;
    let url = server.url();
    let respond = async |words: &[&str]| {
        let arguments = [&["task", "answer", &url, TASK], words].concat();
        run(&arguments).await
    };
    respond(&["publish", "sure=true", "copies=3"]).await.ok();
    respond(&["publish", "--args", r#"{"sure": false}"#])
        .await
        .ok();
    respond(&["publish", "--decline"]).await.ok();
    let sent: Vec<_> = server
        .params_of("tasks/update")
        .iter()
        .map(|params| params["inputResponses"]["publish"].clone())
        .collect();
    let expected = [
        json!({"action": "accept", "content": {"sure": true, "copies": 3}}),
        json!({"action": "accept", "content": {"sure": false, "copies": 2}}),
        json!({"action": "decline"}),
    ];
    assert_eq!(sent, expected);

    let stderr = respond(&["publish"]).await.failed(2);
    assert!(stderr.contains("`sure` is missing"), "{stderr}");
    assert!(stderr.contains("Publish 240 frames?"), "{stderr}");
    let stderr = respond(&["publish", "sure=maybe"]).await.failed(2);
    assert!(stderr.contains("sure"), "{stderr}");
    let stderr = respond(&["publsh", "sure=true"]).await.failed(4);
    assert!(stderr.contains("try: publish"), "{stderr}");
    respond(&["publish", "sure=true", "--decline"])
        .await
        .failed(2);
    respond(&[]).await.failed(2);
    assert_eq!(server.params_of("tasks/update").len(), 3);
}

#[tokio::test]
async fn task_is_cancelled() {
    let server = rendering().await;
    run(&["task", "cancel", &server.url(), TASK]).await.ok();
    assert_eq!(server.params_of("tasks/cancel")[0]["taskId"], TASK);
    let output = run(&["task", "cancel", "--json", &server.url(), TASK]).await;
    assert_eq!(output.json(), json!({}));
    run(&["task", "cancel", &server.url()]).await.failed(2);
}

#[tokio::test]
async fn tasks_of_a_legacy_server_are_called_and_listed() {
    let server = TaskServer::start(|method, nth, _| match (method, nth) {
        ("tasks/get", 0) => Ok(core_task("working")),
        ("tasks/get", _) => Ok(core_task("completed")),
        ("tasks/result", _) => Ok(text("a film")),
        ("tasks/list", _) => Ok(json!({"tasks": [core_task("completed")]})),
        _ => legacy(method),
    })
    .await;
    let url = server.url();
    let output = run(&["call", "--era", "legacy", &url, "render"]).await;
    assert_eq!(output.ok(), "a film\n");
    assert_eq!(server.params_of("tools/call")[0]["task"], json!({}));
    let output = run(&["call", "--task", "--era", "legacy", &url, "render"]).await;
    assert_eq!(output.ok(), format!("{TASK}\n"));
    let listed = run(&["task", "list", "--era", "legacy", &url]).await.ok();
    assert!(
        listed.contains(TASK) && listed.contains("completed"),
        "{listed}"
    );
    let output = run(&["task", "list", "--json", "--era", "legacy", &url]).await;
    assert_eq!(output.json()[0]["taskId"], TASK);
}

#[tokio::test]
async fn modern_servers_have_no_list_of_tasks() {
    let server = rendering().await;
    let stderr = run(&["task", "list", &server.url()]).await.failed(4);
    assert!(stderr.contains("no list of tasks"), "{stderr}");
}

#[cfg(target_os = "linux")]
mod terminal {
    use super::*;
    use crate::client::terminal::run_at_terminal;
    use crate::process::toolwire;

    /// Responds to the input request of a task at a terminal. Returns the standard output, what the terminal showed, and
    /// the response that the server has received.
    async fn respond(script: &[(&'static str, &'static str)]) -> (String, String, Value) {
        let server = TaskServer::start(|method, _, _| match method {
            "tasks/get" => Ok(asking()),
            "tasks/update" => Ok(json!({"resultType": "complete"})),
            _ => modern(method),
        })
        .await;
        let command = toolwire(&["task", "answer", &server.url(), TASK, "publish"]);
        let ended = run_at_terminal(command, script).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let updates = server.params_of("tasks/update");
        assert_eq!(updates.len(), 1, "{updates:?}");
        let response = updates[0]["inputResponses"]["publish"].clone();
        (ended.stdout, ended.shown, response)
    }

    #[tokio::test]
    async fn user_fills_in_the_form_of_a_task() {
        let script = [
            ("(yes or no): ", "perhaps"),
            ("(yes or no): ", "y"),
            ("copies (integer) [2]: ", "3"),
            ("Send it?", ""),
        ];
        let (stdout, shown, response) = respond(&script).await;
        assert_eq!(stdout, "", "{shown}");
        assert!(
            shown.contains("The server asks: Publish 240 frames?"),
            "{shown}"
        );
        assert!(shown.contains("type yes or no"), "{shown}");
        assert!(shown.contains("the server has the response"), "{shown}");
        let content = json!({"sure": true, "copies": 3});
        assert_eq!(response, json!({"action": "accept", "content": content}));
    }

    #[tokio::test]
    async fn status_of_a_task_is_shown_while_it_works() {
        for words in [["call"].as_slice(), &["task", "wait"]] {
            let server = rendering().await;
            let url = server.url();
            let name = if words == ["call"] { "render" } else { TASK };
            let arguments = [words, &[&url, name]].concat();
            let ended = run_at_terminal(toolwire(&arguments), &[]).await;
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert_eq!(ended.stdout, "a film\n");
            // The line is removed when the task has ended.
            let (_, rest) = ended.shown.split_once("… 1/2").expect("the status message");
            assert!(rest.contains("\r\u{1b}[K"), "{ended:?}");
        }
    }

    #[tokio::test]
    async fn user_declines_the_form_of_a_task() {
        let (_, _, response) = respond(&[("(yes or no): ", "!d")]).await;
        assert_eq!(response, json!({"action": "decline"}));
    }
}
