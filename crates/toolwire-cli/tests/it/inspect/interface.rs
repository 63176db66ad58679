//! The HTTP interface, without a browser.

use std::time::Duration;

use serde_json::{Value, json};

use super::{DEMO, InspectCommand};
use crate::client::small_server::SmallServer;

async fn start(era: &str) -> InspectCommand {
    let mut arguments = vec!["--era", era];
    arguments.extend(DEMO);
    InspectCommand::start(&arguments).await
}

/// Requests something until it has the expected form.
async fn until(
    command: &InspectCommand,
    path: &str,
    is_expected: impl Fn(&Value) -> bool,
) -> Value {
    loop {
        let value = command.get(path).await;
        if is_expected(&value) {
            return value;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn every_list_call_and_input_request_works_in_both_eras() {
    for (era, version) in [("modern", "2026-07-28"), ("legacy", "2025-11-25")] {
        let command = start(era).await;
        let state = command.get("/api/state").await;
        assert_eq!(state["connection"]["era"], era);
        assert_eq!(state["connection"]["version"], version);
        assert_eq!(state["server"]["info"]["name"], "toolwire-demo");
        for list in ["tools", "prompts", "resources", "templates"] {
            let items = command.get(&format!("/api/lists/{list}")).await;
            assert!(
                !items["items"].as_array().expect("a list").is_empty(),
                "{list}"
            );
        }
        let outcome = command.call("add", json!({"a": 40, "b": 2})).await;
        assert_eq!(
            outcome["result"]["structuredContent"],
            json!({"sum": 42}),
            "{outcome}"
        );
        // An argument that is mirrored into a header on HTTP.
        let outcome = command
            .call("route", json!({"region": "eu", "count": 1}))
            .await;
        assert_eq!(outcome["failed"], false, "{outcome}");
        let body = json!({"method": "tools/call", "params": {"name": "approve", "arguments": {"question": "Go?"}}});
        let (status, started) = command.request("POST", "/api/calls", Some(&body)).await;
        assert_eq!(status, 202);
        let waiting = |value: &Value| value[0]["kind"] == "form";
        let inputs = until(&command, "/api/inputs", waiting).await;
        assert_eq!(inputs[0]["params"]["message"], "Go?");
        let path = format!("/api/inputs/{}", inputs[0]["id"]);
        let invalid = json!({"action": "accept", "content": {"confirmed": "yes"}});
        let (status, error) = command.request("POST", &path, Some(&invalid)).await;
        assert_eq!(status, 400, "{error}");
        let valid = json!({"action": "accept", "content": {"confirmed": true}});
        let (status, _) = command.request("POST", &path, Some(&valid)).await;
        assert_eq!(status, 204);
        let path = format!("/api/calls/{}", started["id"]);
        let outcome = until(&command, &path, |call| call["state"] == "done").await;
        assert_eq!(
            outcome["result"]["content"][0]["text"], "approved",
            "{outcome}"
        );
        let log = command.get("/api/log?limit=1000").await;
        let mut entries = log.as_array().expect("a list").iter();
        assert!(entries.any(|entry| entry["method"] == "tools/call" && entry["dir"] == "out"));
    }
}

#[tokio::test]
async fn values_and_results_are_checked_against_schemas() {
    let command = start("auto").await;
    let check = async |body: Value| command.request("POST", "/api/check", Some(&body)).await;
    // The keywords that a partial check leaves out.
    let schema = json!({
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"required": ["a"]},
        "patternProperties": {"^n": {"type": "number"}},
        "unevaluatedProperties": false,
        "properties": {"kind": {"pattern": "^[ab]$"}},
    });
    let valid = (200, json!({"verdict": "valid"}));
    let body = json!({"schema": schema, "value": {"kind": "b", "n1": 1}});
    assert_eq!(check(body).await, valid);
    assert_eq!(
        check(json!({"schema": {"type": "null"}, "value": null})).await,
        valid
    );
    let body = json!({"schema": schema, "value": {"kind": "a"}, "name": "arguments"});
    let (status, outcome) = check(body).await;
    assert_eq!((status, &outcome["verdict"]), (200, &json!("invalid")));
    let violation = outcome["violations"][0].as_str().expect("a text");
    assert!(
        violation.starts_with("arguments: ") && violation.contains("\"a\""),
        "{violation}"
    );
    let remote = json!({"schema": {"$ref": "https://example.test/schema"}, "value": 1});
    let (status, outcome) = check(remote).await;
    assert_eq!((status, &outcome["verdict"]), (200, &json!("unchecked")));
    assert!(outcome["reason"].is_string(), "{outcome}");

    let call = command.call("add", json!({"a": 40, "b": 2})).await["id"].take();
    let of_call = |maximum: i64| {
        let schema = json!({"properties": {"sum": {"maximum": maximum}}});
        json!({"schema": schema, "call": call})
    };
    assert_eq!(check(of_call(42)).await, valid);
    let (_, outcome) = check(of_call(41)).await;
    let violation = outcome["violations"][0].as_str().expect("a text");
    assert!(
        violation.starts_with("structuredContent.sum: 42 "),
        "{violation}"
    );
    let without = command.call("echo", json!({"text": "a"})).await["id"].take();
    for body in [
        json!({"schema": {}, "call": without}),
        json!({"schema": {}, "call": 99}),
        json!({"schema": {}, "call": call, "value": 1}),
        json!({"schema": {}}),
    ] {
        let (status, error) = check(body).await;
        assert_eq!(status, 400, "{error}");
        assert!(
            error["error"].as_str().expect("a text").contains("give"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn log_is_searched_in_whole_texts() {
    let command = start("auto").await;
    let text = format!("{}NeedleInTheStack", "hay ".repeat(1000));
    command.call("echo", json!({ "text": text })).await;
    let search = async |body: Value| {
        let (status, found) = command
            .request("POST", "/api/log/search", Some(&body))
            .await;
        assert_eq!(status, 200, "{found}");
        found
    };
    let found = search(json!({"text": "needleinthestack"})).await;
    let numbers = found["found"].as_array().expect("a list");
    // The request and the response.
    assert_eq!(numbers.len(), 2, "{found}");
    for number in numbers {
        let entry = command.get(&format!("/api/log/{number}")).await;
        assert!(entry["body"].to_string().contains("NeedleInTheStack"));
    }
    let later = search(json!({"text": "needleinthestack", "after": found["last"]})).await;
    assert_eq!(later["found"], json!([]), "{later}");
    let (status, _) = command
        .request("POST", "/api/log/search", Some(&json!({})))
        .await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn cancelled_call_ends_on_the_server() {
    let command = start("auto").await;
    let params = json!({"name": "countdown", "arguments": {"from": 100_000, "delay_ms": 50}});
    let body = json!({"method": "tools/call", "params": params});
    let (_, started) = command.request("POST", "/api/calls", Some(&body)).await;
    let path = format!("/api/calls/{}", started["id"]);
    until(&command, &path, |call| {
        call["progress"]["progress"].is_number()
    })
    .await;
    let (status, _) = command.request("DELETE", &path, None).await;
    assert_eq!(status, 204);
    assert_eq!(command.get(&path).await["state"], "cancelled");
    loop {
        let active = command.call("active", json!({})).await;
        if active["result"]["content"][0]["text"] == "0" {
            break;
        }
    }
    let (status, _) = command.request("DELETE", &path, None).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn settings_change_the_connection() {
    let command = start("modern").await;
    let change = async |change: Value| {
        let (status, state) = command
            .request("PATCH", "/api/settings", Some(&change))
            .await;
        assert_eq!(status, 200, "{state}");
    };
    change(json!({"era": "legacy", "elicitation": false})).await;
    let is_legacy = |state: &Value| state["connection"]["era"] == "legacy";
    until(&command, "/api/state", is_legacy).await;
    let outcome = command.call("approve", json!({"question": "Go?"})).await;
    assert_eq!(outcome["failed"], true, "{outcome}");
    change(json!({"faults": {"delayMs": 30}})).await;
    let outcome = command.call("echo", json!({"text": "late"})).await;
    assert!(outcome["tookMs"].as_u64() >= Some(30), "{outcome}");
    change(json!({"logLevel": "debug", "faults": {}})).await;
    command
        .call("log", json!({"level": "info", "message": "noted"}))
        .await;
    let logged = |log: &Value| log.to_string().contains("notifications/message");
    until(&command, "/api/log", logged).await;
}

#[tokio::test]
async fn setting_that_the_server_rejects_does_not_change() {
    // The server has no log messages, so it rejects a log level.
    let server = SmallServer::start(toolwire::Server::new("plain", "1")).await;
    let options = ["--era", "legacy", "--root", "file:///a", server.url()];
    let command = InspectCommand::start(&options).await;
    let before = command.get("/api/state").await["settings"].take();
    let faults = json!({"delayMs": 1});
    for change in [
        json!({"logLevel": "debug"}),
        json!({"logLevel": "debug", "roots": ["file:///b"], "faults": faults}),
    ] {
        let (status, error) = command
            .request("PATCH", "/api/settings", Some(&change))
            .await;
        assert_eq!(status, 502, "{error}");
        let after = command.get("/api/state").await["settings"].take();
        assert_eq!(after, before, "{change}");
    }
    let change = json!({"roots": ["file:///b"], "faults": faults});
    let (status, state) = command
        .request("PATCH", "/api/settings", Some(&change))
        .await;
    assert_eq!(status, 200, "{state}");
    assert_eq!(state["settings"]["roots"], json!(["file:///b"]));
}

#[tokio::test]
async fn http_headers_are_logged_without_secrets_and_responses_can_be_cut() {
    let server = toolwire::Server::new("small", "1");
    let server = SmallServer::start(server).await;
    let secret = "canary-of-the-header";
    let header = format!("X-Key: {secret}");
    let command = InspectCommand::start(&[server.url(), "--header", &header]).await;
    let log = command.get("/api/log").await;
    let entries = log.as_array().expect("a list");
    let http: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["kind"] == "http")
        .collect();
    let has = |text: &str| {
        http.iter()
            .any(|entry| entry["text"].as_str().is_some_and(|all| all.contains(text)))
    };
    assert!(has("POST /mcp") || has("POST /"), "{log}");
    assert!(has("x-key: (hidden)") && has("200 OK"), "{log}");
    for entry in entries {
        let details = command.get(&format!("/api/log/{}", entry["seq"])).await;
        assert!(!details.to_string().contains(secret), "{details}");
    }
    let state = command.get("/api/state").await;
    assert!(!state.to_string().contains(secret), "{state}");
    let cut = json!({"faults": {"cutAfterBytes": 5}});
    command.request("PATCH", "/api/settings", Some(&cut)).await;
    let body = json!({"method": "acme/any", "wait": true});
    let (_, outcome) = command.request("POST", "/api/calls", Some(&body)).await;
    assert_eq!(outcome["failed"], true, "{outcome}");
    assert_eq!(outcome["error"]["code"], Value::Null, "{outcome}");
}

#[cfg(unix)]
#[tokio::test]
async fn ended_server_process_is_shown_and_started_again() {
    // The server gets five messages, and then the end of its input.
    let script = format!(
        "sed -u 5q | {} demo --stdio",
        env!("CARGO_BIN_EXE_toolwire")
    );
    let command = InspectCommand::start(&["--era", "modern", "--", "sh", "-c", &script]).await;
    loop {
        let body = json!({"method": "tools/call", "params": {"name": "active"}, "wait": true});
        let (status, outcome) = command.request("POST", "/api/calls", Some(&body)).await;
        if status == 503 {
            break;
        }
        assert_eq!(status, 200, "{outcome}");
    }
    assert_eq!(
        command.get("/api/state").await["connection"]["status"],
        "failed"
    );
    let (status, _) = command
        .request("POST", "/api/reconnect", Some(&json!({})))
        .await;
    assert_eq!(status, 204);
    let is_connected = |state: &Value| state["connection"]["status"] == "connected";
    until(&command, "/api/state", is_connected).await;
}
