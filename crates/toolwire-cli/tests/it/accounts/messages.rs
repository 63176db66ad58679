//! What is said when there is no login, and what is never said.

use serde_json::Value;

use crate::accounts::World;
use crate::client::fake_http::FakeHttp;
use crate::client::{run, run_command};
use crate::http::HttpDemo;

#[tokio::test]
async fn a_server_that_is_not_there_is_told_as_everywhere() {
    let text = run(&["login", "http://127.0.0.1:9/mcp"]).await.failed(3);
    assert!(text.starts_with("toolwire: TCP: "), "{text}");
    let text = run(&["login", "http://example.com/mcp"]).await.failed(6);
    assert!(text.contains("http://example.com/mcp"), "{text}");
    assert!(text.contains("toolwire: login: "), "{text}");
    let text = run(&["login", "javascript:alert(1)"]).await.failed(2);
    assert!(text.contains("no server named"), "{text}");
}

#[tokio::test]
async fn a_server_that_is_open_to_all_needs_no_login() {
    let demo = HttpDemo::start(&[]).await;
    let text = run(&["login", "--no-browser", &demo.url()]).await.failed(6);
    assert!(text.contains("does not say who gives out tokens"), "{text}");
}

#[tokio::test]
async fn every_command_says_how_to_log_in_and_sends_nobody_to_a_browser() {
    let world = World::new("no-login").await;
    let advice = format!(
        "  try: log in with: toolwire login {} (or ",
        world.server.url()
    );
    for arguments in [
        &["discover", "URL"][..],
        &["tools", "URL"],
        &["call", "URL", "greet"],
        &["resources", "URL"],
        &["read", "URL", "a://b"],
        &["prompts", "URL"],
        &["prompt", "URL", "a"],
        &["complete", "URL", "a", "b=c"],
        &["listen", "URL", "--count", "1"],
        &["ping", "URL"],
        &["ping", "--era", "legacy", "URL"],
    ] {
        let text = world.run(arguments).await.failed(6);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{arguments:?}: {text}");
        assert!(
            lines[0].starts_with("toolwire: login: nobody is logged in at"),
            "{text}"
        );
        assert!(lines[1].starts_with(&advice), "{text}");
    }
    assert_eq!(world.issuer.state().registrations, 0, "nothing was begun");
    assert_eq!(world.opened(), "");
    assert!(!world.home().exists(), "nothing was kept");
    let text = world.run(&["tools", "--json", "URL"]).await.failed(6);
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(error["error"]["exit"], 6);
    assert_eq!(error["error"]["step"], "login");
}

#[tokio::test]
async fn tokens_are_never_shown() {
    let world = World::new("secrets").await;
    let mut said = String::new();
    let login = world.log_in(&["--verbose"]).await;
    said.push_str(&format!("{login:?}"));
    // Renewing is where most is said.
    world.let_time_pass();
    for arguments in [
        &["call", "URL", "greet", "-v"][..],
        &["whoami", "-v"],
        &["whoami", "URL", "--json"],
        &["logout", "URL", "-v"],
    ] {
        let mut command = world.command(arguments);
        command.env("RUST_LOG", "trace");
        let ran = run_command(command).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        said.push_str(&format!("{ran:?}"));
    }
    assert!(said.contains("TRACE"), "something was logged: {said}");
    for secret in ["access-", "refresh-", "code-"] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
}

#[tokio::test]
async fn a_token_file_that_is_damaged_is_named() {
    let world = World::new("damaged").await;
    world
        .scratch
        .write("home/tokens.json", "{\"toolwire_tokens\": 1, \"val");
    for arguments in [&["tools", "URL"][..], &["whoami"], &["logout", "URL"]] {
        let text = world.run(arguments).await.failed(6);
        assert!(text.contains("tokens.json"), "{text}");
        assert!(text.contains("move it away and log in again"), "{text}");
    }
}

#[tokio::test]
async fn stores_that_do_not_exist_are_refused() {
    let world = World::new("stores").await;
    for arguments in [&["whoami"][..], &["tools", "URL"]] {
        let mut command = world.command(arguments);
        command.env("TOOLWIRE_TOKEN_STORE", "paper");
        let text = run_command(command).await.failed(2);
        assert!(text.contains("TOOLWIRE_TOKEN_STORE=paper"), "{text}");
    }
    let mut command = world.command(&["whoami"]);
    command.env("TOOLWIRE_HOME", "here");
    let text = run_command(command).await.failed(2);
    assert!(text.contains("TOOLWIRE_HOME"), "{text}");
}

#[tokio::test]
async fn where_there_is_no_home_open_servers_can_still_be_used() {
    let demo = HttpDemo::start(&[]).await;
    let url = demo.url();
    let mut command = crate::process::toolwire(&["call", &url, "echo", "text=hi"]);
    for variable in ["TOOLWIRE_HOME", "HOME", "XDG_STATE_HOME", "LOCALAPPDATA"] {
        command.env_remove(variable);
    }
    assert_eq!(run_command(command).await.ok(), "hi\n");
}

#[tokio::test]
async fn a_header_of_the_user_comes_before_stored_logins() {
    let world = World::new("headers").await;
    world.log_in(&[]).await.ok();
    let header = "authorization: Bearer not-this-one";
    let text = world.run(&["tools", "URL", "-H", header]).await.failed(6);
    assert!(text.starts_with("toolwire: HTTP: "), "{text}");
    assert!(text.contains("not accepted"), "{text}");
}

#[tokio::test]
async fn a_login_is_for_one_server() {
    let world = World::new("elsewhere").await;
    world.log_in(&[]).await.ok();
    let fake = FakeHttp::answering("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    world.run(&["tools", &fake.url()]).await.failed(6);
    let head = fake.first_request().to_ascii_lowercase();
    assert!(!head.contains("authorization"), "{head}");
}
