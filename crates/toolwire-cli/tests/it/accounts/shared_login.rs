//! Several processes that share one login with a single-use refresh token.

use crate::accounts::Fixture;
use crate::client::run_command;

/// Creates a login that has to be refreshed.
async fn fixture(name: &str) -> Fixture {
    let fixture = Fixture::new(name).await;
    fixture.log_in(&[]).await.ok();
    fixture.expire_access_tokens();
    fixture
}

#[tokio::test]
async fn one_of_several_processes_refreshes_the_login() {
    let fixture = fixture("several").await;
    // The first refresh gets its response only after the other processes try to refresh, too.
    let before = fixture.issuer.counts().metadata;
    fixture.issuer.state().delays_refreshes_until = before + 4;
    let calls = (0..4).map(|_| {
        let command = fixture.command(&["call", "URL", "greet"]);
        tokio::spawn(run_command(command))
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap().ok(), "hello, friend\n");
    }
    assert_eq!(
        fixture.issuer.counts().refreshes,
        1,
        "the others use the new token"
    );
    fixture.run(&["call", "URL", "greet"]).await.ok();
    assert_eq!(
        fixture.issuer.counts().refreshes,
        1,
        "the new token is stored"
    );
}

#[tokio::test]
async fn process_killed_before_the_refresh_leaves_the_login_unchanged() {
    let fixture = fixture("dies-early").await;
    fixture.issuer.state().delays_refreshes_until = usize::MAX;
    let mut first = fixture
        .command(&["call", "URL", "greet"])
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    fixture.issuer.until(|counts| counts.refreshes == 1).await;
    first.kill().await.unwrap();
    fixture.issuer.state().delays_refreshes_until = 0;
    // Its lock is released, and the refresh token is still valid.
    let called = fixture.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
}

#[tokio::test]
async fn process_killed_after_the_refresh_requires_a_new_login() {
    let fixture = fixture("dies-late").await;
    fixture.issuer.state().drops_responses = true;
    let mut first = fixture
        .command(&["call", "URL", "greet"])
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    fixture.issuer.until(|counts| counts.refreshes == 1).await;
    first.kill().await.unwrap();
    fixture.issuer.state().drops_responses = false;
    // The old refresh token is used. The server treats a second use as theft.
    let text = fixture.run(&["call", "URL", "greet"]).await.failed(6);
    assert!(text.contains("log in with: toolwire login "), "{text}");
    fixture.log_in(&[]).await.ok();
    let called = fixture.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
}

#[tokio::test]
async fn unavailable_authorization_server_does_not_end_the_login() {
    let fixture = fixture("down").await;
    fixture.issuer.state().is_down = true;
    let text = fixture.run(&["call", "URL", "greet"]).await.failed(6);
    assert!(text.contains("503"), "{text}");
    assert!(!text.contains("toolwire login"), "{text}");
    assert!(
        fixture.tokens().contains("refresh-2"),
        "{}",
        fixture.tokens()
    );
    fixture.issuer.state().is_down = false;
    let called = fixture.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
}
