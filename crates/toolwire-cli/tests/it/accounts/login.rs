//! `login`, `whoami` and `logout`.

use serde_json::json;

use crate::accounts::authorization_server::open_page;
use crate::accounts::{Fixture, PendingLogin};
use crate::client::run;

#[tokio::test]
async fn login_is_stored_used_shown_and_deleted() {
    let fixture = Fixture::new("login").await;
    let url = fixture.server.url().to_owned();
    let ran = fixture.log_in(&[]).await;
    assert!(
        ran.stderr
            .contains(&format!("{}/authorize?", fixture.issuer.url)),
        "{ran:?}"
    );
    let output = ran.ok();
    assert!(output.contains(&url), "{output}");
    assert!(output.contains("renewed automatically"), "{output}");

    let shown = fixture.run(&["whoami", "URL"]).await.ok();
    assert_eq!(shown, output);
    let list = fixture.run(&["whoami"]).await.ok();
    assert!(list.starts_with("SERVER"), "{list}");
    assert!(list.contains(&url), "{list}");
    let called = fixture.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");

    let out = fixture.run(&["logout", "URL"]).await.ok();
    assert_eq!(out, format!("logged out at {url}\n"));
    assert_eq!(fixture.issuer.state().revoked, ["refresh-2"]);
    assert!(
        !fixture.tokens().contains("refresh-2"),
        "{}",
        fixture.tokens()
    );
    let text = fixture.run(&["call", "URL", "greet"]).await.failed(6);
    assert!(text.contains(&format!("toolwire login {url}")), "{text}");
    let text = fixture.run(&["whoami", "URL"]).await.failed(6);
    assert!(text.contains(&format!("toolwire login {url}")), "{text}");
    let list = fixture.run(&["whoami"]).await.ok();
    assert!(list.contains("there are no logins"), "{list}");
    let out = fixture.run(&["logout", "URL"]).await.ok();
    assert_eq!(out, "there was no login\n");
}

#[tokio::test]
async fn json_output_is_one_object() {
    let fixture = Fixture::new("login-json").await;
    let url = fixture.server.url().to_owned();
    let ran = fixture.log_in(&["--json"]).await;
    let account: serde_json::Value = serde_json::from_str(&ran.ok()).unwrap();
    let expires_at = account["expiresAt"].as_u64().unwrap();
    let expected = json!({
        "server": url, "issuer": fixture.issuer.url, "clientId": "client-1", "user": null,
        "scopes": ["notes"], "expiresAt": expires_at, "canRefresh": true,
    });
    assert_eq!(account, expected);
    assert_eq!(
        fixture.run(&["whoami", "--json", "URL"]).await.json(),
        expected
    );
    assert_eq!(
        fixture.run(&["whoami", "--json"]).await.json(),
        json!([expected])
    );
    let out = fixture.run(&["logout", "--all", "--json"]).await.json();
    assert_eq!(
        out,
        json!({"loggedOut": [{"server": url, "revoked": true}]})
    );
    assert_eq!(fixture.run(&["whoami", "--json"]).await.json(), json!([]));
    let out = fixture.run(&["logout", "--all"]).await.ok();
    assert_eq!(out, "there was no login\n");
}

#[tokio::test]
async fn failed_revocation_is_reported() {
    let fixture = Fixture::new("logout-alone").await;
    fixture.log_in(&[]).await.ok();
    fixture.issuer.state().is_down = true;
    let out = fixture.run(&["logout", "URL"]).await.ok();
    assert!(out.contains("valid until they expire: "), "{out}");
    assert_eq!(fixture.run(&["whoami", "--json"]).await.json(), json!([]));
}

#[tokio::test]
async fn second_login_replaces_the_first() {
    let fixture = Fixture::new("login-again").await;
    fixture.log_in(&[]).await.ok();
    fixture.log_in(&["--scope", "mail"]).await.ok();
    assert_eq!(
        fixture.issuer.state().registrations,
        1,
        "the client is registered once"
    );
    let list = fixture.run(&["whoami", "--json"]).await.json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    let requested = fixture.issuer.state().requested_scopes.clone();
    let requested: Vec<_> = requested.last().unwrap().split(' ').collect();
    assert!(
        requested.contains(&"mail") && requested.contains(&"notes"),
        "{requested:?}"
    );
}

#[tokio::test]
async fn redirect_address_can_be_pasted() {
    let fixture = Fixture::new("login-paste").await;
    let command = fixture.command(&["login", "--no-browser", "URL"]);
    let mut login = PendingLogin::start(command).await;
    let redirect = open_page(&login.url).await;
    login.paste("what?").await;
    login.wait_for_output("paste the complete URL").await;
    login
        .paste("http://127.0.0.1:1/callback?code=x&state=forged")
        .await;
    login.wait_for_output("does not belong to this login").await;
    login.paste(&redirect).await;
    let output = login.end().await.ok();
    assert!(output.contains("renewed automatically"), "{output}");
    assert_eq!(fixture.opened(), "", "no browser was opened");
}

#[cfg(all(unix, not(target_os = "macos")))]
#[tokio::test]
async fn browser_is_opened() {
    let fixture = Fixture::new("login-browser").await;
    // A named pipe, so that the test can wait for the browser.
    let trace = fixture.directory.0.join("opened");
    let made = std::process::Command::new("mkfifo").arg(&trace).status();
    assert!(made.unwrap().success());
    let login = PendingLogin::start(fixture.command(&["login", "URL"])).await;
    let opened = tokio::task::spawn_blocking(|| std::fs::read_to_string(trace));
    let opened = crate::process::within(opened).await.unwrap().unwrap();
    assert_eq!(opened, format!("{}\n", login.url));
    open_page(&open_page(&login.url).await).await;
    login.end().await.ok();
}

#[tokio::test]
async fn denied_login_is_an_error() {
    let fixture = Fixture::new("login-denied").await;
    fixture.issuer.state().denies = true;
    let ran = fixture.log_in(&[]).await;
    let text = ran.failed(6);
    assert!(text.contains("toolwire: login: "), "{text}");
    assert!(text.contains("access_denied"), "{text}");
    assert_eq!(fixture.run(&["whoami", "--json"]).await.json(), json!([]));
}

#[tokio::test]
async fn login_that_cannot_be_stored_is_an_error() {
    let fixture = Fixture::new("login-not-stored").await;
    let command = fixture.command(&["login", "--no-browser", "URL"]);
    let login = PendingLogin::start(command).await;
    // A directory blocks the temporary file that the store writes first.
    fixture
        .directory
        .write("home/tokens.json.new/something", "");
    open_page(&open_page(&login.url).await).await;
    let text = login.end().await.failed(6);
    assert!(text.contains("cannot use the token file"), "{text}");
    assert_eq!(fixture.run(&["whoami", "--json"]).await.json(), json!([]));
}

#[cfg(unix)]
#[tokio::test]
async fn interrupted_login_can_be_repeated() {
    let fixture = Fixture::new("login-interrupted").await;
    let command = fixture.command(&["login", "--no-browser", "URL"]);
    let login = PendingLogin::start(command).await;
    let id = login.child.id().expect("the process still runs");
    let id = rustix::process::Pid::from_raw(id.cast_signed()).expect("a process id is not zero");
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(login.end().await.code, Some(130));
    fixture.log_in(&[]).await.ok();
}

#[tokio::test]
async fn manually_registered_client_refreshes_with_its_secret() {
    let fixture = Fixture::new("login-client").await;
    let id = "by-hand".to_owned();
    fixture
        .issuer
        .state()
        .secrets
        .insert(id, "p4ssword".to_owned());
    let file = fixture.directory.write("secret", "p4ssword\n");
    let issuer = fixture.issuer.url.clone();
    let arguments = [
        "--client-id",
        "by-hand",
        "--issuer",
        &issuer,
        "--client-secret-file",
        &file,
    ];
    let ran = fixture.log_in(&arguments).await;
    assert!(!ran.stderr.contains("p4ssword"), "{ran:?}");
    assert!(!ran.ok().contains("p4ssword"));
    assert_eq!(fixture.issuer.state().registrations, 0);
    fixture.expire_access_tokens();
    let called = fixture.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
    assert_eq!(fixture.issuer.counts().refreshes, 1);
}

#[tokio::test]
async fn client_secret_is_read_from_the_environment() {
    let fixture = Fixture::new("login-secret").await;
    let id = "by-hand".to_owned();
    fixture
        .issuer
        .state()
        .secrets
        .insert(id, "p4ssword".to_owned());
    let arguments = ["login", "--no-browser", "URL", "--client-id", "by-hand"];
    let mut words = arguments.to_vec();
    words.extend(["--client-secret-env", "TOOLWIRE_TEST_SECRET"]);
    let mut command = fixture.command(&words);
    command.env("TOOLWIRE_TEST_SECRET", "p4ssword");
    let login = PendingLogin::start(command).await;
    open_page(&open_page(&login.url).await).await;
    login.end().await.ok();

    let text = fixture.run(&words).await.failed(2);
    assert!(
        text.contains("TOOLWIRE_TEST_SECRET has no secret"),
        "{text}"
    );
}

#[tokio::test]
async fn port_in_use_is_an_error() {
    let fixture = Fixture::new("login-port").await;
    let first = PendingLogin::start(fixture.command(&["login", "--no-browser", "URL"])).await;
    let (_, port) = first
        .url
        .split_once("127.0.0.1%3A")
        .expect("the URL has a redirect");
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    // In another directory, so that the two logins do not wait for one store.
    let mut command = fixture.command(&["login", "--no-browser", "URL", "--port", &port]);
    command.env("TOOLWIRE_HOME", fixture.directory.0.join("another-home"));
    let text = crate::client::run_command(command).await.failed(6);
    assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
    assert!(text.contains("another port"), "{text}");
}

#[tokio::test]
async fn login_at_a_command_is_an_error() {
    let fixture = Fixture::new("login-command").await;
    let config = json!({"mcpServers": {
        "child": {"command": "anything"}, "web": {"url": fixture.server.url()},
    }});
    let config = fixture.directory.write("servers.json", &config.to_string());
    let text = fixture.run(&["login", "child", "--config", &config]).await;
    let text = text.failed(2);
    assert!(text.contains("`child` is a command"), "{text}");
    let text = fixture.run(&["whoami", "web", "--config", &config]).await;
    assert!(text.failed(6).contains(fixture.server.url()));
}

#[tokio::test]
async fn client_secret_is_not_an_option() {
    let help = run(&["login", "--help"]).await.ok();
    for option in [
        "--scope",
        "--client-id",
        "--client-secret-file",
        "--client-secret-env",
        "--port",
        "--no-browser",
    ] {
        assert!(help.contains(option), "{option}: {help}");
    }
    assert!(help.contains("TOOLWIRE_HOME"), "{help}");
    let text = run(&["login", "--client-secret", "x", "http://127.0.0.1:9/mcp"]).await;
    text.failed(2);
    let text = run(&[
        "login",
        "--client-secret-env",
        "X",
        "http://127.0.0.1:9/mcp",
    ])
    .await;
    assert!(text.failed(2).contains("--client-id"));
}
