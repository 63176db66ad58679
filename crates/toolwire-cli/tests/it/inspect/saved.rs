//! Saved calls of `toolwire inspect`, and its options.

use serde_json::{Value, json};

use super::{DEMO, InspectCommand};
use crate::client::{TempDirectory, run_command};
use crate::process::{toolwire, within};

#[tokio::test]
async fn call_is_saved_with_its_responses_and_made_again_by_a_command() {
    let directory = TempDirectory::new("inspect-saved");
    let file = directory.0.join("calls.json").display().to_string();
    let command = InspectCommand::start(&[&["--calls", &file][..], &DEMO].concat()).await;
    let start = async |body: Value| {
        let (status, started) = command.request("POST", "/api/calls", Some(&body)).await;
        assert_eq!(status, 202, "{started}");
        started["id"].clone()
    };
    let outcome = async |id: &Value| loop {
        let outcome = command.get(&format!("/api/calls/{id}")).await;
        if outcome["state"] == "done" {
            return outcome;
        }
        tokio::task::yield_now().await;
    };
    let save = async |name: &str, id: &Value| {
        let body = json!({"name": name, "call": id});
        command.request("POST", "/api/saved", Some(&body)).await
    };
    let params = json!({"name": "approve", "arguments": {"question": "Go?"}});
    let id = start(json!({"method": "tools/call", "params": params})).await;
    let (status, _) = save("early", &id).await;
    assert_eq!(status, 400);
    let input = loop {
        let inputs = command.get("/api/inputs").await;
        if let Some(input) = inputs.get(0) {
            break input["id"].clone();
        }
        tokio::task::yield_now().await;
    };
    let response = json!({"action": "accept", "content": {"confirmed": true}});
    let path = format!("/api/inputs/{input}");
    command.request("POST", &path, Some(&response)).await;
    outcome(&id).await;
    assert_eq!(save("not a name", &id).await.0, 400);
    assert_eq!(save("go", &id).await.0, 204);
    let saved = command.get("/api/saved").await;
    assert_eq!(saved["file"], file);
    assert_eq!(saved["calls"][0]["responses"][0]["response"], response);
    // Without a user.
    let id = start(json!({"saved": "go", "responses": true})).await;
    let outcome = outcome(&id).await;
    assert_eq!(
        outcome["result"]["content"][0]["text"], "approved",
        "{outcome}"
    );
    let run = async |name: &str| {
        let mut call = toolwire(&["call", "--saved", name, "--calls", &file]);
        within(call.args(DEMO).output())
            .await
            .expect("the command runs")
    };
    let output = run("go").await;
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "approved");
    let output = run("other").await;
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("the saved calls are go"), "{error}");
    let delete = async || command.request("DELETE", "/api/saved/go", None).await.0;
    assert_eq!((delete().await, delete().await), (204, 404));
    let (status, error) = command
        .request("POST", "/api/calls", Some(&json!({"saved": "go"})))
        .await;
    assert_eq!(status, 400, "{error}");
}

#[tokio::test]
async fn commands_save_list_and_delete_calls() {
    let directory = TempDirectory::new("commands-saved");
    let file = directory.0.join("calls.json").display().to_string();
    let saved = async |words: &[&str]| {
        let mut command = toolwire(&["saved", "--calls", &file]);
        command.args(words);
        run_command(command).await
    };
    assert_eq!(saved(&[]).await.ok(), "no saved calls\n");
    let call = async |words: &[&str]| {
        let mut command = toolwire(&["call", "--calls", &file]);
        command.args(words).args(DEMO);
        run_command(command).await
    };
    let words = ["approve", "question=Go?", "--answer", "confirmed=true"]; // tidy: allow(answer) name of the option
    let output = call(&[&words[..], &["--save", "go"]].concat()).await.ok();
    assert_eq!(output.trim(), "approved");
    call(&["echo", "text=a", "--save", "echo"]).await.ok();
    // An invalid name ends the command before the call.
    let invalid = call(&["echo", "text=a", "--save", "not a name"]).await;
    assert!(invalid.stdout.is_empty(), "{invalid:?}");
    assert!(invalid.failed(2).contains("the name is invalid"));
    let listed = saved(&[]).await.ok();
    let rows: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let expected = [
        ["NAME", "TOOL", "RESPONSES"],
        ["go", "approve", "1"],
        ["echo", "echo", "0"],
    ];
    assert_eq!(rows, expected);
    let listed = saved(&["--json"]).await.json();
    assert_eq!(listed[0]["arguments"], json!({"question": "Go?"}));
    assert_eq!(
        listed[0]["responses"][0]["response"]["content"],
        json!({"confirmed": true})
    );
    // The page makes the call again with its response.
    let page = InspectCommand::start(&[&["--calls", &file][..], &DEMO].concat()).await;
    let again = json!({"saved": "go", "responses": true, "wait": true});
    let (_, outcome) = page.request("POST", "/api/calls", Some(&again)).await;
    let text = &outcome["result"]["content"][0]["text"];
    assert_eq!(*text, "approved", "{outcome}");
    saved(&["--delete", "go"]).await.ok();
    let error = saved(&["--delete", "go"]).await.failed(2);
    assert!(error.contains("no saved call `go`"), "{error}");
    assert_eq!(
        saved(&["--json"]).await.json().as_array().map(Vec::len),
        Some(1)
    );
}

#[tokio::test]
async fn options_set_faults_and_capabilities_and_calls_have_a_trace() {
    let options = ["--without", "elicitation", "--fault", "delay=30ms"];
    let options = [&options[..], &["--fault", "cut=10", "--fault", "twice"]].concat();
    let command = InspectCommand::start(&[&options[..], &DEMO].concat()).await;
    let settings = command.get("/api/state").await["settings"].clone();
    let faults = json!({
        "delayMs": 30, "cutAfterBytes": 10, "repeatNotifications": true, "expiredToken": false,
    });
    assert_eq!(settings["faults"], faults);
    assert_eq!(settings["elicitation"], false);
    assert_eq!(settings["sampling"], true);
    let outcome = command.call("approve", json!({"question": "Go?"})).await;
    assert_eq!(outcome["failed"], true, "{outcome}");
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let meta = json!({"traceparent": format!("00-{trace}-00f067aa0ba902b7-01")});
    let params = json!({"name": "echo", "arguments": {"text": "a"}, "_meta": meta});
    let body = json!({"method": "tools/call", "params": params, "wait": true});
    let (_, outcome) = command.request("POST", "/api/calls", Some(&body)).await;
    assert_eq!(outcome["traceId"], trace, "{outcome}");
    assert!(outcome["tookMs"].as_u64() >= Some(30), "{outcome}");
}
