//! Requests that are printed as commands and programs instead of being sent.

use serde_json::json;

use crate::client::{run, run_demo};
use crate::http::HttpDemo;

#[tokio::test]
async fn request_is_printed_in_every_form() {
    let echo = ["call", "echo", "text=it's"];
    let printed = async |form: &str| {
        let ran = run_demo(&[&echo[..], &["--print", form]].concat()).await;
        ran.ok()
    };
    let command = printed("command").await;
    let start = r#"toolwire call echo --args '{"text":"it'\''s"}' -- "#;
    assert!(command.starts_with(start), "{command}");
    // A server without an address has no request of curl.
    let curl = printed("curl").await;
    assert!(curl.contains("toolwire proxy --listen"), "{curl}");
    for (form, part) in [
        ("rust", r#"client.call_tool("echo", json!({"#),
        ("typescript", "await client.callTool({"),
        ("python", r#"client.call_tool("echo", json.loads("#),
    ] {
        let text = printed(form).await;
        assert!(text.contains(part), "{form}: {text}");
    }
}

#[tokio::test]
async fn prompts_and_resources_are_printed() {
    let prompt = run_demo(&["prompt", "greet", "name=Ada", "--print", "python"]).await;
    let prompt = prompt.ok();
    assert!(
        prompt.contains(r#"client.get_prompt("greet", "#),
        "{prompt}"
    );
    let resource = run_demo(&["read", "demo://notes/first", "--print", "rust"]).await;
    let resource = resource.ok();
    let read = r#"client.read_resource("demo://notes/first")"#;
    assert!(resource.contains(read), "{resource}");
}

#[tokio::test]
async fn nothing_is_sent_for_a_printed_request() {
    let demo = HttpDemo::start(&[]).await;
    let url = demo.url();
    let list = async || run(&["tools", &url, "--json"]).await.ok();
    let before = list().await;
    let change = ["call", &url, "change_list", "list=tools", "--json"];
    let printed = run(&[&change[..], &["--print", "curl"]].concat()).await;
    let printed = printed.json();
    assert_eq!(printed["title"], json!("curl"));
    let text = printed["text"].as_str().expect("a text");
    assert!(text.starts_with(&format!("curl -sS {url}")), "{text}");
    assert_eq!(list().await, before);
    run(&change).await.ok();
    assert_ne!(list().await, before);
}

#[tokio::test]
async fn printed_request_has_no_other_effects() {
    for option in [&["--save", "a"][..], &["--output", "a"], &["--task"]] {
        let call = ["call", "echo", "text=a", "--print", "curl"];
        let text = run_demo(&[&call[..], option].concat()).await.failed(2);
        assert!(text.contains("cannot be used with"), "{option:?}: {text}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn printed_curl_commands_call_the_tool() {
    let demo = HttpDemo::start(&[]).await;
    let url = demo.url();
    for era in ["modern", "legacy"] {
        let call = ["call", &url, "echo", "text=it's \u{202e}\n100 %"];
        let text = run(&[&call[..], &["--era", era, "--print", "curl"]].concat()).await;
        let text = text.ok();
        let output = tokio::process::Command::new("sh")
            .args(["-c", &text])
            .output();
        let output = output.await.expect("sh runs");
        let response = String::from_utf8(output.stdout).expect("text");
        assert!(response.contains("100 %"), "{era}: {text}\n{response}");
    }
}
