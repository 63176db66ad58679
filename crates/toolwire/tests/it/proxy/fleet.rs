//! Several nodes with one store and one set of keys are one proxy; with the store alone they are not.

use std::sync::Arc;

use toolwire::{KeyRing, StateKey};
use toolwire_auth::proxy::store::{MemoryProxyStore, ProxyStore};
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig};

use super::browser::{location, sealed_request};
use super::provider::Provider;
use super::stage::{Stage, error_of, parameters};

fn keys(byte: u8) -> KeyRing {
    KeyRing::new(StateKey::new([byte; 32]))
}

async fn node(provider: &Provider, store: &Arc<MemoryProxyStore>, keys: KeyRing) -> Stage {
    let store: Arc<dyn ProxyStore> = store.clone();
    Stage::in_front_of(provider.clone(), |config| {
        config.with_shared_store(store, keys)
    })
    .await
}

#[tokio::test]
async fn every_step_of_a_login_may_reach_another_node() {
    let provider = Provider::start().await;
    let store = Arc::new(MemoryProxyStore::default());
    let one = node(&provider, &store, keys(1)).await;
    let two = node(&provider, &store, keys(1)).await;
    let client = one.client().await;
    let mut on_two = two.browser();
    let page = on_two.open(&client.authorize(&[])).await;
    let mut on_one = one.browser();
    on_one.cookies = on_two.cookies.clone();
    let sealed = sealed_request(&page);
    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    let url = location(&on_one.submit("/consent", &allowed).await);
    on_two.cookies = on_one.cookies.clone();
    let back = location(&on_two.open(&provider.log_in(&url)).await);
    let code = &parameters(&back)["code"];
    let tokens = one.token(&client.redeeming(code)).await.message();
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(two.whoami(access).await.status(), 200);
    // A refresh whose response was lost may be repeated on another node.
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let lost = one.token(&client.refreshing(refresh)).await.message();
    let again = two.token(&client.refreshing(refresh)).await.message();
    assert_eq!(again["refresh_token"], lost["refresh_token"]);
    // A code that was used on one node is used on all, and what comes of it ends on all.
    let again = two.token(&client.redeeming(code)).await;
    assert_eq!(error_of(&again), "invalid_grant");
    assert_eq!(one.whoami(access).await.status(), 401);
}

#[tokio::test]
async fn who_has_the_store_and_not_the_keys_has_nothing() {
    let provider = Provider::start().await;
    let store = Arc::new(MemoryProxyStore::default());
    let one = node(&provider, &store, keys(1)).await;
    let stranger = node(&provider, &store, keys(2)).await;
    let client = one.client().await;
    let tokens = one.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(stranger.whoami(access).await.status(), 401);
    let refused = stranger.browser().open(&client.authorize(&[])).await;
    assert_eq!(refused.status(), 400);
    assert_eq!(one.whoami(access).await.status(), 200);

    // Keys can be changed while users stay logged in.
    let rotated = keys(3).with_older(StateKey::new([1; 32]));
    let later = node(&provider, &store, rotated).await;
    assert_eq!(later.whoami(access).await.status(), 200);
}

#[tokio::test]
async fn a_token_for_one_server_is_none_for_another() {
    let provider = Provider::start().await;
    let store = Arc::new(MemoryProxyStore::default());
    let one = node(&provider, &store, keys(1)).await;
    let client = one.client().await;
    let tokens = one.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    // The same issuer, store and keys, but another resource.
    let shared: Arc<dyn ProxyStore> = store.clone();
    let upstream = provider.upstream();
    let other = Stage::in_front_of(provider.clone(), |_| {
        OAuthProxyConfig::new("https://mcp.example.com/other", upstream)
            .with_fetcher(DocumentFetcher::with_loopback_allowed())
            .with_shared_store(shared, keys(1))
    })
    .await;
    assert_eq!(other.whoami(access).await.status(), 401);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let refused = other.token(&client.refreshing(refresh)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
    assert_eq!(one.whoami(access).await.status(), 200);
    assert_eq!(one.token(&client.refreshing(refresh)).await.status(), 200);
}
