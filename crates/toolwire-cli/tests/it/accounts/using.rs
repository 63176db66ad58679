//! Commands with a login: the token is sent, and renewed.

use crate::accounts::authorization_server::visit;
use crate::accounts::{LoggingIn, World};

#[tokio::test]
async fn a_token_that_is_over_is_renewed() {
    let world = World::new("renewed").await;
    world.log_in(&[]).await.ok();
    world.let_time_pass();
    for _ in 0..2 {
        let called = world.run(&["call", "URL", "greet"]).await;
        assert_eq!(called.ok(), "hello, friend\n");
    }
    assert_eq!(world.issuer.visits().refreshes, 1);
    assert!(world.tokens().contains("refresh-3"), "{}", world.tokens());
    assert!(!world.tokens().contains("refresh-2"), "{}", world.tokens());
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed() {
    let world = World::new("refused").await;
    world.log_in(&[]).await.ok();
    world.issuer.state().forget_access_tokens();
    let called = world.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
    assert_eq!(world.issuer.visits().refreshes, 1);
}

#[tokio::test]
async fn a_login_that_the_server_ended_has_to_be_made_anew() {
    let world = World::new("ended").await;
    world.log_in(&[]).await.ok();
    world.issuer.state().revoke_everything();
    let text = world.run(&["call", "URL", "greet"]).await.failed(6);
    let advice = format!("log in with: toolwire login {}", world.server.url());
    assert!(text.contains(&advice), "{text}");
    assert_eq!(world.opened(), "");
    world.log_in(&[]).await.ok();
    world.run(&["call", "URL", "greet"]).await.ok();
}

#[tokio::test]
async fn a_token_that_cannot_be_renewed_ends() {
    let world = World::new("no-refresh").await;
    world.issuer.state().gives_no_refresh_tokens = true;
    world.log_in(&[]).await.ok();
    let shown = world.run(&["whoami", "URL"]).await.ok();
    assert!(shown.contains(" min\n"), "{shown}");
    world.run(&["call", "URL", "greet"]).await.ok();
    world.issuer.state().forget_access_tokens();
    let text = world.run(&["call", "URL", "greet"]).await.failed(6);
    assert!(text.contains("log in with: toolwire login "), "{text}");
}

#[tokio::test]
async fn a_command_may_be_allowed_to_log_in() {
    let world = World::new("allowed").await;
    let command = world.command(&["call", "--login", "URL", "greet"]);
    let login = LoggingIn::start(command).await;
    visit(&visit(&login.url).await).await;
    assert_eq!(login.end().await.ok(), "hello, friend\n");
    // The login is kept.
    let called = world.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
    let called = world.run(&["call", "--login", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n", "and nobody is asked again");
}

#[tokio::test]
async fn other_eras_use_the_login_too() {
    let world = World::new("eras").await;
    world.log_in(&[]).await.ok();
    for era in ["modern", "legacy"] {
        let called = world.run(&["call", "--era", era, "URL", "greet"]).await;
        assert_eq!(called.ok(), "hello, friend\n", "{era}");
    }
}

#[tokio::test]
async fn a_login_that_does_not_grant_enough_says_what_is_missing() {
    let world = World::new("scopes").await;
    world.log_in(&[]).await.ok();
    let text = world.run(&["call", "URL", "send_mail"]).await.failed(6);
    let url = world.server.url();
    let (_, advice) = text.split_once("try: log in with: toolwire ").unwrap();
    let words = advice.trim().split_once(" --scope ").unwrap();
    assert_eq!(words.0, format!("login {url}"), "{text}");
    let scopes = words.1.trim_matches('\'');
    assert!(scopes.split(' ').any(|scope| scope == "mail"), "{text}");
    world.log_in(&["--scope", scopes]).await.ok();
    let called = world.run(&["call", "URL", "send_mail"]).await;
    assert_eq!(called.ok(), "sent\n");
}
