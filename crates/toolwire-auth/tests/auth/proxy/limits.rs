//! Limits on the data that the proxy stores per source and per user. One source or user does not affect others.

use std::sync::Arc;

use serde_json::json;
use toolwire::{KeyRing, StateKey};
use toolwire_auth::proxy::store::{MemoryProxyLimits, MemoryProxyStore, ProxyStore};
use toolwire_tests::http::socket::Response;

use super::browser::{Browser, location, sealed_request};
use super::fixture::{Client, ProxyFixture, REDIRECT, error_of, registration};

const ATTACKER: &str = "93.184.215.14";
const HONEST: &str = "93.184.215.15";

/// Returns a fixture whose proxy trusts one reverse proxy.
async fn with_limit_per_source(limit: usize) -> ProxyFixture {
    ProxyFixture::with(|config| config.with_trusted_proxies(1).with_limit_per_source(limit)).await
}

async fn with_limits(change: impl FnOnce(&mut MemoryProxyLimits)) -> ProxyFixture {
    let mut limits = MemoryProxyLimits::default();
    change(&mut limits);
    let store: Arc<dyn ProxyStore> = Arc::new(MemoryProxyStore::new(limits));
    let keys = KeyRing::new(StateKey::new([1; 32]));
    ProxyFixture::with(|config| config.with_shared_store(store, keys)).await
}

async fn register_from(fixture: &ProxyFixture, address: &str) -> Response {
    let metadata = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
    let request = registration(&metadata).with("X-Forwarded-For", address);
    fixture.endpoint.request(&request).await
}

/// Registers a client from an address.
async fn client_from(fixture: &ProxyFixture, address: &str) -> Client {
    let response = register_from(fixture, address).await;
    assert_eq!(response.status(), 201, "{}", response.text());
    Client {
        id: response.message()["client_id"].as_str().unwrap().to_owned(),
        ..fixture.client().await
    }
}

fn browser_at(fixture: &ProxyFixture, address: &str) -> Browser {
    let mut browser = fixture.browser();
    browser.forwarded_for = Some(address.to_owned());
    browser
}

/// Consents to a client.
async fn consent(browser: &mut Browser, client: &Client) -> Response {
    let page = browser.open(&client.authorize(&[])).await;
    let sealed = sealed_request(&page);
    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    browser.submit("/consent", &allowed).await
}

#[track_caller]
fn assert_page_503(response: &Response) {
    assert_eq!(response.status(), 503, "{}", response.text());
    assert_eq!(response.header("retry-after"), Some("60"));
    assert_eq!(response.header("location"), None);
    assert_eq!(
        response.header("content-type"),
        Some("text/html; charset=utf-8")
    );
}

#[tokio::test]
async fn registrations_beyond_the_limit_remove_only_those_of_the_same_source() {
    let fixture = with_limit_per_source(3).await;
    let honest = client_from(&fixture, HONEST).await;
    let mut attackers = Vec::new();
    for spoofed in 0..4 {
        // Addresses that the client itself sends are further left in the header, and are ignored.
        let address = format!("10.0.0.{spoofed}, {ATTACKER}");
        attackers.push(client_from(&fixture, &address).await);
    }
    let mut browser = fixture.browser();
    let known = browser.open(&honest.authorize(&[])).await;
    assert_eq!(known.status(), 200, "{}", known.text());
    for (client, expected) in attackers.iter().zip([400, 200, 200, 200]) {
        let page = browser.open(&client.authorize(&[])).await;
        assert_eq!(page.status(), expected, "{}", page.text());
    }
}

#[tokio::test]
async fn addresses_of_one_ipv6_network_are_one_source() {
    let fixture = with_limit_per_source(1).await;
    let first = client_from(&fixture, "2606:2800:21f:cb07::1").await;
    let other = client_from(&fixture, "2606:2800:21f:cb08::1").await;
    client_from(&fixture, "2606:2800:21f:cb07:1:2:3:4").await;
    let mut browser = fixture.browser();
    let page = browser.open(&first.authorize(&[])).await;
    assert_eq!(page.status(), 400);
    sealed_request(&browser.open(&other.authorize(&[])).await);
}

#[tokio::test]
async fn unknown_source_has_no_limit() {
    // The peer is on the loopback address, so it may be a reverse proxy, whose header is not trusted.
    let fixture = ProxyFixture::with(|config| config.with_limit_per_source(1)).await;
    let one = client_from(&fixture, ATTACKER).await;
    let two = client_from(&fixture, ATTACKER).await;
    let mut browser = fixture.browser();
    for client in [one, two] {
        sealed_request(&browser.open(&client.authorize(&[])).await);
    }
}

#[tokio::test]
async fn logins_of_one_source_are_rejected_beyond_its_limit() {
    let fixture = with_limit_per_source(2).await;
    let client = client_from(&fixture, HONEST).await;
    let mut first = browser_at(&fixture, ATTACKER);
    let provider_url = location(&consent(&mut first, &client).await);
    location(&consent(&mut browser_at(&fixture, ATTACKER), &client).await);
    let rejected = consent(&mut browser_at(&fixture, ATTACKER), &client).await;
    assert_page_503(&rejected);
    // Logins in progress continue, other sources can log in, and a completed login no longer counts.
    let honest = location(&consent(&mut browser_at(&fixture, HONEST), &client).await);
    assert!(honest.starts_with(&fixture.provider.issuer), "{honest}");
    let redirect = fixture.log_in_at_provider(&mut first, &provider_url).await;
    assert!(
        redirect.starts_with(&format!("{REDIRECT}?code=")),
        "{redirect}"
    );
    location(&consent(&mut browser_at(&fixture, ATTACKER), &client).await);
}

#[tokio::test]
async fn full_table_of_logins_rejects_a_new_one() {
    let fixture = with_limits(|limits| limits.logins = 2).await;
    let client = fixture.client().await;
    let (mut one, mut two, mut three) = (fixture.browser(), fixture.browser(), fixture.browser());
    let first = location(&consent(&mut one, &client).await);
    let second = location(&consent(&mut two, &client).await);
    assert_page_503(&consent(&mut three, &client).await);
    for (browser, url) in [(&mut one, first), (&mut two, second)] {
        let redirect = fixture.log_in_at_provider(browser, &url).await;
        assert!(
            redirect.starts_with(&format!("{REDIRECT}?code=")),
            "{redirect}"
        );
    }
    location(&consent(&mut three, &client).await);
}

#[tokio::test]
async fn full_table_of_clients_rejects_a_registration() {
    let fixture = with_limits(|limits| limits.clients = 2).await;
    let (one, two) = (fixture.client().await, fixture.client().await);
    let rejected = register_from(&fixture, HONEST).await;
    assert_eq!(rejected.status(), 503);
    assert_eq!(error_of(&rejected), "temporarily_unavailable");
    assert_eq!(rejected.header("retry-after"), Some("60"));
    let mut browser = fixture.browser();
    for client in [one, two] {
        sealed_request(&browser.open(&client.authorize(&[])).await);
    }
}

#[tokio::test]
async fn full_table_of_grants_rejects_a_login_and_retains_other_logins() {
    let fixture = with_limits(|limits| limits.grants = 1).await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    fixture
        .provider
        .change(|state| state.user = json!({"id": 43}));
    let mut browser = fixture.browser();
    let url = location(&consent(&mut browser, &client).await);
    let rejected = browser.open(&fixture.provider.log_in(&url)).await;
    assert_page_503(&rejected);
    // The first user stays logged in, and can refresh.
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let next = fixture.token(&client.refresh_form(refresh)).await.message();
    let access = next["access_token"].as_str().unwrap();
    assert_eq!(fixture.whoami(access).await.status(), 200);
}

#[tokio::test]
async fn refreshes_of_one_user_do_not_remove_tokens_of_other_users() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let of_ann = fixture.tokens(&client).await;
    fixture
        .provider
        .change(|state| state.user = json!({"id": 43}));
    let first = fixture.tokens(&client).await;
    let mut tokens = first.clone();
    for _ in 0..8 {
        let refresh = tokens["refresh_token"].as_str().unwrap().to_owned();
        tokens = fixture
            .token(&client.refresh_form(&refresh))
            .await
            .message();
    }
    // Only the oldest of nine access tokens of the login is removed.
    for (tokens, expected) in [(&first, 401), (&tokens, 200), (&of_ann, 200)] {
        let access = tokens["access_token"].as_str().unwrap();
        assert_eq!(fixture.whoami(access).await.status(), expected);
    }
}
