//! Servers without resources, prompts, log messages or the called tool.

use serde_json::json;
use toolwire::{Server, prompt, tool};

use crate::client::run;
use crate::client::small_server::SmallServer;

/// Greets the caller.
#[tool]
async fn greet() -> &'static str {
    "hello"
}

/// Says hello.
#[prompt]
async fn hello() -> &'static str {
    "Say hello."
}

fn only_tools() -> Server {
    Server::new("only-tools", "1.0.0").tool(greet)
}

#[tokio::test]
async fn missing_lists_are_reported_and_not_a_failure() {
    let server = SmallServer::start(only_tools()).await;
    for era in ["modern", "legacy"] {
        for (arguments, items) in [
            (&["resources"][..], "resources"),
            (&["resources", "--templates"], "resources"),
            (&["prompts"], "prompts"),
        ] {
            let call = [arguments, &[server.url(), "--era", era]].concat();
            let ran = run(&call).await;
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
            let expected = format!("the server does not offer {items}\n");
            assert_eq!(ran.stderr, expected, "{era}");
            let ran = run(&[&call[..], &["--json"]].concat()).await;
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (Some(0), "[]\n"),
                "{ran:?}"
            );
            assert_eq!(ran.stderr, expected, "{era}");
        }
    }
}

#[tokio::test]
async fn missing_tools_are_reported_and_not_a_failure() {
    let server = SmallServer::start(Server::new("only-prompts", "1.0.0").prompt(hello)).await;
    let ran = run(&["tools", server.url()]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.stderr, "the server does not offer tools\n");
    let prompts = run(&["prompts", "--json", server.url()]).await.json();
    assert_eq!(prompts[0]["name"], json!("hello"));
}

#[tokio::test]
async fn log_level_without_log_messages_is_a_warning() {
    let server = SmallServer::start(only_tools()).await;
    for era in ["modern", "legacy"] {
        let call = ["call", server.url(), "greet", "--log-level", "info"];
        let ran = run(&[&call[..], &["--era", era]].concat()).await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "hello\n"),
            "{era}: {ran:?}"
        );
        assert!(ran.stderr.contains("warning: "), "{era}: {ran:?}");
        assert!(ran.stderr.contains("--log-level"), "{era}: {ran:?}");
        let ran = run(&["call", server.url(), "greet", "--era", era]).await;
        assert_eq!(ran.stderr, "", "{era}");
    }
}

#[tokio::test]
async fn unlisted_tool_is_an_error_before_it_is_called() {
    let server = SmallServer::start(only_tools()).await;
    let text = run(&["call", server.url(), "gret"]).await.failed(4);
    assert!(text.contains("the server has no tool `gret`"), "{text}");
    assert!(text.contains("try: greet"), "{text}");
    let text = run(&["call", server.url(), "gret", "-v"]).await.failed(4);
    assert!(text.contains("tools/list"), "{text}");
    assert!(!text.contains("tools/call"), "{text}");
    let server = SmallServer::start(Server::new("only-prompts", "1.0.0").prompt(hello)).await;
    let text = run(&["prompt", server.url(), "helo", "-v"]).await.failed(4);
    assert!(text.contains("the server has no prompt `helo`"), "{text}");
    assert!(text.contains("try: hello"), "{text}");
    assert!(!text.contains("prompts/get"), "{text}");
}
