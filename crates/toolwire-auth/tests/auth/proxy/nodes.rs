//! Several nodes: they form one proxy if they share the store and the keys.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolwire::store::contract::{Fault, Faulty};
use toolwire::{KeyRing, StateKey};
use toolwire_auth::proxy::store::{MemoryProxyStore, ProxyStore};
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig};

use super::browser::{location, sealed_request};
use super::fixture::{ProxyFixture, error_of, parameters};
use super::provider::Provider;
use super::upstream_tokens::upstream_token;

fn keys(byte: u8) -> KeyRing {
    KeyRing::new(StateKey::new([byte; 32]))
}

async fn node<S: ProxyStore + 'static>(
    provider: &Provider,
    store: &Arc<S>,
    keys: KeyRing,
) -> ProxyFixture {
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

#[tokio::test]
async fn one_of_several_nodes_renews_a_provider_token() {
    let provider = Provider::start().await;
    let store = Arc::new(MemoryProxyStore::default());
    // Changes of grants arrive late.
    let slow = |millis| {
        let connection = Faulty::new(Arc::clone(&store));
        let delay = Fault::Slow(Duration::from_millis(millis));
        connection.inject("replace", delay, usize::MAX);
        Arc::new(connection)
    };
    let one = node(&provider, &slow(100), keys(1)).await;
    let two = node(&provider, &slow(130), keys(1)).await;
    let three = node(&provider, &store, keys(1)).await;
    for fast_node_first in [false, true] {
        provider.change(|state| {
            state.issues_refresh_tokens = true;
            state.expires_in = Some(60);
            state.forms.clear();
        });
        let client = one.client().await;
        let tokens = one.tokens(&client).await;
        let access = tokens["access_token"].as_str().unwrap();
        provider.change(|state| state.expires_in = Some(3600));
        let late = async |late: bool, fixture: &ProxyFixture| {
            if late {
                tokio::time::sleep(Duration::from_millis(110)).await;
            }
            upstream_token(fixture, access).await
        };
        let (first, second, third) = tokio::join!(
            late(fast_node_first, &one),
            late(fast_node_first, &two),
            late(!fast_node_first, &three),
        );
        assert!(first.starts_with("upstream-access-"), "{first}");
        assert_eq!((&second, &third), (&first, &first));
        let forms = provider.state.lock().unwrap().forms.clone();
        let renewals = forms
            .iter()
            .filter(|form| form["grant_type"] == "refresh_token");
        assert_eq!(renewals.count(), 1, "each refresh token is used once");
        assert_eq!(
            two.whoami(access).await.status(),
            200,
            "the user stays logged in"
        );
    }
}

#[tokio::test]
async fn failed_renewal_does_not_block_other_nodes() {
    let provider = Provider::start().await;
    let store = Arc::new(MemoryProxyStore::default());
    let one = node(&provider, &store, keys(1)).await;
    let two = node(&provider, &store, keys(1)).await;
    provider.change(|state| {
        state.issues_refresh_tokens = true;
        state.expires_in = Some(60);
    });
    let client = one.client().await;
    let tokens = one.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    provider.change(|state| state.token_error = Some((503, json!("down"))));
    let text = upstream_token(&one, access).await;
    assert!(text.contains("is temporarily unavailable"), "{text}");
    provider.change(|state| state.token_error = None);
    // The other node would wait for the end of the first renewal, which takes longer than this.
    let renewed = tokio::time::timeout(Duration::from_secs(15), upstream_token(&two, access));
    let renewed = renewed.await.expect("no renewal is in progress");
    assert!(renewed.starts_with("upstream-access-"), "{renewed}");
}
