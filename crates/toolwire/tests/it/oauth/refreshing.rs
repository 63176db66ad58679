//! A token that has become old.

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;
use tokio::sync::Notify;
use toolwire::transport::http_client::{HttpClient as _, HttpPhase};
use toolwire_auth::client::{
    AuthError, MemoryTokenStore, OAuthConfig, RegisteredClient, TokenStore, TokenStoreError,
    TokenStoreFuture, TokenStoreLock,
};
use toolwire_auth::documents::Secret;

use super::town::{ISSUER, Town, call};

/// A town with a client that has been let in.
async fn after_a_login(lifetime: u64) -> (Town, Arc<toolwire_auth::client::OAuthHttpClient<Town>>) {
    let town = Town::default();
    town.rules().lifetime = lifetime;
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    (town, client)
}

#[tokio::test]
async fn a_token_is_renewed_before_its_end() {
    // It ends at once, so that it is renewed before the next request.
    let (town, client) = after_a_login(0).await;
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("POST /token"), 2);
    let refused = town.count("POST /mcp") - 2;
    assert_eq!(refused, 1, "only the first request was refused");
    // One that lives short is not renewed at every request.
    let (town, client) = after_a_login(25).await;
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("POST /token"), 1);
}

#[tokio::test]
async fn a_renewal_before_the_end_asks_no_user() {
    let (town, client) = after_a_login(0).await;
    town.rules().lifetime = 3600;
    town.revoke_all(true);
    // The refresh is refused; then so is the request; and only then the user is asked, once.
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("GET /authorize"), 2);
    let refreshes = town
        .rules()
        .forms
        .iter()
        .filter(|form| form["grant_type"] == "refresh_token")
        .count();
    assert_eq!(refreshes, 1);
}

#[tokio::test]
async fn a_refresh_names_the_server_and_no_scopes() {
    let (town, client) = after_a_login(3600).await;
    town.revoke_all(false);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    let form = town.rules().forms.pop().unwrap();
    assert_eq!(form["grant_type"], "refresh_token");
    assert_eq!(form["resource"], super::town::SERVER);
    assert!(!form.contains_key("scope"), "{form:?}");
}

#[tokio::test]
async fn trouble_at_the_authorization_server_costs_no_login() {
    let (town, client) = after_a_login(3600).await;
    town.revoke_all(false);
    let unavailable = json!({"error": "temporarily_unavailable"});
    for trouble in [(503, json!({})), (429, json!({})), (400, unavailable)] {
        town.rules().troubles.push_back(trouble.clone());
        let failure = client.send(call("add")).await.unwrap_err();
        assert_eq!(failure.step(), HttpPhase::Authorize, "{trouble:?}");
    }
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("GET /authorize"), 1);
}

#[tokio::test]
async fn a_refresh_token_that_is_used_up_leads_to_a_login() {
    let (town, client) = after_a_login(3600).await;
    town.revoke_all(true);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("GET /authorize"), 2);
    assert_eq!(town.count("POST /register"), 1);
}

#[tokio::test]
async fn a_client_that_was_forgotten_registers_anew() {
    let (town, client) = after_a_login(3600).await;
    town.revoke_all(false);
    town.forget_clients();
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("POST /register"), 2);
    assert_eq!(town.count("GET /authorize"), 2);
}

#[tokio::test]
async fn a_token_without_a_refresh_token_ends_in_a_login() {
    let town = Town::default();
    town.rules().gives_refresh_tokens = false;
    let client = town.client(town.oauth());
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    town.revoke_all(false);
    assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("GET /authorize"), 2);
}

#[tokio::test]
async fn a_server_that_refuses_every_token_is_given_up() {
    let (town, client) = after_a_login(3600).await;
    town.rules()
        .needs
        .insert("add".to_owned(), "never".to_owned());
    town.rules().grants = Some("other".to_owned());
    let answer = client.send(call("add")).await.unwrap();
    assert_eq!(answer.status(), 403);
    assert_eq!(town.count("GET /authorize"), 2);
}

#[tokio::test]
async fn what_is_stored_is_refreshed_by_the_client_it_was_given_to() {
    let town = Town::default();
    let store = Arc::new(MemoryTokenStore::new());
    let registered = RegisteredClient::new("by-hand").with_secret("s3cret");
    let oauth = town
        .oauth()
        .with_client(registered)
        .with_store(Arc::clone(&store));
    assert_eq!(
        town.client(oauth).send(call("add")).await.unwrap().status(),
        200
    );
    town.revoke_all(false);
    // Another program, which knows nothing but the store.
    let stored = town.client(town.at_home(OAuthConfig::from_store(Arc::clone(&store))));
    assert_eq!(stored.send(call("add")).await.unwrap().status(), 200);
    assert_eq!(town.count("POST /token"), 2);
    assert_eq!(town.count("POST /register"), 0);
    // When that does not help any more, it says that somebody has to log in, and asks nobody.
    town.revoke_all(true);
    let failure = stored.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap();
    let error = source.downcast_ref::<AuthError>().unwrap();
    assert!(error.needs_login(), "{error}");
    assert_eq!(town.count("GET /authorize"), 1);
}

#[tokio::test]
async fn an_empty_store_asks_nobody() {
    let town = Town::default();
    let stored = town.client(town.at_home(OAuthConfig::from_store(MemoryTokenStore::new())));
    let failure = stored.send(call("add")).await.unwrap_err();
    let source = std::error::Error::source(&failure).unwrap();
    assert!(source.downcast_ref::<AuthError>().unwrap().needs_login());
    assert_eq!(town.rules().seen, ["POST /mcp"]);
}

/// Keeps nothing, as a disk that is full.
#[derive(Debug)]
struct Full;

impl TokenStore for Full {
    fn get<'a>(&'a self, _: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        Box::pin(async { Ok(None) })
    }

    fn put<'a>(&'a self, _: &'a str, _: &'a Secret) -> TokenStoreFuture<'a, ()> {
        Box::pin(async { Err(TokenStoreError::new("the disk is full")) })
    }

    fn remove<'a>(&'a self, _: &'a str) -> TokenStoreFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn lock<'a>(&'a self, _: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        Box::pin(async { Ok(TokenStoreLock::new(())) })
    }
}

#[tokio::test]
async fn a_store_that_keeps_nothing_costs_no_second_login() {
    let town = Town::default();
    let registered = RegisteredClient::new("by-hand");
    let oauth = town
        .oauth()
        .with_client(registered.at(ISSUER))
        .with_store(Full);
    let client = town.client(oauth);
    for refreshes in 0..3 {
        assert_eq!(client.send(call("add")).await.unwrap().status(), 200);
        assert_eq!(town.count("POST /token"), 1 + refreshes);
        town.revoke_all(false);
    }
    assert_eq!(town.count("GET /authorize"), 1);
}

#[tokio::test]
async fn a_failed_renewal_is_no_answer_to_those_who_may_ask() {
    let (town, client) = after_a_login(0).await;
    town.rules().lifetime = 3600;
    town.revoke_all(true);
    let gate = Arc::new(Notify::new());
    town.rules().gate = Some(Arc::clone(&gate));
    // The renewal waits for its answer, which will be no.
    let renewing = {
        let client = Arc::clone(&client);
        tokio::spawn(async move { client.send(call("add")).await.unwrap().status() })
    };
    while town.count("POST /token") < 2 {
        tokio::task::yield_now().await;
    }
    let other = tokio::spawn(async move { client.send(call("add")).await.unwrap().status() });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    gate.notify_one();
    assert_eq!(
        (renewing.await.unwrap(), other.await.unwrap()),
        (StatusCode::OK, StatusCode::OK)
    );
    assert_eq!(town.count("GET /authorize"), 2);
}
