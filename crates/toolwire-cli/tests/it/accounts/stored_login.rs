//! Commands with a login: the token is sent and refreshed.

use crate::accounts::authorization_server::open_page;
use crate::accounts::{Fixture, PendingLogin};

#[tokio::test]
async fn expired_token_is_refreshed() {
    let fixture = Fixture::new("renewed").await;
    fixture.log_in(&[]).await.ok();
    fixture.expire_access_tokens();
    for _ in 0..2 {
        let called = fixture.run(&["call", "URL", "greet"]).await;
        assert_eq!(called.ok(), "hello, friend\n");
    }
    assert_eq!(fixture.issuer.counts().refreshes, 1);
    assert!(
        fixture.tokens().contains("refresh-3"),
        "{}",
        fixture.tokens()
    );
    assert!(
        !fixture.tokens().contains("refresh-2"),
        "{}",
        fixture.tokens()
    );
}

#[tokio::test]
async fn rejected_token_is_refreshed() {
    let fixture = Fixture::new("rejected").await;
    fixture.log_in(&[]).await.ok();
    fixture.issuer.state().invalidate_access_tokens();
    let called = fixture.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
    assert_eq!(fixture.issuer.counts().refreshes, 1);
}

#[tokio::test]
async fn revoked_login_requires_a_new_login() {
    let fixture = Fixture::new("ended").await;
    fixture.log_in(&[]).await.ok();
    fixture.issuer.state().revoke_all_tokens();
    let text = fixture.run(&["call", "URL", "greet"]).await.failed(6);
    let advice = format!("log in with: toolwire login {}", fixture.server.url());
    assert!(text.contains(&advice), "{text}");
    assert_eq!(fixture.opened(), "");
    fixture.log_in(&[]).await.ok();
    fixture.run(&["call", "URL", "greet"]).await.ok();
}

#[tokio::test]
async fn token_without_refresh_expires() {
    let fixture = Fixture::new("no-refresh").await;
    fixture.issuer.state().omits_refresh_tokens = true;
    fixture.log_in(&[]).await.ok();
    let shown = fixture.run(&["whoami", "URL"]).await.ok();
    assert!(shown.contains(" min\n"), "{shown}");
    fixture.run(&["call", "URL", "greet"]).await.ok();
    fixture.issuer.state().invalidate_access_tokens();
    let text = fixture.run(&["call", "URL", "greet"]).await.failed(6);
    assert!(text.contains("log in with: toolwire login "), "{text}");
}

#[tokio::test]
async fn login_option_logs_in() {
    let fixture = Fixture::new("allowed").await;
    let command = fixture.command(&["call", "--login", "URL", "greet"]);
    let login = PendingLogin::start(command).await;
    open_page(&open_page(&login.url).await).await;
    assert_eq!(login.end().await.ok(), "hello, friend\n");
    // The login is stored.
    let called = fixture.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
    let called = fixture.run(&["call", "--login", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n", "no second login");
}

#[tokio::test]
async fn legacy_era_uses_the_login() {
    let fixture = Fixture::new("eras").await;
    fixture.log_in(&[]).await.ok();
    for era in ["modern", "legacy"] {
        let called = fixture.run(&["call", "--era", era, "URL", "greet"]).await;
        assert_eq!(called.ok(), "hello, friend\n", "{era}");
    }
}

#[tokio::test]
async fn missing_scope_is_named() {
    let fixture = Fixture::new("scopes").await;
    fixture.log_in(&[]).await.ok();
    let text = fixture.run(&["call", "URL", "send_mail"]).await.failed(6);
    let url = fixture.server.url();
    let (_, advice) = text.split_once("try: log in with: toolwire ").unwrap();
    let words = advice.trim().split_once(" --scope ").unwrap();
    assert_eq!(words.0, format!("login {url}"), "{text}");
    let scopes = words.1.trim_matches('\'');
    assert!(scopes.split(' ').any(|scope| scope == "mail"), "{text}");
    fixture.log_in(&["--scope", scopes]).await.ok();
    let called = fixture.run(&["call", "URL", "send_mail"]).await;
    assert_eq!(called.ok(), "sent\n");
}
