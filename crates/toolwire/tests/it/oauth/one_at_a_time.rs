//! Many requests want a token at the same time.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Notify;
use toolwire::Client;
use toolwire::transport::http_client::{HttpClient as _, HttpError, HttpPhase};
use toolwire_auth::client::{AuthError, MemoryTokenStore, OAuthConfig, OAuthHttpClient};

use super::town::{SERVER, Town, call};

const MANY: usize = 32;

async fn many_calls(client: &Arc<OAuthHttpClient<Town>>) -> Vec<Result<StatusCode, HttpError>> {
    let calls = (0..MANY).map(|_| {
        let client = Arc::clone(client);
        tokio::spawn(async move { client.send(call("add")).await.map(|answer| answer.status()) })
    });
    let mut outcomes = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        outcomes.push(call.await.unwrap());
    }
    outcomes
}

#[tokio::test]
async fn a_user_is_asked_once_however_many_wait() {
    let town = Town::default();
    let client = town.client(town.oauth());
    for outcome in many_calls(&client).await {
        assert_eq!(outcome.unwrap(), 200);
    }
    assert_eq!(town.count("GET /authorize"), 1);
    assert_eq!(town.count("POST /register"), 1);
    assert_eq!(town.count("POST /token"), 1);
}

#[tokio::test]
async fn a_user_who_says_no_says_it_for_all_who_wait() {
    let town = Town::default();
    let denied = "error=access_denied&iss=https%3A%2F%2Fauth.example.com";
    town.rules().user_says = Some(denied.to_owned());
    let client = town.client(town.oauth());
    for outcome in many_calls(&client).await {
        let failure = outcome.unwrap_err();
        assert_eq!(failure.step(), HttpPhase::Authorize);
        let source = std::error::Error::source(&failure).unwrap();
        assert!(source.to_string().contains("access_denied"), "{source}");
    }
    assert_eq!(town.count("GET /authorize"), 1);
    // Who comes later may ask again.
    town.rules().user_says = None;
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("GET /authorize"), 2);
}

#[tokio::test]
async fn an_old_token_is_refreshed_once_however_many_notice() {
    let town = Town::default();
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    town.revoke_all(false);
    for outcome in many_calls(&client).await {
        assert_eq!(outcome.unwrap(), 200);
    }
    assert_eq!(town.count("POST /token"), 2);
    assert_eq!(town.count("GET /authorize"), 1);
}

#[tokio::test]
async fn two_clients_with_one_store_refresh_once() {
    let town = Town::default();
    let store = Arc::new(MemoryTokenStore::new());
    let oauth = || town.oauth().with_store(Arc::clone(&store));
    let (one, two) = (town.client(oauth()), town.client(oauth()));
    assert_eq!(one.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(two.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("GET /authorize"), 1);
    town.revoke_all(false);
    let (first, second) = tokio::join!(one.send(call("add")), two.send(call("add")));
    assert_eq!(
        (first.unwrap().status(), second.unwrap().status()),
        (StatusCode::OK, StatusCode::OK)
    );
    assert_eq!(town.count("POST /token"), 2);
    // The one that took over the other's token has the refresh token that goes with it, too.
    for client in [one, two] {
        town.revoke_all(false);
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    }
    assert_eq!(town.count("GET /authorize"), 1);
}

#[tokio::test]
async fn a_request_that_is_given_up_loses_no_token() {
    let town = Town::default();
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    town.revoke_all(false);
    let gate = Arc::new(Notify::new());
    town.rules().gate = Some(Arc::clone(&gate));
    let caller = Arc::clone(&client);
    let given_up = tokio::spawn(async move { caller.send(call("add")).await.map(drop) });
    // The authorization server has taken the old refresh token, and its answer is on its way.
    while town.count("POST /token") < 2 {
        tokio::task::yield_now().await;
    }
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    gate.notify_one();
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("POST /token"), 2);
    assert_eq!(town.count("GET /authorize"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_user_may_take_longer_than_a_server() {
    let town = Town::default();
    town.rules().user_takes = Duration::from_secs(250);
    let builder = Client::builder("test", "1").with_http_client(town.clone());
    let client = builder
        .with_http_layer(town.oauth())
        .connect(SERVER)
        .await
        .unwrap();
    assert_eq!(town.count("GET /authorize"), 1);
    client.close().await;
}

#[tokio::test]
async fn an_error_says_why_there_was_no_token() {
    let town = Town::default();
    let builder = Client::builder("test", "1").with_http_client(town.clone());
    let stored = town.at_home(OAuthConfig::from_store(MemoryTokenStore::new()));
    let error = builder
        .with_http_layer(stored)
        .connect(SERVER)
        .await
        .unwrap_err();
    assert!(
        AuthError::from_error(&error).is_some_and(AuthError::needs_login),
        "{error:?}"
    );
}
