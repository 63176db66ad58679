//! Several processes and one login, whose refresh token is good for one time.

use crate::accounts::World;
use crate::client::run_command;

/// A login that has to be renewed.
async fn world(name: &str) -> World {
    let world = World::new(name).await;
    world.log_in(&[]).await.ok();
    world.let_time_pass();
    world
}

#[tokio::test]
async fn of_several_processes_one_renews_the_login() {
    let world = world("several").await;
    // The first has its answer only when the others want to renew the login, too.
    let before = world.issuer.visits().metadata;
    world.issuer.state().holds_refreshes_until = before + 4;
    let calls = (0..4).map(|_| {
        let command = world.command(&["call", "URL", "greet"]);
        tokio::spawn(run_command(command))
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap().ok(), "hello, friend\n");
    }
    assert_eq!(
        world.issuer.visits().refreshes,
        1,
        "the others took what the first got"
    );
    world.run(&["call", "URL", "greet"]).await.ok();
    assert_eq!(world.issuer.visits().refreshes, 1, "and it was kept");
}

#[tokio::test]
async fn a_process_that_dies_before_it_renews_leaves_the_login_as_it_was() {
    let world = world("dies-early").await;
    world.issuer.state().holds_refreshes_until = usize::MAX;
    let mut first = world
        .command(&["call", "URL", "greet"])
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    world.issuer.until(|visits| visits.refreshes == 1).await;
    first.kill().await.unwrap();
    world.issuer.state().holds_refreshes_until = 0;
    // Its lock is gone with it, and the refresh token is still good.
    let called = world.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
}

#[tokio::test]
async fn a_process_that_dies_with_the_new_token_costs_a_login_and_no_more() {
    let world = world("dies-late").await;
    world.issuer.state().swallows_answers = true;
    let mut first = world
        .command(&["call", "URL", "greet"])
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    world.issuer.until(|visits| visits.refreshes == 1).await;
    first.kill().await.unwrap();
    world.issuer.state().swallows_answers = false;
    // The old refresh token was used up. The server takes whoever comes with it for a thief.
    let text = world.run(&["call", "URL", "greet"]).await.failed(6);
    assert!(text.contains("log in with: toolwire login "), "{text}");
    world.log_in(&[]).await.ok();
    let called = world.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
}

#[tokio::test]
async fn a_server_that_is_down_for_a_while_costs_no_login() {
    let world = world("down").await;
    world.issuer.state().is_down = true;
    let text = world.run(&["call", "URL", "greet"]).await.failed(6);
    assert!(text.contains("503"), "{text}");
    assert!(!text.contains("toolwire login"), "{text}");
    assert!(world.tokens().contains("refresh-2"), "{}", world.tokens());
    world.issuer.state().is_down = false;
    let called = world.run(&["call", "URL", "greet"]).await;
    assert_eq!(called.ok(), "hello, friend\n");
}
