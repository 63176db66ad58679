//! Several nodes: they form one proxy if they share the store and the keys.

use std::sync::Arc;

use toolwire::{KeyRing, StateKey};
use toolwire_auth::proxy::store::{MemoryProxyStore, ProxyStore};
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig};

use super::browser::{location, sealed_request};
use super::fixture::{ProxyFixture, error_of, parameters};
use super::provider::Provider;

fn keys(byte: u8) -> KeyRing {
    KeyRing::new(StateKey::new([byte; 32]))
}

async fn node(provider: &Provider, store: &Arc<MemoryProxyStore>, keys: KeyRing) -> ProxyFixture {
    let store: Arc<dyn ProxyStore> = store.clone();
    ProxyFixture::in_front_of(provider.clone(), |config| {
        config.with_shared_store(store, keys)
    })
    .await
}

#[tokio::test]
async fn each_step_of_a_login_may_use_another_node() {
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
    let redirect = location(&on_two.open(&provider.log_in(&url)).await);
    let code = &parameters(&redirect)["code"];
    let tokens = one.token(&client.redeem_form(code)).await.message();
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(two.whoami(access).await.status(), 200);
    // A refresh whose response was lost may be repeated on another node.
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let lost = one.token(&client.refresh_form(refresh)).await.message();
    let again = two.token(&client.refresh_form(refresh)).await.message();
    assert_eq!(again["refresh_token"], lost["refresh_token"]);
    // A code that was used on one node cannot be used on another, and the attempt revokes its tokens on all nodes.
    let again = two.token(&client.redeem_form(code)).await;
    assert_eq!(error_of(&again), "invalid_grant");
    assert_eq!(one.whoami(access).await.status(), 401);
}

#[tokio::test]
async fn node_with_other_keys_cannot_use_the_store() {
    let provider = Provider::start().await;
    let store = Arc::new(MemoryProxyStore::default());
    let one = node(&provider, &store, keys(1)).await;
    let other_keys = node(&provider, &store, keys(2)).await;
    let client = one.client().await;
    let tokens = one.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(other_keys.whoami(access).await.status(), 401);
    let rejected = other_keys.browser().open(&client.authorize(&[])).await;
    assert_eq!(rejected.status(), 400);
    assert_eq!(one.whoami(access).await.status(), 200);

    // Logins stay valid when the keys are rotated.
    let rotated = keys(3).with_older(StateKey::new([1; 32]));
    let later = node(&provider, &store, rotated).await;
    assert_eq!(later.whoami(access).await.status(), 200);
}

#[tokio::test]
async fn token_of_one_resource_is_rejected_by_another() {
    let provider = Provider::start().await;
    let store = Arc::new(MemoryProxyStore::default());
    let one = node(&provider, &store, keys(1)).await;
    let client = one.client().await;
    let tokens = one.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    // The same issuer, store and keys, but another resource.
    let shared: Arc<dyn ProxyStore> = store.clone();
    let upstream = provider.upstream();
    let other = ProxyFixture::in_front_of(provider.clone(), |_| {
        OAuthProxyConfig::new("https://mcp.example.com/other", upstream)
            .with_fetcher(DocumentFetcher::with_loopback_allowed())
            .with_shared_store(shared, keys(1))
    })
    .await;
    assert_eq!(other.whoami(access).await.status(), 401);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let rejected = other.token(&client.refresh_form(refresh)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
    assert_eq!(one.whoami(access).await.status(), 200);
    assert_eq!(one.token(&client.refresh_form(refresh)).await.status(), 200);
}
