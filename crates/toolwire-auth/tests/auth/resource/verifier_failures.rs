//! A verifier that fails, panics or never completes rejects one request and does not affect the others.

use std::time::Duration;

use toolwire::BoxFuture;
use toolwire::transport::http::{HttpLimits, HttpService};
use toolwire_auth::documents::{AccessTokenClaims, Secret};
use toolwire_auth::{ResourceServerConfig, TokenError, TokenPurpose, TokenVerifier};
use toolwire_tests::http::direct::InProcessClient;
use toolwire_tests::http::request::Request;

use super::protected_server::{
    ProtectedServer, config, options, protected_server, tokens, whoami, with_token,
};

/// A verifier that fails in the way that the token names, and accepts the tokens of [`tokens`].
#[derive(Debug)]
struct FailingVerifier;

impl TokenVerifier for FailingVerifier {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        match token.expose() {
            "panic" => panic!("a panic in a verifier"),
            "panic-later" => Box::pin(async { panic!("a panic in a verifier") }),
            "hang" => Box::pin(std::future::pending()),
            "unavailable" => Box::pin(async { Err(TokenError::Unavailable("no network".into())) }),
            _ => Box::pin(async { tokens().verify(token, purpose).await }),
        }
    }
}

fn config_with_failing_verifier() -> ResourceServerConfig {
    config().with_verifier(FailingVerifier)
}

#[tokio::test]
async fn panicking_verifier_returns_500_for_one_request() {
    let server = ProtectedServer::with(config_with_failing_verifier()).await;
    for token in ["panic", "panic-later"] {
        let response = server.send_message(token, &whoami()).await;
        assert_eq!(response.status(), 500, "{}", response.text());
        assert_eq!(response.message()["error"]["code"], -32603);
    }
    assert_eq!(server.runs(), 0);
    assert_eq!(server.send_message("ann", &whoami()).await.status(), 200);
}

#[tokio::test]
async fn unavailable_verifier_returns_503_without_a_challenge() {
    let server = ProtectedServer::with(config_with_failing_verifier()).await;
    let response = server.send_message("unavailable", &whoami()).await;
    assert_eq!(response.status(), 503, "{}", response.text());
    assert_eq!(response.header("www-authenticate"), None);
    assert!(response.header("retry-after").is_some());
    assert!(
        !response.text().contains("no network"),
        "{}",
        response.text()
    );
    assert_eq!(server.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn verifier_that_never_completes_returns_503_after_the_deadline() {
    let deadline = HttpLimits::default().authorization_deadline;
    assert_eq!(deadline, Duration::from_secs(15));
    let service = HttpService::new(
        protected_server(&std::sync::Arc::default()),
        options(config_with_failing_verifier()),
    );
    let client = InProcessClient::new(&service);
    let start = tokio::time::Instant::now();
    let response = client
        .request(with_token(Request::modern(&whoami()), "hang"))
        .await;
    assert_eq!(response.status, 503, "{}", response.body);
    assert_eq!(start.elapsed(), deadline);
    let response = client
        .request(with_token(Request::modern(&whoami()), "ann"))
        .await;
    assert_eq!(response.status, 200);
}

#[tokio::test]
async fn unreachable_issuer_returns_503() {
    // No process listens on port 1.
    let fetcher = toolwire_auth::DocumentFetcher::with_loopback_allowed();
    let config = ResourceServerConfig::new("https://mcp.example.com/mcp", ["http://127.0.0.1:1"])
        .with_fetcher(fetcher);
    let server = ProtectedServer::with(config).await;
    let issuer = super::issuer::Issuer::new();
    let token = issuer.token(&serde_json::json!({"iss": "http://127.0.0.1:1"}));
    assert_eq!(server.send_message(&token, &whoami()).await.status(), 503);
}
