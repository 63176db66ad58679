use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::time::advance;

use super::*;
use crate::test_http::CannedHttp;

const URL: &str = "https://auth.example.com/keys";
const ALGORITHM: SigningAlgorithm = SigningAlgorithm::EdDsa;

fn key(kid: &str) -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": kid})
}

fn key_set(kids: impl IntoIterator<Item = String>) -> String {
    let keys: Vec<Value> = kids.into_iter().map(|kid| key(&kid)).collect();
    json!({ "keys": keys }).to_string()
}

fn keys_from(http: &CannedHttp, source: KeySource) -> Arc<IssuerKeys> {
    let fetcher = DocumentFetcher::with_http_client(http.clone());
    Arc::new(IssuerKeys::new(fetcher, source))
}

fn at_url(http: &CannedHttp) -> Arc<IssuerKeys> {
    keys_from(http, KeySource::Url(URL.to_owned()))
}

/// Creates an issuer with the key `a` that responds while the switch is on.
fn issuer() -> (CannedHttp, Arc<AtomicBool>) {
    let is_available = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&is_available);
    let http = CannedHttp::new(move |_| {
        if switch.load(Ordering::SeqCst) {
            (200, key_set(["a".to_owned()]))
        } else {
            (500, String::new())
        }
    });
    (http, is_available)
}

async fn finds(keys: &Arc<IssuerKeys>, kid: &str) -> bool {
    !keys
        .candidates(Some(kid), ALGORITHM)
        .await
        .unwrap()
        .is_empty()
}

/// Runs detached tasks to completion.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_fetch_serves_all_waiting_requests() {
    let (http, _) = issuer();
    let http = http.blocked();
    let keys = at_url(&http);
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let keys = Arc::clone(&keys);
            tokio::spawn(async move { finds(&keys, "a").await })
        })
        .collect();
    settle().await;
    http.release();
    for one in waiting {
        assert!(one.await.unwrap());
    }
    assert_eq!(http.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn unknown_keys_cause_one_fetch_per_cool_down() {
    let (http, _) = issuer();
    let keys = at_url(&http);
    assert!(finds(&keys, "a").await);
    for _ in 0..5 {
        assert!(!finds(&keys, "invented").await);
    }
    assert_eq!(http.count(), 1);
    advance(COOL_DOWN - Duration::from_millis(1)).await;
    assert!(!finds(&keys, "invented").await);
    assert_eq!(http.count(), 1);
    advance(Duration::from_millis(1)).await;
    assert!(!finds(&keys, "invented").await);
    assert!(!finds(&keys, "another").await);
    assert_eq!(http.count(), 2);
    assert!(finds(&keys, "a").await);
}

#[tokio::test(start_paused = true)]
async fn rotated_key_is_fetched() {
    let kids = Arc::new(Mutex::new(vec!["a".to_owned()]));
    let served = Arc::clone(&kids);
    let http = CannedHttp::new(move |_| (200, key_set(served.lock().unwrap().clone())));
    let keys = at_url(&http);
    assert!(finds(&keys, "a").await);
    *kids.lock().unwrap() = vec!["b".to_owned()];
    advance(COOL_DOWN).await;
    assert!(finds(&keys, "b").await);
    assert!(!finds(&keys, "a").await, "the old key is no longer valid");
}

#[tokio::test(start_paused = true)]
async fn stale_keys_are_used_while_fetches_fail() {
    let (http, is_available) = issuer();
    let keys = at_url(&http);
    assert!(finds(&keys, "a").await);
    is_available.store(false, Ordering::SeqCst);
    advance(FRESH_TTL).await;
    assert!(finds(&keys, "a").await);
    settle().await;
    assert!(finds(&keys, "a").await);
    settle().await;
    assert_eq!(http.count(), 2, "one fetch per cool-down");
    advance(COOL_DOWN).await;
    assert!(finds(&keys, "a").await);
    settle().await;
    assert_eq!(http.count(), 3);
    advance(STALE_TTL - COOL_DOWN).await;
    assert!(keys.candidates(Some("a"), ALGORITHM).await.is_err());
    is_available.store(true, Ordering::SeqCst);
    advance(COOL_DOWN).await;
    assert!(finds(&keys, "a").await);
}

#[tokio::test(start_paused = true)]
async fn stale_keys_are_renewed_in_the_background() {
    let (http, _) = issuer();
    let keys = at_url(&http);
    assert!(finds(&keys, "a").await);
    advance(FRESH_TTL - Duration::from_millis(1)).await;
    assert!(finds(&keys, "a").await);
    settle().await;
    assert_eq!(http.count(), 1);
    advance(Duration::from_millis(1)).await;
    assert!(finds(&keys, "a").await);
    settle().await;
    assert_eq!(http.count(), 2);
    advance(FRESH_TTL - Duration::from_millis(1)).await;
    assert!(finds(&keys, "a").await);
    settle().await;
    assert_eq!(http.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn unreachable_issuer_has_a_cool_down() {
    let (http, is_available) = issuer();
    is_available.store(false, Ordering::SeqCst);
    let keys = at_url(&http);
    for _ in 0..5 {
        assert!(keys.candidates(Some("a"), ALGORITHM).await.is_err());
    }
    assert_eq!(http.count(), 1);
    is_available.store(true, Ordering::SeqCst);
    advance(COOL_DOWN_WITHOUT_KEYS).await;
    assert!(finds(&keys, "a").await);
    assert_eq!(http.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn dropped_request_does_not_cancel_the_fetch() {
    let (http, _) = issuer();
    let http = http.blocked();
    let keys = at_url(&http);
    let dropped = {
        let keys = Arc::clone(&keys);
        tokio::spawn(async move { finds(&keys, "a").await })
    };
    settle().await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    http.release();
    assert!(finds(&keys, "a").await);
    assert_eq!(http.count(), 1);
}

#[tokio::test]
async fn number_of_keys_is_limited() {
    let many = CannedHttp::new(|_| (200, key_set((0..=MAX_KEYS).map(|n| n.to_string()))));
    let keys = at_url(&many);
    assert!(finds(&keys, &(MAX_KEYS - 1).to_string()).await);
    assert!(!finds(&keys, &MAX_KEYS.to_string()).await);
    let tried = keys.candidates(None, ALGORITHM).await.unwrap();
    assert_eq!(tried.len(), MAX_TRIED_KEYS);
}

/// Returns the outcome for an issuer with this metadata.
async fn with_metadata(metadata: Value) -> (Result<Vec<Jwk>, FetchError>, Vec<String>) {
    let http = CannedHttp::new(move |request| match request.uri().path() {
        "/.well-known/openid-configuration/tenant" => (200, metadata.to_string()),
        "/keys" => (200, key_set(["a".to_owned()])),
        _ => (404, String::new()),
    });
    let issuer = "https://auth.example.com/tenant";
    let keys = keys_from(&http, KeySource::Metadata(issuer.to_owned()));
    (keys.candidates(Some("a"), ALGORITHM).await, http.urls())
}

#[tokio::test]
async fn metadata_names_the_key_url() {
    let issuer = "https://auth.example.com/tenant";
    let (keys, urls) = with_metadata(json!({"issuer": issuer, "jwks_uri": URL})).await;
    assert_eq!(keys.unwrap().len(), 1);
    assert_eq!(
        urls,
        [
            "https://auth.example.com/.well-known/oauth-authorization-server/tenant",
            "https://auth.example.com/.well-known/openid-configuration/tenant",
            URL,
        ]
    );
}

#[tokio::test]
async fn metadata_of_another_issuer_is_rejected() {
    let issuer = "https://auth.example.com/tenant";
    for metadata in [
        json!({"issuer": "https://auth.example.com", "jwks_uri": URL}),
        json!({"issuer": "https://evil.example.com/tenant", "jwks_uri": URL}),
        json!({"issuer": issuer, "token_endpoint": "https://auth.example.com/token"}),
        json!({"issuer": issuer, "jwks_uri": "http://auth.example.com/keys"}),
        json!({"issuer": issuer, "jwks_uri": "http://127.0.0.1/keys"}),
        json!({"issuer": issuer, "jwks_uri": "https://localhost/keys"}),
        json!([]),
    ] {
        let (keys, urls) = with_metadata(metadata.clone()).await;
        assert!(keys.is_err(), "{metadata}");
        assert!(!urls.iter().any(|url| url.ends_with("/keys")), "{urls:?}");
    }
}
