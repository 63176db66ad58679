//! Verifiers that fail, panic or never answer cost the request that met them, and let nobody in.

use std::time::Duration;

use toolwire::BoxFuture;
use toolwire::transport::http::{HttpLimits, HttpService};
use toolwire_auth::documents::{AccessTokenClaims, Secret};
use toolwire_auth::{ResourceServerConfig, TokenError, TokenPurpose, TokenVerifier};

use super::guarded::{Guarded, config, options, protected_server, tokens, whoami, with_token};
use crate::http::direct::Direct;
use crate::http::request::Request;

/// Does what the token says, and knows the good ones.
#[derive(Debug)]
struct Moody;

impl TokenVerifier for Moody {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        match token.expose() {
            "panic" => panic!("as the test says"),
            "panic-later" => Box::pin(async { panic!("as the test says") }),
            "hang" => Box::pin(std::future::pending()),
            "away" => Box::pin(async { Err(TokenError::Unavailable("no network".into())) }),
            _ => Box::pin(async { tokens().verify(token, purpose).await }),
        }
    }
}

fn moody() -> ResourceServerConfig {
    config().with_verifier(Moody)
}

#[tokio::test]
async fn a_verifier_that_panics_fails_one_request() {
    let guarded = Guarded::with(moody()).await;
    for token in ["panic", "panic-later"] {
        let answer = guarded.say(token, &whoami()).await;
        assert_eq!(answer.status(), 500, "{}", answer.text());
        assert_eq!(answer.message()["error"]["code"], -32603);
    }
    assert_eq!(guarded.runs(), 0);
    assert_eq!(guarded.say("ann", &whoami()).await.status(), 200);
}

#[tokio::test]
async fn tokens_that_nobody_can_verify_are_asked_for_later() {
    let guarded = Guarded::with(moody()).await;
    let answer = guarded.say("away", &whoami()).await;
    assert_eq!(answer.status(), 503, "{}", answer.text());
    assert_eq!(answer.header("www-authenticate"), None);
    assert!(answer.header("retry-after").is_some());
    assert!(!answer.text().contains("no network"), "{}", answer.text());
    assert_eq!(guarded.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_verifier_that_hangs_is_given_up() {
    let deadline = HttpLimits::default().authorization_deadline;
    assert_eq!(deadline, Duration::from_secs(15));
    let service = HttpService::new(
        protected_server(&std::sync::Arc::default()),
        options(moody()),
    );
    let client = Direct::new(&service);
    let began = tokio::time::Instant::now();
    let answer = client
        .ask(with_token(Request::modern(&whoami()), "hang"))
        .await;
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert_eq!(began.elapsed(), deadline);
    let answer = client
        .ask(with_token(Request::modern(&whoami()), "ann"))
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn an_issuer_that_is_away_is_no_reason_to_refuse_a_token_for_good() {
    // Nothing listens at the first port.
    let fetcher = toolwire_auth::DocumentFetcher::with_loopback_allowed();
    let config = ResourceServerConfig::new("https://mcp.example.com/mcp", ["http://127.0.0.1:1"])
        .with_fetcher(fetcher);
    let guarded = Guarded::with(config).await;
    let issuer = super::issuer::Issuer::new();
    let token = issuer.token(&serde_json::json!({"iss": "http://127.0.0.1:1"}));
    assert_eq!(guarded.say(&token, &whoami()).await.status(), 503);
}
