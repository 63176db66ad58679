//! Tokens of the identity provider: access by handlers, renewal, and the expiry of the tokens of the proxy.

use std::time::Duration;

use serde_json::json;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::call;

use super::fixture::{ProxyFixture, error_of};

/// Calls the tool that returns the provider's token.
pub(crate) async fn upstream_token(fixture: &ProxyFixture, token: &str) -> String {
    let request = Request::modern(&call(7, "upstream", json!({})))
        .with("Authorization", format!("Bearer {token}"));
    ProxyFixture::tool_text(&fixture.endpoint.request(&request).await)
}

#[tokio::test]
async fn handler_gets_the_provider_token_of_its_user() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(upstream_token(&fixture, access).await, "upstream-access-2");
    // The server does not accept the provider's token.
    assert_eq!(fixture.whoami("upstream-access-2").await.status(), 401);
}

#[tokio::test]
async fn concurrent_calls_share_one_refresh_of_an_expiring_provider_token() {
    let fixture = ProxyFixture::new().await;
    fixture.provider.change(|state| {
        state.issues_refresh_tokens = true;
        state.expires_in = Some(300);
    });
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    // The token of the proxy expires with the provider's token.
    assert!(tokens["expires_in"].as_u64().unwrap() <= 300);
    let access = tokens["access_token"].as_str().unwrap();
    fixture
        .provider
        .change(|state| state.expires_in = Some(3600));
    let (one, other) = tokio::join!(
        upstream_token(&fixture, access),
        upstream_token(&fixture, access)
    );
    assert_eq!(one, "upstream-access-3");
    assert_eq!(other, one);
    let forms = fixture.provider.state.lock().unwrap().forms.clone();
    assert_eq!(forms.len(), 2);
    assert_eq!(forms[1]["grant_type"], "refresh_token");
    assert_eq!(forms[1]["refresh_token"], "upstream-refresh-2");
}

#[tokio::test]
async fn client_refresh_also_refreshes_the_provider_token() {
    let fixture = ProxyFixture::new().await;
    fixture.provider.change(|state| {
        state.issues_refresh_tokens = true;
        state.expires_in = Some(60);
    });
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    assert!(tokens["expires_in"].as_u64().unwrap() <= 60);
    fixture
        .provider
        .change(|state| state.expires_in = Some(7200));
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let next = fixture.token(&client.refresh_form(refresh)).await.message();
    assert_eq!(next["expires_in"], 3600);
    let access = next["access_token"].as_str().unwrap();
    assert_eq!(upstream_token(&fixture, access).await, "upstream-access-3");
}

#[tokio::test]
async fn login_without_a_provider_refresh_token_has_no_refresh_token() {
    let fixture = ProxyFixture::new().await;
    fixture
        .provider
        .change(|state| state.expires_in = Some(600));
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    assert!(tokens["expires_in"].as_u64().unwrap() <= 600);
    assert_eq!(tokens.get("refresh_token"), None);
}

#[tokio::test]
async fn configured_lifetimes_are_used() {
    let fixture = ProxyFixture::with(|config| {
        config
            .with_access_token_ttl(Duration::from_secs(120))
            .with_session_ttl(Duration::from_secs(121))
    })
    .await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    assert_eq!(tokens["expires_in"], 120);
    let fixture =
        ProxyFixture::with(|config| config.with_session_ttl(Duration::from_secs(120))).await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    assert!(tokens["expires_in"].as_u64().unwrap() <= 120);
    assert_eq!(tokens.get("refresh_token"), None);
}

#[tokio::test]
async fn grant_revoked_at_the_provider_ends_the_login() {
    let fixture = ProxyFixture::new().await;
    fixture.provider.change(|state| {
        state.issues_refresh_tokens = true;
        state.expires_in = Some(60);
    });
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    let body = json!({"error": "invalid_grant"});
    fixture
        .provider
        .change(|state| state.token_error = Some((400, body)));
    let text = upstream_token(&fixture, access).await;
    assert!(
        text.starts_with("no token: the user has no valid grant"),
        "{text}"
    );
    assert_eq!(fixture.whoami(access).await.status(), 401);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let rejected = fixture.token(&client.refresh_form(refresh)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
}

#[tokio::test]
async fn unavailable_provider_does_not_invalidate_tokens() {
    let fixture = ProxyFixture::new().await;
    fixture.provider.change(|state| {
        state.issues_refresh_tokens = true;
        state.expires_in = Some(60);
    });
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for response in [(503, json!("down")), (429, json!({"error": "slow_down"}))] {
        fixture
            .provider
            .change(|state| state.token_error = Some(response));
        let response = fixture.token(&client.refresh_form(refresh)).await;
        assert_eq!(response.status(), 503);
        assert_eq!(error_of(&response), "temporarily_unavailable");
        let text = upstream_token(&fixture, access).await;
        assert!(text.contains("is temporarily unavailable"), "{text}");
    }
    fixture.provider.change(|state| state.token_error = None);
    assert_eq!(
        fixture.token(&client.refresh_form(refresh)).await.status(),
        200
    );
}
