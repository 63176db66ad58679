//! Concurrent requests that need a token share one login or refresh.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Notify;
use toolwire::Client;
use toolwire::transport::http_client::{HttpClient as _, HttpError, HttpPhase};
use toolwire_auth::client::{AuthError, MemoryTokenStore, OAuthConfig, OAuthHttpClient};

use super::fake_servers::{FakeServers, SERVER, call};

const REQUESTS: usize = 32;

async fn concurrent_calls(
    client: &Arc<OAuthHttpClient<FakeServers>>,
) -> Vec<Result<StatusCode, HttpError>> {
    let calls = (0..REQUESTS).map(|_| {
        let client = Arc::clone(client);
        tokio::spawn(async move {
            client
                .send(call("add"))
                .await
                .map(|response| response.status())
        })
    });
    let mut outcomes = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        outcomes.push(call.await.unwrap());
    }
    outcomes
}

#[tokio::test]
async fn concurrent_requests_share_one_login() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth());
    for outcome in concurrent_calls(&client).await {
        assert_eq!(outcome.unwrap(), 200);
    }
    assert_eq!(servers.request_count("GET /authorize"), 1);
    assert_eq!(servers.request_count("POST /register"), 1);
    assert_eq!(servers.request_count("POST /token"), 1);
}

#[tokio::test]
async fn denied_login_fails_all_waiting_requests() {
    let servers = FakeServers::default();
    let denied = "error=access_denied&iss=https%3A%2F%2Fauth.example.com";
    servers.state().redirect_query = Some(denied.to_owned());
    let client = servers.client(servers.oauth());
    for outcome in concurrent_calls(&client).await {
        let failure = outcome.unwrap_err();
        assert_eq!(failure.phase(), HttpPhase::Authorize);
        let source = std::error::Error::source(&failure).unwrap();
        assert!(source.to_string().contains("access_denied"), "{source}");
    }
    assert_eq!(servers.request_count("GET /authorize"), 1);
    // A later request starts a new login.
    servers.state().redirect_query = None;
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("GET /authorize"), 2);
}

#[tokio::test]
async fn concurrent_requests_share_one_refresh() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    servers.revoke_all(false);
    for outcome in concurrent_calls(&client).await {
        assert_eq!(outcome.unwrap(), 200);
    }
    assert_eq!(servers.request_count("POST /token"), 2);
    assert_eq!(servers.request_count("GET /authorize"), 1);
}

#[tokio::test]
async fn clients_with_a_shared_store_refresh_once() {
    let servers = FakeServers::default();
    let store = Arc::new(MemoryTokenStore::new());
    let oauth = || servers.oauth().with_store(Arc::clone(&store));
    let (one, two) = (servers.client(oauth()), servers.client(oauth()));
    assert_eq!(one.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(two.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("GET /authorize"), 1);
    servers.revoke_all(false);
    let (first, second) = tokio::join!(one.send(call("add")), two.send(call("add")));
    assert_eq!(
        (first.unwrap().status(), second.unwrap().status()),
        (StatusCode::OK, StatusCode::OK)
    );
    assert_eq!(servers.request_count("POST /token"), 2);
    // The client that read the token from the store has the matching refresh token, too.
    for client in [one, two] {
        servers.revoke_all(false);
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    }
    assert_eq!(servers.request_count("GET /authorize"), 1);
}

#[tokio::test]
async fn cancelled_request_does_not_lose_the_refreshed_token() {
    let servers = FakeServers::default();
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    servers.revoke_all(false);
    let gate = Arc::new(Notify::new());
    servers.state().gate = Some(Arc::clone(&gate));
    let caller = Arc::clone(&client);
    let cancelled = tokio::spawn(async move { caller.send(call("add")).await.map(drop) });
    // The authorization server has invalidated the old refresh token, and its response is in flight.
    while servers.request_count("POST /token") < 2 {
        tokio::task::yield_now().await;
    }
    cancelled.abort();
    assert!(cancelled.await.unwrap_err().is_cancelled());
    gate.notify_one();
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("POST /token"), 2);
    assert_eq!(servers.request_count("GET /authorize"), 1);
}

#[tokio::test(start_paused = true)]
async fn login_may_take_longer_than_the_request_timeout() {
    let servers = FakeServers::default();
    servers.state().login_duration = Duration::from_secs(250);
    let builder = Client::builder("test", "1").with_http_client(servers.clone());
    let client = builder
        .with_http_layer(servers.oauth())
        .connect(SERVER)
        .await
        .unwrap();
    assert_eq!(servers.request_count("GET /authorize"), 1);
    client.close().await;
}

#[tokio::test]
async fn connect_error_says_that_a_login_is_needed() {
    let servers = FakeServers::default();
    let builder = Client::builder("test", "1").with_http_client(servers.clone());
    let stored = servers.with_test_fetcher(OAuthConfig::from_store(MemoryTokenStore::new()));
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
