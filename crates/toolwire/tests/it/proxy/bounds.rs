//! What one source or one user makes the proxy hold is bounded, and costs no other source and no other user anything.

use std::sync::Arc;

use serde_json::json;
use toolwire::{KeyRing, StateKey};
use toolwire_auth::proxy::store::{MemoryProxyLimits, MemoryProxyStore, ProxyStore};

use super::browser::{Browser, location, sealed_request};
use super::stage::{Client, REDIRECT, Stage, error_of, registration};
use crate::http::socket::Answer;

const ATTACKER: &str = "93.184.215.14";
const HONEST: &str = "93.184.215.15";

/// A proxy behind one reverse proxy.
async fn with_limit_per_source(limit: usize) -> Stage {
    Stage::with(|config| config.with_trusted_proxies(1).with_limit_per_source(limit)).await
}

async fn with_limits(change: impl FnOnce(&mut MemoryProxyLimits)) -> Stage {
    let mut limits = MemoryProxyLimits::default();
    change(&mut limits);
    let store: Arc<dyn ProxyStore> = Arc::new(MemoryProxyStore::new(limits));
    let keys = KeyRing::new(StateKey::new([1; 32]));
    Stage::with(|config| config.with_shared_store(store, keys)).await
}

async fn register_from(stage: &Stage, address: &str) -> Answer {
    let metadata = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
    let request = registration(&metadata).with("X-Forwarded-For", address);
    stage.endpoint.ask(&request).await
}

/// Registers a client from an address.
async fn client_from(stage: &Stage, address: &str) -> Client {
    let answer = register_from(stage, address).await;
    assert_eq!(answer.status(), 201, "{}", answer.text());
    Client {
        id: answer.message()["client_id"].as_str().unwrap().to_owned(),
        ..stage.client().await
    }
}

fn browser_at(stage: &Stage, address: &str) -> Browser {
    let mut browser = stage.browser();
    browser.forwarded_for = Some(address.to_owned());
    browser
}

/// Consents to a client.
async fn consent(browser: &mut Browser, client: &Client) -> Answer {
    let page = browser.open(&client.authorize(&[])).await;
    let sealed = sealed_request(&page);
    let allowed = [("request", sealed.as_str()), ("decision", "allow")];
    browser.submit("/consent", &allowed).await
}

#[track_caller]
fn assert_page_503(answer: &Answer) {
    assert_eq!(answer.status(), 503, "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("60"));
    assert_eq!(answer.header("location"), None);
    assert_eq!(
        answer.header("content-type"),
        Some("text/html; charset=utf-8")
    );
}

#[tokio::test]
async fn registrations_of_one_source_remove_only_its_own() {
    let stage = with_limit_per_source(3).await;
    let honest = client_from(&stage, HONEST).await;
    let mut attackers = Vec::new();
    for spoofed in 0..4 {
        // What a client writes into the header itself stands further left, and does not count.
        let address = format!("10.0.0.{spoofed}, {ATTACKER}");
        attackers.push(client_from(&stage, &address).await);
    }
    let mut browser = stage.browser();
    let known = browser.open(&honest.authorize(&[])).await;
    assert_eq!(known.status(), 200, "{}", known.text());
    for (client, expected) in attackers.iter().zip([400, 200, 200, 200]) {
        let page = browser.open(&client.authorize(&[])).await;
        assert_eq!(page.status(), expected, "{}", page.text());
    }
}

#[tokio::test]
async fn addresses_of_one_ipv6_network_are_one_source() {
    let stage = with_limit_per_source(1).await;
    let first = client_from(&stage, "2606:2800:21f:cb07::1").await;
    let other = client_from(&stage, "2606:2800:21f:cb08::1").await;
    client_from(&stage, "2606:2800:21f:cb07:1:2:3:4").await;
    let mut browser = stage.browser();
    let page = browser.open(&first.authorize(&[])).await;
    assert_eq!(page.status(), 400);
    sealed_request(&browser.open(&other.authorize(&[])).await);
}

#[tokio::test]
async fn unknown_source_has_no_bound_of_its_own() {
    // The peer is this machine, which may be a reverse proxy, and its header is not trusted.
    let stage = Stage::with(|config| config.with_limit_per_source(1)).await;
    let one = client_from(&stage, ATTACKER).await;
    let two = client_from(&stage, ATTACKER).await;
    let mut browser = stage.browser();
    for client in [one, two] {
        sealed_request(&browser.open(&client.authorize(&[])).await);
    }
}

#[tokio::test]
async fn logins_of_one_source_are_rejected_beyond_its_limit() {
    let stage = with_limit_per_source(2).await;
    let client = client_from(&stage, HONEST).await;
    let mut first = browser_at(&stage, ATTACKER);
    let provider_url = location(&consent(&mut first, &client).await);
    location(&consent(&mut browser_at(&stage, ATTACKER), &client).await);
    let rejected = consent(&mut browser_at(&stage, ATTACKER), &client).await;
    assert_page_503(&rejected);
    // The logins in progress go on, other sources can log in, and an ended login leaves its room to another.
    let honest = location(&consent(&mut browser_at(&stage, HONEST), &client).await);
    assert!(honest.starts_with(&stage.provider.issuer), "{honest}");
    let back = stage.come_back(&mut first, &provider_url).await;
    assert!(back.starts_with(&format!("{REDIRECT}?code=")), "{back}");
    location(&consent(&mut browser_at(&stage, ATTACKER), &client).await);
}

#[tokio::test]
async fn full_table_of_logins_rejects_a_new_one() {
    let stage = with_limits(|limits| limits.logins = 2).await;
    let client = stage.client().await;
    let (mut one, mut two, mut three) = (stage.browser(), stage.browser(), stage.browser());
    let first = location(&consent(&mut one, &client).await);
    let second = location(&consent(&mut two, &client).await);
    assert_page_503(&consent(&mut three, &client).await);
    for (browser, url) in [(&mut one, first), (&mut two, second)] {
        let back = stage.come_back(browser, &url).await;
        assert!(back.starts_with(&format!("{REDIRECT}?code=")), "{back}");
    }
    location(&consent(&mut three, &client).await);
}

#[tokio::test]
async fn full_table_of_clients_rejects_a_registration() {
    let stage = with_limits(|limits| limits.clients = 2).await;
    let (one, two) = (stage.client().await, stage.client().await);
    let rejected = register_from(&stage, HONEST).await;
    assert_eq!(rejected.status(), 503);
    assert_eq!(error_of(&rejected), "temporarily_unavailable");
    assert_eq!(rejected.header("retry-after"), Some("60"));
    let mut browser = stage.browser();
    for client in [one, two] {
        sealed_request(&browser.open(&client.authorize(&[])).await);
    }
}

#[tokio::test]
async fn full_table_of_grants_rejects_a_login_and_keeps_those_of_other_users() {
    let stage = with_limits(|limits| limits.grants = 1).await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    stage
        .provider
        .change(|behaviour| behaviour.user = json!({"id": 43}));
    let mut browser = stage.browser();
    let url = location(&consent(&mut browser, &client).await);
    let rejected = browser.open(&stage.provider.log_in(&url)).await;
    assert_page_503(&rejected);
    // The user who is logged in stays so, and can refresh.
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let next = stage.token(&client.refreshing(refresh)).await.message();
    let access = next["access_token"].as_str().unwrap();
    assert_eq!(stage.whoami(access).await.status(), 200);
}

#[tokio::test]
async fn refreshes_of_one_user_cost_no_other_user_a_token() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let of_ann = stage.tokens(&client).await;
    stage
        .provider
        .change(|behaviour| behaviour.user = json!({"id": 43}));
    let first = stage.tokens(&client).await;
    let mut tokens = first.clone();
    for _ in 0..8 {
        let refresh = tokens["refresh_token"].as_str().unwrap().to_owned();
        tokens = stage.token(&client.refreshing(&refresh)).await.message();
    }
    // The oldest of nine access tokens of one login is gone, and no other.
    for (tokens, expected) in [(&first, 401), (&tokens, 200), (&of_ann, 200)] {
        let access = tokens["access_token"].as_str().unwrap();
        assert_eq!(stage.whoami(access).await.status(), expected);
    }
}
