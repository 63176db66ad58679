//! Outages of the shared store: what cannot be checked is not served, and no login ends.

use std::sync::Arc;

use toolwire::store::contract::{Fault, Faulty};
use toolwire::{KeyRing, StateKey};
use toolwire_auth::proxy::store::{MemoryProxyStore, ProxyStore};
use toolwire_tests::http::socket::Response;

use super::browser::{location, sealed_request};
use super::fixture::{ProxyFixture, error_of, parameters};

type Store = Arc<Faulty<MemoryProxyStore>>;

async fn proxy() -> (ProxyFixture, Store) {
    let store: Store = Arc::new(Faulty::new(Arc::new(MemoryProxyStore::default())));
    let shared: Arc<dyn ProxyStore> = store.clone();
    let keys = KeyRing::new(StateKey::new([1; 32]));
    let fixture = ProxyFixture::with(|config| config.with_shared_store(shared, keys)).await;
    (fixture, store)
}

/// Lets all calls of the store fail until it is healed.
fn interrupt(store: &Store) {
    for method in ["put", "get", "take", "replace"] {
        store.inject(method, Fault::Error, usize::MAX);
    }
}

#[track_caller]
fn check_unavailable(response: &Response) {
    assert_eq!(response.status(), 503, "{}", response.text());
    assert!(response.header("retry-after").is_some());
    assert_eq!(response.header("www-authenticate"), None);
    assert_eq!(response.header("location"), None);
}

#[tokio::test]
async fn issued_tokens_are_valid_after_an_outage() {
    let (fixture, store) = proxy().await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let (access, refresh) = (
        tokens["access_token"].as_str().unwrap(),
        tokens["refresh_token"].as_str().unwrap(),
    );
    let code = fixture.code(&client).await;
    interrupt(&store);
    check_unavailable(&fixture.whoami(access).await);
    for form in [client.refresh_form(refresh), client.redeem_form(&code)] {
        let response = fixture.token(&form).await;
        check_unavailable(&response);
        assert_eq!(error_of(&response), "temporarily_unavailable");
    }
    store.heal();
    assert_eq!(fixture.whoami(access).await.status(), 200);
    for form in [client.refresh_form(refresh), client.redeem_form(&code)] {
        let response = fixture.token(&form).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        let issued = response.message();
        let access = issued["access_token"].as_str().unwrap();
        assert_eq!(fixture.whoami(access).await.status(), 200);
    }
}

#[tokio::test]
async fn lost_reply_does_not_use_up_a_refresh_token() {
    let (fixture, store) = proxy().await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for method in ["get", "replace"] {
        store.inject(method, Fault::LostReply, 1);
        check_unavailable(&fixture.token(&client.refresh_form(refresh)).await);
    }
    let refreshed = fixture.token(&client.refresh_form(refresh)).await;
    assert_eq!(refreshed.status(), 200, "{}", refreshed.text());
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(fixture.whoami(access).await.status(), 200);
}

#[tokio::test]
async fn login_continues_after_an_outage() {
    let (fixture, store) = proxy().await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let start = client.authorize(&[]);
    interrupt(&store);
    check_unavailable(&browser.open(&start).await);
    store.heal();
    let page = browser.open(&start).await;
    let sealed = sealed_request(&page);
    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    interrupt(&store);
    check_unavailable(&browser.submit("/consent", &allowed).await);
    store.heal();
    let url = location(&browser.submit("/consent", &allowed).await);
    let callback = fixture.provider.log_in(&url);
    interrupt(&store);
    check_unavailable(&browser.open(&callback).await);
    store.heal();
    let redirect = location(&browser.open(&callback).await);
    let code = &parameters(&redirect)["code"];
    let tokens = fixture.token(&client.redeem_form(code)).await;
    assert_eq!(tokens.status(), 200, "{}", tokens.text());
}

#[tokio::test]
async fn requests_take_few_calls_of_the_store() {
    let (fixture, store) = proxy().await;
    let client = fixture.client().await;
    let code = fixture.code(&client).await;
    let calls = || ["put", "get", "take", "replace"].map(|method| store.calls(method));
    let mut before = calls();
    let mut added = || {
        let now = calls();
        let added: [usize; 4] = std::array::from_fn(|index| now[index] - before[index]);
        before = now;
        added
    };
    let tokens = fixture.token(&client.redeem_form(&code)).await.message();
    assert_eq!(added(), [0, 2, 0, 2], "client and grant: read, replace");
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(fixture.whoami(access).await.status(), 200);
    assert_eq!(added(), [0, 1, 0, 0], "the token names its grant");
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let refreshed = fixture.token(&client.refresh_form(refresh)).await;
    assert_eq!(refreshed.status(), 200);
    // The registration of the client was prolonged shortly before.
    assert_eq!(added(), [0, 2, 0, 1], "client: read; grant: read, replace");
}
