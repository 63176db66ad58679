//! Renewal of expired and revoked access tokens.

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;
use tokio::sync::Notify;
use toolwire::store::contract::{Fault, Faulty};
use toolwire::transport::http_client::{HttpClient as _, HttpPhase};
use toolwire_auth::client::{AuthError, MemoryTokenStore, OAuthConfig, RegisteredClient};

use super::fake_servers::{FakeServers, ISSUER, call};

/// Returns the servers and a client that has logged in.
async fn logged_in_client(
    lifetime: u64,
) -> (
    FakeServers,
    Arc<toolwire_auth::client::OAuthHttpClient<FakeServers>>,
) {
    let servers = FakeServers::default();
    servers.state().lifetime = lifetime;
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    (servers, client)
}

#[tokio::test]
async fn token_is_refreshed_before_it_expires() {
    // The token expires at once, so it is refreshed before the next request.
    let (servers, client) = logged_in_client(0).await;
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("POST /token"), 2);
    let rejected = servers.request_count("POST /mcp") - 2;
    assert_eq!(rejected, 1, "only the first request is rejected");
    // A token with a short lifetime is not refreshed before every request.
    let (servers, client) = logged_in_client(25).await;
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("POST /token"), 1);
}

#[tokio::test]
async fn refresh_before_expiry_does_not_start_a_login() {
    let (servers, client) = logged_in_client(0).await;
    servers.state().lifetime = 3600;
    servers.revoke_all(true);
    // The refresh fails, then the server rejects the request, and only then the user logs in once.
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("GET /authorize"), 2);
    let refreshes = servers
        .state()
        .forms
        .iter()
        .filter(|form| form["grant_type"] == "refresh_token")
        .count();
    assert_eq!(refreshes, 1);
}

#[tokio::test]
async fn refresh_request_has_a_resource_and_no_scope() {
    let (servers, client) = logged_in_client(3600).await;
    servers.revoke_all(false);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    let form = servers.state().forms.pop().unwrap();
    assert_eq!(form["grant_type"], "refresh_token");
    assert_eq!(form["resource"], super::fake_servers::SERVER);
    assert!(!form.contains_key("scope"), "{form:?}");
}

#[tokio::test]
async fn temporary_token_endpoint_error_does_not_start_a_login() {
    let (servers, client) = logged_in_client(3600).await;
    servers.revoke_all(false);
    let unavailable = json!({"error": "temporarily_unavailable"});
    for response in [(503, json!({})), (429, json!({})), (400, unavailable)] {
        servers.state().token_errors.push_back(response.clone());
        let failure = client.send(call("add")).await.unwrap_err();
        assert_eq!(failure.phase(), HttpPhase::Authorize, "{response:?}");
    }
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("GET /authorize"), 1);
}

#[tokio::test]
async fn rejected_refresh_token_starts_a_login() {
    let (servers, client) = logged_in_client(3600).await;
    servers.revoke_all(true);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("GET /authorize"), 2);
    assert_eq!(servers.request_count("POST /register"), 1);
}

#[tokio::test]
async fn client_whose_registration_is_unknown_registers_again() {
    let (servers, client) = logged_in_client(3600).await;
    servers.revoke_all(false);
    servers.forget_clients();
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("POST /register"), 2);
    assert_eq!(servers.request_count("GET /authorize"), 2);
}

#[tokio::test]
async fn revoked_token_without_a_refresh_token_starts_a_login() {
    let servers = FakeServers::default();
    servers.state().issues_refresh_tokens = false;
    let client = servers.client(servers.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    servers.revoke_all(false);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("GET /authorize"), 2);
}

#[tokio::test]
async fn server_that_rejects_every_token_gets_no_further_login() {
    let (servers, client) = logged_in_client(3600).await;
    servers
        .state()
        .required_scopes
        .insert("add".to_owned(), "never".to_owned());
    servers.state().granted_scopes = Some("other".to_owned());
    let response = client.send(call("add")).await.unwrap();
    assert_eq!(response.status(), 403);
    assert_eq!(servers.request_count("GET /authorize"), 2);
}

#[tokio::test]
async fn stored_token_is_refreshed_with_the_client_that_obtained_it() {
    let servers = FakeServers::default();
    let store = Arc::new(MemoryTokenStore::new());
    let registered = RegisteredClient::new("by-hand").with_secret("s3cret");
    let oauth = servers
        .oauth()
        .with_client(registered)
        .with_store(Arc::clone(&store));
    assert_eq!(
        servers
            .client(oauth)
            .send(call("add"))
            .await
            .unwrap()
            .status(),
        200
    );
    servers.revoke_all(false);
    // A second client that shares only the store.
    let stored_client =
        servers.client(servers.with_test_fetcher(OAuthConfig::from_store(Arc::clone(&store))));
    assert_eq!(stored_client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(servers.request_count("POST /token"), 2);
    assert_eq!(servers.request_count("POST /register"), 0);
    // If the refresh fails, the error says that a login is needed. No login starts.
    servers.revoke_all(true);
    let failure = stored_client.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap();
    let error = source.downcast_ref::<AuthError>().unwrap();
    assert!(error.needs_login(), "{error}");
    assert_eq!(servers.request_count("GET /authorize"), 1);
}

#[tokio::test]
async fn stored_token_of_a_lost_registration_needs_a_login() {
    let servers = FakeServers::default();
    let store = Arc::new(MemoryTokenStore::new());
    let oauth = servers
        .oauth()
        .with_store(Arc::clone(&store))
        .with_registration_store(MemoryTokenStore::new());
    let client = servers.client(oauth);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    servers.revoke_all(false);
    servers.forget_clients();
    // After a restart, the registrations are not known.
    let stored = OAuthConfig::from_store(Arc::clone(&store))
        .with_registration_store(MemoryTokenStore::new());
    let stored_client = servers.client(servers.with_test_fetcher(stored));
    let failure = stored_client.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap();
    let error = source.downcast_ref::<AuthError>().unwrap();
    assert!(error.needs_login(), "{error}");
}

#[tokio::test]
async fn token_is_refreshed_with_the_newest_secret_for_its_authorization_server() {
    let client = |secret: &str, issuer: &str| {
        let client = RegisteredClient::new("by-hand").with_secret(secret);
        client.with_issuer(issuer)
    };
    let servers = FakeServers::default();
    servers.state().metadata["token_endpoint_auth_methods_supported"] =
        json!(["client_secret_post"]);
    let store = Arc::new(MemoryTokenStore::new());
    let oauth = servers
        .oauth()
        .with_client(client("old", ISSUER))
        .with_store(Arc::clone(&store));
    let sent = servers.client(oauth).send(call("add")).await;
    assert_eq!(sent.unwrap().status(), 200);
    for (secret, issuer, expected) in [
        ("of another", "https://other.example.com", "old"),
        ("new", ISSUER, "new"),
    ] {
        servers.revoke_all(false);
        let stored = OAuthConfig::from_store(Arc::clone(&store));
        let stored = stored.with_client(client(secret, issuer));
        let stored_client = servers.client(servers.with_test_fetcher(stored));
        let sent = stored_client.send(call("add")).await;
        assert_eq!(sent.unwrap().status(), 200);
        let form = servers.state().forms.pop().unwrap();
        assert_eq!(form["client_secret"], expected);
    }
}

#[tokio::test]
async fn client_with_an_empty_store_does_not_start_a_login() {
    let servers = FakeServers::default();
    let stored_client =
        servers.client(servers.with_test_fetcher(OAuthConfig::from_store(MemoryTokenStore::new())));
    let failure = stored_client.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap();
    assert!(source.downcast_ref::<AuthError>().unwrap().needs_login());
    assert_eq!(servers.state().requests, ["POST /mcp"]);
}

#[tokio::test(start_paused = true)]
async fn failing_token_store_does_not_cause_a_second_login() {
    let servers = FakeServers::default();
    let store = Faulty::new(Arc::new(MemoryTokenStore::new()));
    store.inject("put", Fault::Error, usize::MAX);
    let registered = RegisteredClient::new("by-hand");
    let oauth = servers
        .oauth()
        .with_client(registered.with_issuer(ISSUER))
        .with_store(store);
    let client = servers.client(oauth);
    for refreshes in 0..3 {
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
        assert_eq!(servers.request_count("POST /token"), 1 + refreshes);
        servers.revoke_all(false);
    }
    assert_eq!(servers.request_count("GET /authorize"), 1);
}

#[tokio::test]
async fn failed_early_refresh_does_not_fail_a_concurrent_request() {
    let (servers, client) = logged_in_client(0).await;
    servers.state().lifetime = 3600;
    servers.revoke_all(true);
    let gate = Arc::new(Notify::new());
    servers.state().gate = Some(Arc::clone(&gate));
    // The refresh is in flight, and will fail.
    let refreshing = {
        let client = Arc::clone(&client);
        tokio::spawn(async move { client.send(call("add")).await.unwrap().status() })
    };
    while servers.request_count("POST /token") < 2 {
        tokio::task::yield_now().await;
    }
    let other = tokio::spawn(async move { client.send(call("add")).await.unwrap().status() });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    gate.notify_one();
    assert_eq!(
        (refreshing.await.unwrap(), other.await.unwrap()),
        (StatusCode::OK, StatusCode::OK)
    );
    assert_eq!(servers.request_count("GET /authorize"), 2);
}
