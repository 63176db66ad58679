//! The messages without a login, and texts that are never shown.

use serde_json::Value;

use crate::accounts::Fixture;
use crate::client::fake_http::FakeHttp;
use crate::client::{run, run_command};
use crate::http::HttpDemo;

#[tokio::test]
async fn unknown_server_has_the_same_message_in_all_commands() {
    let text = run(&["login", "http://127.0.0.1:9/mcp"]).await.failed(3);
    assert!(text.starts_with("toolwire: TCP: "), "{text}");
    let text = run(&["login", "http://example.com/mcp"]).await.failed(6);
    assert!(text.contains("http://example.com/mcp"), "{text}");
    assert!(text.contains("toolwire: login: "), "{text}");
    let text = run(&["login", "javascript:alert(1)"]).await.failed(2);
    assert!(text.contains("no server named"), "{text}");
}

#[tokio::test]
async fn login_at_an_unprotected_server_is_an_error() {
    let demo = HttpDemo::start(&[]).await;
    let text = run(&["login", "--no-browser", &demo.url()]).await.failed(6);
    assert!(
        text.contains("does not name its authorization server"),
        "{text}"
    );
}

#[tokio::test]
async fn every_command_shows_how_to_log_in_and_opens_no_browser() {
    let fixture = Fixture::new("no-login").await;
    let advice = format!(
        "  try: log in with: toolwire login {} (or ",
        fixture.server.url()
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
        let text = fixture.run(arguments).await.failed(6);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{arguments:?}: {text}");
        assert!(
            lines[0].starts_with("toolwire: login: there is no login at"),
            "{text}"
        );
        assert!(lines[1].starts_with(&advice), "{text}");
    }
    assert_eq!(
        fixture.issuer.state().registrations,
        0,
        "no login was started"
    );
    assert_eq!(fixture.opened(), "");
    assert!(!fixture.home().exists(), "nothing was stored");
    let text = fixture.run(&["tools", "--json", "URL"]).await.failed(6);
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(error["error"]["exit"], 6);
    assert_eq!(error["error"]["step"], "login");
}

#[tokio::test]
async fn tokens_are_never_shown() {
    let fixture = Fixture::new("secrets").await;
    let mut output = String::new();
    let login = fixture.log_in(&["--verbose"]).await;
    output.push_str(&format!("{login:?}"));
    // Most messages are logged during a refresh.
    fixture.expire_access_tokens();
    for arguments in [
        &["call", "URL", "greet", "-v"][..],
        &["whoami", "-v"],
        &["whoami", "URL", "--json"],
        &["logout", "URL", "-v"],
    ] {
        let mut command = fixture.command(arguments);
        command.env("RUST_LOG", "trace");
        let ran = run_command(command).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        output.push_str(&format!("{ran:?}"));
    }
    assert!(output.contains("TRACE"), "something was logged: {output}");
    for secret in ["access-", "refresh-", "code-"] {
        assert!(!output.contains(secret), "{secret}: {output}");
    }
}

#[tokio::test]
async fn damaged_token_file_is_named() {
    let fixture = Fixture::new("damaged").await;
    fixture
        .directory
        .write("home/tokens.json", "{\"toolwire_tokens\": 1, \"val");
    for arguments in [&["tools", "URL"][..], &["whoami"], &["logout", "URL"]] {
        let text = fixture.run(arguments).await.failed(6);
        assert!(text.contains("tokens.json"), "{text}");
        assert!(text.contains("move it away and log in again"), "{text}");
    }
}

#[tokio::test]
async fn unknown_token_store_is_an_error() {
    let fixture = Fixture::new("stores").await;
    for arguments in [&["whoami"][..], &["tools", "URL"]] {
        let mut command = fixture.command(arguments);
        command.env("TOOLWIRE_TOKEN_STORE", "paper");
        let text = run_command(command).await.failed(2);
        assert!(text.contains("TOOLWIRE_TOKEN_STORE=paper"), "{text}");
    }
    let mut command = fixture.command(&["whoami"]);
    command.env("TOOLWIRE_HOME", "here");
    let text = run_command(command).await.failed(2);
    assert!(text.contains("TOOLWIRE_HOME"), "{text}");
}

#[tokio::test]
async fn unprotected_server_works_without_a_home_directory() {
    let demo = HttpDemo::start(&[]).await;
    let url = demo.url();
    let mut command = crate::process::toolwire(&["call", &url, "echo", "text=hi"]);
    for variable in ["TOOLWIRE_HOME", "HOME", "XDG_STATE_HOME", "LOCALAPPDATA"] {
        command.env_remove(variable);
    }
    assert_eq!(run_command(command).await.ok(), "hi\n");
}

#[tokio::test]
async fn header_option_replaces_the_stored_login() {
    let fixture = Fixture::new("headers").await;
    fixture.log_in(&[]).await.ok();
    let header = "authorization: Bearer not-this-one";
    let text = fixture.run(&["tools", "URL", "-H", header]).await.failed(6);
    assert!(text.starts_with("toolwire: HTTP: "), "{text}");
    assert!(text.contains("not accepted"), "{text}");
}

#[tokio::test]
async fn login_is_sent_to_its_server_only() {
    let fixture = Fixture::new("elsewhere").await;
    fixture.log_in(&[]).await.ok();
    let fake = FakeHttp::responding("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    fixture.run(&["tools", &fake.url()]).await.failed(6);
    let head = fake.first_request().to_ascii_lowercase();
    assert!(!head.contains("authorization"), "{head}");
}
