//! The output for people and for programs.

use serde_json::json;

use crate::client::{TempDirectory, run, run_demo};
use crate::http::HttpDemo;

#[tokio::test]
async fn json_output_is_the_protocol_result() {
    let result = run_demo(&["call", "--json", "--era", "legacy", "echo", "text=hi"])
        .await
        .json();
    assert_eq!(result, json!({"content": [{"type": "text", "text": "hi"}]}));
    let contents = run_demo(&["read", "--json", "--era", "legacy", "demo://notes/first"])
        .await
        .json();
    assert_eq!(
        contents,
        json!({"contents": [{
            "uri": "demo://notes/first", "mimeType": "text/plain", "text": "This is the first note.",
        }]}),
    );
    let prompt = run_demo(&["prompt", "--json", "greet", "name=Ada"])
        .await
        .json();
    assert_eq!(
        prompt["messages"][0]["content"]["text"],
        "Greet Ada warmly, in one sentence."
    );
    let completion = run_demo(&["complete", "--json", "greet", "name=A"])
        .await
        .json();
    assert_eq!(completion["completion"]["values"], json!(["Ada", "Alan"]));
}

#[tokio::test]
async fn lists_are_arrays() {
    let tools = run_demo(&["tools", "--json"]).await.json();
    let names: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert!(names.contains(&&json!("add")), "{names:?}");
    let tool = run_demo(&["tools", "--json", "add"]).await.json();
    assert_eq!(tool["inputSchema"]["required"], json!(["a", "b"]));
    let prompts = run_demo(&["prompts", "--json"]).await.json();
    assert_eq!(prompts[0]["name"], "greet");
    let resources = run_demo(&["resources", "--json"]).await.json();
    assert!(resources.as_array().unwrap().len() > 3, "{resources}");
    let templates = run_demo(&["resources", "--templates", "--json"])
        .await
        .json();
    assert_eq!(templates[0]["uriTemplate"], "demo://notes/{name}");
}

#[tokio::test]
async fn discover_and_ping_work_in_both_eras() {
    let demo = HttpDemo::start(&[]).await;
    for (era, version) in [("modern", "2026-07-28"), ("legacy", "2025-11-25")] {
        let discovered = run(&["discover", "--json", "--era", era, &demo.url()])
            .await
            .json();
        assert_eq!(discovered["era"], era);
        assert_eq!(discovered["protocolVersion"], version);
        assert_eq!(discovered["serverInfo"]["name"], "toolwire-demo");
        assert!(
            discovered["capabilities"]["tools"].is_object(),
            "{discovered}"
        );
        let text = run(&["discover", "--era", era, &demo.url()]).await.ok();
        assert!(text.contains(&format!("{version} ({era})")), "{text}");
        let pong = run(&["ping", "--json", "--era", era, &demo.url()])
            .await
            .json();
        assert_eq!(pong["protocolVersion"], version);
        assert!(pong["milliseconds"].is_f64(), "{pong}");
        let text = run(&["ping", "--era", era, &demo.url()]).await.ok();
        assert!(text.contains(version), "{text}");
    }
    let old = run(&[
        "discover",
        "--json",
        "--protocol-version",
        "2025-03-26",
        &demo.url(),
    ])
    .await;
    assert_eq!(old.json()["protocolVersion"], "2025-03-26");
}

#[tokio::test]
async fn lists_are_tables_without_json() {
    let tools = run_demo(&["tools"]).await.ok();
    assert!(tools.starts_with("TOOL "), "{tools}");
    let cells = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rows = tools.lines().map(cells);
    assert!(
        rows.any(|row| row == "add a b Adds two integers."),
        "{tools}"
    );
    // The descriptions start in one column.
    let column = |text: &str| tools.lines().find_map(|line| line.find(text));
    assert_eq!(
        column("DESCRIPTION"),
        column("Adds two integers."),
        "{tools}"
    );
    let resources = run_demo(&["resources"]).await.ok();
    assert!(resources.contains("demo://clock"), "{resources}");
    assert!(resources.contains("\nTEMPLATE"), "{resources}");
    let prompts = run_demo(&["prompts"]).await.ok();
    assert!(
        prompts.contains("greet   name       Greets a person."),
        "{prompts}"
    );
    let tool = run_demo(&["tools", "countdown"]).await.ok();
    assert!(
        tool.contains("usage: countdown from=INTEGER [delay_ms=INTEGER]"),
        "{tool}"
    );
    let prompt = run_demo(&["prompt", "greet", "name=Ada"]).await.ok();
    assert_eq!(prompt, "user: Greet Ada warmly, in one sentence.\n");
    let completion = run_demo(&["complete", "demo://notes/{name}", "name=f"])
        .await
        .ok();
    assert_eq!(completion, "first\n");
}

#[tokio::test]
async fn colours_appear_if_requested() {
    let plain = run_demo(&["prompts"]).await.ok();
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    let coloured = run_demo(&["prompts", "--color", "always"]).await.ok();
    assert!(
        coloured.contains("\u{1b}[36mgreet\u{1b}[0m"),
        "{coloured:?}"
    );
}

#[tokio::test]
async fn log_messages_go_to_standard_error() {
    for era in ["modern", "legacy"] {
        let arguments = [
            "call",
            "log",
            "level=warning",
            "message=careful",
            "--era",
            era,
        ];
        let without_logs = run_demo(&arguments).await;
        assert_eq!(
            (without_logs.stdout.as_str(), without_logs.stderr.as_str()),
            ("logged\n", "")
        );
        let mut arguments = arguments.to_vec();
        arguments.extend(["--log-level", "info"]);
        let ran = run_demo(&arguments).await;
        assert_eq!(ran.stdout, "logged\n", "{ran:?}");
        assert_eq!(ran.stderr, "warning demo: careful\n", "{ran:?}");
    }
}

#[tokio::test]
async fn verbose_shows_messages() {
    let ran = run_demo(&["call", "echo", "text=hello", "--verbose"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hello\n"));
    assert!(ran.stderr.contains("tools/call"), "{ran:?}");
}

#[tokio::test]
async fn contents_are_saved() {
    let directory = TempDirectory::new("saved");
    let path = directory.write("note.txt", "");
    let ran = run_demo(&["read", "demo://notes/first", "--output", &path]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stderr.contains("saved 23 bytes"), "{ran:?}");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "This is the first note."
    );
    let raw = run_demo(&["read", "demo://notes/first", "--output", "-"])
        .await
        .ok();
    assert_eq!(raw, "This is the first note.");
}

#[tokio::test]
async fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell]).await.ok();
        assert!(script.contains("toolwire"), "{shell}");
        assert!(script.contains("protocol-version"), "{shell}");
    }
    assert!(
        run(&["completions", "tcsh"])
            .await
            .failed(2)
            .contains("possible values")
    );
}
