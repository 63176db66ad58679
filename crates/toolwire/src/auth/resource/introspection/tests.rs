use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::advance;

use super::super::config::tests::{ISSUER, purpose};
use super::*;
use crate::auth::canned_http::CannedHttp;

const RESOURCE: &str = "https://mcp.example.com/mcp";

fn answering(answer: Value) -> (Introspection, CannedHttp) {
    let http = CannedHttp::new(move |_| (200, answer.to_string()));
    (asking(&http), http)
}

fn asking(http: &CannedHttp) -> Introspection {
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

async fn ask(verifier: &Introspection, token: &str) -> Result<AccessTokenClaims, TokenError> {
    verifier.verify(&token.into(), &purpose()).await
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_believed_for_a_while() {
    let (verifier, http) = answering(json!({"active": true, "sub": "ann", "aud": RESOURCE}));
    for _ in 0..3 {
        assert_eq!(
            ask(&verifier, "t").await.unwrap().sub.as_deref(),
            Some("ann")
        );
    }
    assert_eq!(http.count(), 1);
    ask(&verifier, "another").await.unwrap();
    assert_eq!(http.count(), 2);
    advance(Duration::from_secs(30) - Duration::from_millis(1)).await;
    ask(&verifier, "t").await.unwrap();
    assert_eq!(http.count(), 2);
    advance(Duration::from_millis(1)).await;
    ask(&verifier, "t").await.unwrap();
    assert_eq!(http.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn no_answer_outlives_its_token() {
    let end = now() + 10;
    let (verifier, http) = answering(json!({"active": true, "sub": "ann", "exp": end}));
    ask(&verifier, "t").await.unwrap();
    advance(Duration::from_secs(10)).await;
    ask(&verifier, "t").await.unwrap();
    assert_eq!(http.count(), 2);
}

#[tokio::test]
async fn answers_need_not_be_kept_and_are_not_kept_for_ever() {
    let (verifier, http) = answering(json!({"active": true, "sub": "ann"}));
    let verifier = verifier.with_cache_time(Duration::ZERO);
    ask(&verifier, "t").await.unwrap();
    ask(&verifier, "t").await.unwrap();
    assert_eq!(http.count(), 2);
    let verifier = verifier.with_cache_time(Duration::MAX);
    ask(&verifier, "t").await.unwrap();
}

#[tokio::test]
async fn a_token_that_is_not_active_is_refused_and_remembered() {
    let (verifier, http) = answering(json!({"active": false, "sub": "ann", "aud": RESOURCE}));
    for _ in 0..2 {
        let refused = ask(&verifier, "t").await;
        assert!(matches!(refused, Err(TokenError::Invalid(_))));
    }
    assert_eq!(http.count(), 1);
}

#[tokio::test]
async fn a_question_without_answer_is_asked_again() {
    let times = Arc::new(AtomicUsize::new(0));
    let http = CannedHttp::new(move |_| match times.fetch_add(1, Ordering::SeqCst) {
        0 => (500, String::new()),
        1 => (200, "no JSON".to_owned()),
        2 => (200, "{}".to_owned()),
        3 => (401, json!({"active": true}).to_string()),
        _ => (200, json!({"active": true, "sub": "ann"}).to_string()),
    });
    let verifier = asking(&http);
    for _ in 0..4 {
        let refused = ask(&verifier, "t").await;
        assert!(matches!(refused, Err(TokenError::Unavailable(_))));
    }
    assert!(ask(&verifier, "t").await.is_ok());
}

#[tokio::test]
async fn what_an_answer_leaves_out_is_filled_in_except_whom_it_is_for() {
    let (verifier, _) = answering(json!({"active": true, "username": "ann", "aud": RESOURCE}));
    let claims = ask(&verifier, "t").await.unwrap();
    assert_eq!(claims.iss.as_deref(), Some(ISSUER));
    assert_eq!(claims.sub.as_deref(), Some("ann"));
    let now = now();
    assert_eq!(purpose().rules.check_claims(&claims, now), Ok(()));

    let (verifier, _) = answering(json!({"active": true, "sub": "ann"}));
    let claims = ask(&verifier, "t").await.unwrap();
    assert!(purpose().rules.check_claims(&claims, now).is_err());

    let (verifier, _) =
        answering(json!({"active": true, "iss": "https://evil.example", "aud": RESOURCE}));
    let claims = ask(&verifier, "t").await.unwrap();
    assert!(purpose().rules.check_claims(&claims, now).is_err());
}

#[tokio::test]
async fn the_question_is_a_form_of_a_known_client() {
    let (verifier, http) = answering(json!({"active": false}));
    ask(&verifier, "a+b/c=").await.unwrap_err();
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
fn the_endpoint_is_asked_over_tls_only_and_the_secret_does_not_print() {
    let fetcher = DocumentFetcher::new();
    let secret = "do not tell".into();
    assert!(
        Introspection::new("http://auth.example.com/", "me", &secret, fetcher.clone()).is_err()
    );
    let verifier = Introspection::new("https://auth.example.com/", "me", &secret, fetcher).unwrap();
    assert!(!format!("{verifier:?}").contains("do not tell"));
}
