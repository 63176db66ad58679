use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::advance;

use super::super::config::tests::{ISSUER, purpose};
use super::*;
use crate::test_http::CannedHttp;

const RESOURCE: &str = "https://mcp.example.com/mcp";

fn verifier_with_response(response: Value) -> (Introspection, CannedHttp) {
    let http = CannedHttp::new(move |_| (200, response.to_string()));
    (verifier_over(&http), http)
}

fn verifier_over(http: &CannedHttp) -> Introspection {
    let fetcher = DocumentFetcher::with_http_client(http.clone());
    Introspection::new(
        "https://auth.example.com/introspect",
        "me",
        &"secret".into(),
        fetcher,
    )
    .unwrap()
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

async fn verify(verifier: &Introspection, token: &str) -> Result<AccessTokenClaims, TokenError> {
    verifier.verify(&token.into(), &purpose()).await
}

#[tokio::test(start_paused = true)]
async fn response_is_cached() {
    let (verifier, http) =
        verifier_with_response(json!({"active": true, "sub": "ann", "aud": RESOURCE}));
    for _ in 0..3 {
        assert_eq!(
            verify(&verifier, "t").await.unwrap().sub.as_deref(),
            Some("ann")
        );
    }
    assert_eq!(http.count(), 1);
    verify(&verifier, "another").await.unwrap();
    assert_eq!(http.count(), 2);
    advance(Duration::from_secs(30) - Duration::from_millis(1)).await;
    verify(&verifier, "t").await.unwrap();
    assert_eq!(http.count(), 2);
    advance(Duration::from_millis(1)).await;
    verify(&verifier, "t").await.unwrap();
    assert_eq!(http.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn cached_response_ends_with_its_token() {
    let end = now() + 10;
    let (verifier, http) =
        verifier_with_response(json!({"active": true, "sub": "ann", "exp": end}));
    verify(&verifier, "t").await.unwrap();
    advance(Duration::from_secs(10)).await;
    verify(&verifier, "t").await.unwrap();
    assert_eq!(http.count(), 2);
}

#[tokio::test]
async fn cache_time_is_configurable_and_limited() {
    let (verifier, http) = verifier_with_response(json!({"active": true, "sub": "ann"}));
    let verifier = verifier.with_cache_ttl(Duration::ZERO);
    verify(&verifier, "t").await.unwrap();
    verify(&verifier, "t").await.unwrap();
    assert_eq!(http.count(), 2);
    let verifier = verifier.with_cache_ttl(Duration::MAX);
    verify(&verifier, "t").await.unwrap();
}

#[tokio::test]
async fn inactive_token_is_rejected_and_cached() {
    let (verifier, http) =
        verifier_with_response(json!({"active": false, "sub": "ann", "aud": RESOURCE}));
    for _ in 0..2 {
        let outcome = verify(&verifier, "t").await;
        assert!(matches!(outcome, Err(TokenError::Invalid(_))));
    }
    assert_eq!(http.count(), 1);
}

#[tokio::test]
async fn failed_introspection_is_not_cached() {
    let times = Arc::new(AtomicUsize::new(0));
    let http = CannedHttp::new(move |_| match times.fetch_add(1, Ordering::SeqCst) {
        0 => (500, String::new()),
        1 => (200, "no JSON".to_owned()),
        2 => (200, "{}".to_owned()),
        3 => (401, json!({"active": true}).to_string()),
        _ => (200, json!({"active": true, "sub": "ann"}).to_string()),
    });
    let verifier = verifier_over(&http);
    for _ in 0..4 {
        let outcome = verify(&verifier, "t").await;
        assert!(matches!(outcome, Err(TokenError::Unavailable(_))));
    }
    assert!(verify(&verifier, "t").await.is_ok());
}

#[tokio::test]
async fn omitted_claims_have_defaults_except_the_audience() {
    let (verifier, _) =
        verifier_with_response(json!({"active": true, "username": "ann", "aud": RESOURCE}));
    let claims = verify(&verifier, "t").await.unwrap();
    assert_eq!(claims.iss.as_deref(), Some(ISSUER));
    assert_eq!(claims.sub.as_deref(), Some("ann"));
    let now = now();
    assert_eq!(purpose().rules.check_claims(&claims, now), Ok(()));

    let (verifier, _) = verifier_with_response(json!({"active": true, "sub": "ann"}));
    let claims = verify(&verifier, "t").await.unwrap();
    assert!(purpose().rules.check_claims(&claims, now).is_err());

    let (verifier, _) = verifier_with_response(
        json!({"active": true, "iss": "https://evil.example", "aud": RESOURCE}),
    );
    let claims = verify(&verifier, "t").await.unwrap();
    assert!(purpose().rules.check_claims(&claims, now).is_err());
}

#[tokio::test]
async fn introspection_request_is_an_authenticated_form() {
    let (verifier, http) = verifier_with_response(json!({"active": false}));
    verify(&verifier, "a+b/c=").await.unwrap_err();
    let request = http.last();
    assert_eq!(request.method(), http::Method::POST);
    assert_eq!(
        &request.body()[..],
        b"token=a%2Bb%2Fc%3D&token_type_hint=access_token"
    );
    assert_eq!(
        request.headers()["content-type"],
        "application/x-www-form-urlencoded"
    );
    // `me:secret`
    assert_eq!(request.headers()["authorization"], "Basic bWU6c2VjcmV0");
    assert!(request.headers()["authorization"].is_sensitive());
}

#[test]
fn endpoint_requires_https_and_debug_output_has_no_secret() {
    let fetcher = DocumentFetcher::new();
    let secret = "hidden secret".into();
    assert!(
        Introspection::new("http://auth.example.com/", "me", &secret, fetcher.clone()).is_err()
    );
    let verifier = Introspection::new("https://auth.example.com/", "me", &secret, fetcher).unwrap();
    assert!(!format!("{verifier:?}").contains("hidden secret"));
}
