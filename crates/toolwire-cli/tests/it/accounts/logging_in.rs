//! `login`, `whoami` and `logout`.

use serde_json::json;

use crate::accounts::authorization_server::visit;
use crate::accounts::{LoggingIn, World};
use crate::client::run;

#[tokio::test]
async fn a_login_is_kept_used_shown_and_forgotten() {
    let world = World::new("login").await;
    let url = world.server.url().to_owned();
    let ran = world.log_in(&[]).await;
    assert!(
        ran.err
            .contains(&format!("{}/authorize?", world.issuer.url)),
        "{ran:?}"
    );
    let said = ran.ok();
    assert!(said.contains(&url), "{said}");
    assert!(said.contains("renews itself"), "{said}");

    let shown = world.run(&["whoami", "URL"]).await.ok();
    assert_eq!(shown, said);
    let list = world.run(&["whoami"]).await.ok();
    assert!(list.starts_with("SERVER"), "{list}");
    assert!(list.contains(&url), "{list}");
    let called = world.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");

    let out = world.run(&["logout", "URL"]).await.ok();
    assert_eq!(out, format!("logged out at {url}\n"));
    assert_eq!(world.issuer.state().revoked, ["refresh-2"]);
    assert!(!world.tokens().contains("refresh-2"), "{}", world.tokens());
    let text = world.run(&["call", "URL", "greet"]).await.failed(6);
    assert!(text.contains(&format!("toolwire login {url}")), "{text}");
    let text = world.run(&["whoami", "URL"]).await.failed(6);
    assert!(text.contains(&format!("toolwire login {url}")), "{text}");
    let list = world.run(&["whoami"]).await.ok();
    assert!(list.contains("there are no logins"), "{list}");
    let out = world.run(&["logout", "URL"]).await.ok();
    assert_eq!(out, "there was no login\n");
}

#[tokio::test]
async fn programs_get_json() {
    let world = World::new("login-json").await;
    let url = world.server.url().to_owned();
    let ran = world.log_in(&["--json"]).await;
    let account: serde_json::Value = serde_json::from_str(&ran.ok()).unwrap();
    let expires_at = account["expiresAt"].as_u64().unwrap();
    let expected = json!({
        "server": url, "issuer": world.issuer.url, "clientId": "client-1", "user": null,
        "scopes": ["notes"], "expiresAt": expires_at, "canRefresh": true,
    });
    assert_eq!(account, expected);
    assert_eq!(
        world.run(&["whoami", "--json", "URL"]).await.json(),
        expected
    );
    assert_eq!(
        world.run(&["whoami", "--json"]).await.json(),
        json!([expected])
    );
    let out = world.run(&["logout", "--all", "--json"]).await.json();
    assert_eq!(
        out,
        json!({"loggedOut": [{"server": url, "revoked": true}]})
    );
    assert_eq!(world.run(&["whoami", "--json"]).await.json(), json!([]));
    let out = world.run(&["logout", "--all"]).await.ok();
    assert_eq!(out, "there was no login\n");
}

#[tokio::test]
async fn who_cannot_have_a_login_revoked_is_told() {
    let world = World::new("logout-alone").await;
    world.log_in(&[]).await.ok();
    world.issuer.state().is_down = true;
    let out = world.run(&["logout", "URL"]).await.ok();
    assert!(out.contains("valid until they expire: "), "{out}");
    assert_eq!(world.run(&["whoami", "--json"]).await.json(), json!([]));
}

#[tokio::test]
async fn logging_in_again_takes_the_place_of_the_old_login() {
    let world = World::new("login-again").await;
    world.log_in(&[]).await.ok();
    world.log_in(&["--scope", "mail"]).await.ok();
    assert_eq!(world.issuer.state().registrations, 1, "the client is known");
    let list = world.run(&["whoami", "--json"]).await.json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    let asked = world.issuer.state().scopes_asked.clone();
    let asked: Vec<_> = asked.last().unwrap().split(' ').collect();
    assert!(
        asked.contains(&"mail") && asked.contains(&"notes"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn an_address_can_be_pasted() {
    let world = World::new("login-paste").await;
    let command = world.command(&["login", "--no-browser", "URL"]);
    let mut login = LoggingIn::start(command).await;
    let back = visit(&login.url).await;
    login.paste("what?").await;
    login.until_said("paste the whole address").await;
    login
        .paste("http://127.0.0.1:1/callback?code=x&state=forged")
        .await;
    login.until_said("does not belong to this login").await;
    login.paste(&back).await;
    let said = login.end().await.ok();
    assert!(said.contains("renews itself"), "{said}");
    assert_eq!(world.opened(), "", "no browser was wanted");
}

#[cfg(all(unix, not(target_os = "macos")))]
#[tokio::test]
async fn the_browser_is_opened() {
    let world = World::new("login-browser").await;
    // A pipe, so that the browser can be waited for.
    let trace = world.scratch.0.join("opened");
    let made = std::process::Command::new("mkfifo").arg(&trace).status();
    assert!(made.unwrap().success());
    let login = LoggingIn::start(world.command(&["login", "URL"])).await;
    let opened = tokio::task::spawn_blocking(|| std::fs::read_to_string(trace));
    let opened = crate::process::within(opened).await.unwrap().unwrap();
    assert_eq!(opened, format!("{}\n", login.url));
    visit(&visit(&login.url).await).await;
    login.end().await.ok();
}

#[tokio::test]
async fn a_user_who_says_no_is_not_logged_in() {
    let world = World::new("login-denied").await;
    world.issuer.state().denies = true;
    let ran = world.log_in(&[]).await;
    let text = ran.failed(6);
    assert!(text.contains("toolwire: login: "), "{text}");
    assert!(text.contains("access_denied"), "{text}");
    assert_eq!(world.run(&["whoami", "--json"]).await.json(), json!([]));
}

#[tokio::test]
async fn a_login_that_cannot_be_kept_is_an_error() {
    let world = World::new("login-unkept").await;
    let command = world.command(&["login", "--no-browser", "URL"]);
    let login = LoggingIn::start(command).await;
    // Something is where the new version of the file has to be written first.
    world.scratch.write("home/tokens.json.new/something", "");
    visit(&visit(&login.url).await).await;
    let text = login.end().await.failed(6);
    assert!(text.contains("tokens.json cannot be used"), "{text}");
    assert_eq!(world.run(&["whoami", "--json"]).await.json(), json!([]));
}

#[cfg(unix)]
#[tokio::test]
async fn a_login_can_be_interrupted_and_begun_again() {
    let world = World::new("login-interrupted").await;
    let command = world.command(&["login", "--no-browser", "URL"]);
    let login = LoggingIn::start(command).await;
    let id = login.child.id().expect("nobody has waited for it yet");
    let id = rustix::process::Pid::from_raw(id.cast_signed()).expect("it is not zero");
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(login.end().await.code, Some(130));
    world.log_in(&[]).await.ok();
}

#[tokio::test]
async fn a_client_that_was_registered_by_hand_renews_with_its_secret() {
    let world = World::new("login-client").await;
    let id = "by-hand".to_owned();
    world
        .issuer
        .state()
        .secrets
        .insert(id, "p4ssword".to_owned());
    let file = world.scratch.write("secret", "p4ssword\n");
    let issuer = world.issuer.url.clone();
    let arguments = [
        "--client-id",
        "by-hand",
        "--issuer",
        &issuer,
        "--client-secret-file",
        &file,
    ];
    let ran = world.log_in(&arguments).await;
    assert!(!ran.err.contains("p4ssword"), "{ran:?}");
    assert!(!ran.ok().contains("p4ssword"));
    assert_eq!(world.issuer.state().registrations, 0);
    world.let_time_pass();
    let called = world.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
    assert_eq!(world.issuer.visits().refreshes, 1);
}

#[tokio::test]
async fn a_secret_can_be_in_the_environment() {
    let world = World::new("login-secret").await;
    let id = "by-hand".to_owned();
    world
        .issuer
        .state()
        .secrets
        .insert(id, "p4ssword".to_owned());
    let arguments = ["login", "--no-browser", "URL", "--client-id", "by-hand"];
    let mut words = arguments.to_vec();
    words.extend(["--client-secret-env", "TOOLWIRE_TEST_SECRET"]);
    let mut command = world.command(&words);
    command.env("TOOLWIRE_TEST_SECRET", "p4ssword");
    let login = LoggingIn::start(command).await;
    visit(&visit(&login.url).await).await;
    login.end().await.ok();

    let text = world.run(&words).await.failed(2);
    assert!(
        text.contains("TOOLWIRE_TEST_SECRET has no secret"),
        "{text}"
    );
}

#[tokio::test]
async fn one_port_is_for_one_login() {
    let world = World::new("login-port").await;
    let first = LoggingIn::start(world.command(&["login", "--no-browser", "URL"])).await;
    let (_, port) = first
        .url
        .split_once("127.0.0.1%3A")
        .expect("the redirect is in it");
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    // Somewhere else, so that the two do not wait for each other at the store.
    let mut command = world.command(&["login", "--no-browser", "URL", "--port", &port]);
    command.env("TOOLWIRE_HOME", world.scratch.0.join("another-home"));
    let text = crate::client::run_command(command).await.failed(6);
    assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
    assert!(text.contains("another port"), "{text}");
}

#[tokio::test]
async fn commands_are_not_logged_in_at() {
    let world = World::new("login-command").await;
    let config = json!({"mcpServers": {
        "child": {"command": "anything"}, "web": {"url": world.server.url()},
    }});
    let config = world.scratch.write("servers.json", &config.to_string());
    let text = world.run(&["login", "child", "--config", &config]).await;
    let text = text.failed(2);
    assert!(text.contains("`child` is a command"), "{text}");
    let text = world.run(&["whoami", "web", "--config", &config]).await;
    assert!(text.failed(6).contains(world.server.url()));
}

#[tokio::test]
async fn secrets_do_not_come_from_the_command_line() {
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
