//! The user filter runs at each refresh, for every kind of provider token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig, Upstream};

use super::fixture::{Client, ProxyFixture, RESOURCE, error_of};
use super::provider::{CLIENT_ID, CLIENT_SECRET, Provider};

/// Asserts that a refresh fails and revokes all tokens of the login.
async fn assert_refresh_ends_the_login(
    fixture: &ProxyFixture,
    client: &Client,
    tokens: &serde_json::Value,
) {
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(fixture.whoami(access).await.status(), 200);
    let rejected = fixture.token(&client.refresh_form(refresh)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
    assert_eq!(fixture.whoami(access).await.status(), 401);
}

#[tokio::test]
async fn user_that_the_filter_rejects_loses_access_at_the_refresh() {
    // "secret" is a claim that the proxy does not store. The provider's tokens do not expire.
    let fixture = ProxyFixture::with(|config| {
        config.with_user_filter(|user| user.claims.get("secret").is_some_and(|own| own == "hidden"))
    })
    .await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    fixture
        .provider
        .change(|state| state.user["login"] = json!("renamed"));
    let next = fixture.token(&client.refresh_form(refresh)).await;
    assert_eq!(next.status(), 200, "{}", next.text());
    let next = next.message();
    // Handlers get the current claims of the provider.
    let access = next["access_token"].as_str().unwrap();
    let text = ProxyFixture::tool_text(&fixture.whoami(access).await);
    assert!(text.starts_with("42 \"renamed\""), "{text}");
    fixture
        .provider
        .change(|state| state.user["secret"] = json!("dismissed"));
    assert_refresh_ends_the_login(&fixture, &client, &next).await;
}

#[tokio::test]
async fn revoked_provider_token_or_changed_user_ends_the_login() {
    for (status, user) in [
        (Some(401), json!({"message": "Bad credentials"})),
        (None, json!({"id": 43, "login": "bob"})),
    ] {
        let fixture = ProxyFixture::with(|config| config.with_user_filter(|_| true)).await;
        let client = fixture.client().await;
        let tokens = fixture.tokens(&client).await;
        fixture.provider.change(|state| {
            state.user_status = status;
            state.user = user;
        });
        assert_refresh_ends_the_login(&fixture, &client, &tokens).await;
    }
}

#[tokio::test]
async fn unavailable_provider_does_not_invalidate_the_refresh_token() {
    let fixture = ProxyFixture::with(|config| config.with_user_filter(|_| true)).await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for status in [500, 403, 429] {
        fixture
            .provider
            .change(|state| state.user_status = Some(status));
        let response = fixture.token(&client.refresh_form(refresh)).await;
        assert_eq!(response.status(), 503);
        assert_eq!(error_of(&response), "temporarily_unavailable");
        assert_eq!(response.header("retry-after"), Some("60"));
    }
    fixture.provider.change(|state| state.user_status = None);
    assert_eq!(
        fixture.token(&client.refresh_form(refresh)).await.status(),
        200
    );
}

#[tokio::test]
async fn id_token_user_that_the_filter_rejects_loses_access_at_the_refresh() {
    let provider = Provider::start().await;
    let upstream = Upstream::new(&provider.issuer, CLIENT_ID, CLIENT_SECRET);
    let admitted = Arc::new(AtomicBool::new(true));
    let filter = Arc::clone(&admitted);
    let fixture = ProxyFixture::in_front_of(provider, |_| {
        OAuthProxyConfig::new(RESOURCE, upstream)
            .with_fetcher(DocumentFetcher::with_loopback_allowed())
            // The filter gets the claim "iss" each time. Handlers do not get it.
            .with_user_filter(move |user| {
                user.claims.contains_key("iss") && filter.load(Ordering::SeqCst)
            })
    })
    .await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let next = fixture.token(&client.refresh_form(refresh)).await;
    assert_eq!(next.status(), 200, "{}", next.text());
    admitted.store(false, Ordering::SeqCst);
    assert_refresh_ends_the_login(&fixture, &client, &next.message()).await;
}

#[tokio::test]
async fn filter_gets_the_claims_of_the_renewed_id_token() {
    let provider = Provider::start().await;
    provider.change(|state| {
        state.issues_refresh_tokens = true;
        state.expires_in = Some(60);
        state.id_claims = json!({"groups": ["staff"]});
    });
    let upstream = Upstream::new(&provider.issuer, CLIENT_ID, CLIENT_SECRET);
    let fixture = ProxyFixture::in_front_of(provider, |_| {
        OAuthProxyConfig::new(RESOURCE, upstream)
            .with_fetcher(DocumentFetcher::with_loopback_allowed())
            .with_user_filter(|user| user.claims.get("groups") == Some(&json!(["staff"])))
    })
    .await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    fixture
        .provider
        .change(|state| state.id_claims = json!({"groups": []}));
    assert_refresh_ends_the_login(&fixture, &client, &tokens).await;
}
