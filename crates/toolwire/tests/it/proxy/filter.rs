//! The filter of users is asked at each refresh, whatever the tokens of the provider are like.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig, Upstream};

use super::provider::{CLIENT_ID, CLIENT_SECRET, Provider};
use super::stage::{Client, RESOURCE, Stage, error_of};

/// Checks that a refresh ends the login, with all its tokens.
async fn refresh_ends_the_login(stage: &Stage, client: &Client, tokens: &serde_json::Value) {
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(stage.whoami(access).await.status(), 200);
    let refused = stage.token(&client.refreshing(refresh)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
    assert_eq!(stage.whoami(access).await.status(), 401);
}

#[tokio::test]
async fn user_who_is_no_longer_admitted_loses_access_at_the_refresh() {
    // "secret" is a claim that the proxy does not store. The provider's tokens do not expire.
    let stage = Stage::with(|config| {
        config.with_user_filter(|user| user.claims.get("secret").is_some_and(|own| own == "hidden"))
    })
    .await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    stage
        .provider
        .change(|behaviour| behaviour.user["login"] = json!("renamed"));
    let next = stage.token(&client.refreshing(refresh)).await;
    assert_eq!(next.status(), 200, "{}", next.text());
    let next = next.message();
    // Handlers see what the provider says now.
    let access = next["access_token"].as_str().unwrap();
    let said = Stage::says(&stage.whoami(access).await);
    assert!(said.starts_with("42 \"renamed\""), "{said}");
    stage
        .provider
        .change(|behaviour| behaviour.user["secret"] = json!("dismissed"));
    refresh_ends_the_login(&stage, &client, &next).await;
}

#[tokio::test]
async fn token_that_the_provider_revoked_or_gives_to_another_user_ends_the_login() {
    for (status, user) in [
        (Some(401), json!({"message": "Bad credentials"})),
        (None, json!({"id": 43, "login": "bob"})),
    ] {
        let stage = Stage::with(|config| config.with_user_filter(|_| true)).await;
        let client = stage.client().await;
        let tokens = stage.tokens(&client).await;
        stage.provider.change(|behaviour| {
            behaviour.user_status = status;
            behaviour.user = user;
        });
        refresh_ends_the_login(&stage, &client, &tokens).await;
    }
}

#[tokio::test]
async fn provider_that_cannot_be_asked_costs_no_refresh_token() {
    let stage = Stage::with(|config| config.with_user_filter(|_| true)).await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for status in [500, 403, 429] {
        stage
            .provider
            .change(|behaviour| behaviour.user_status = Some(status));
        let answer = stage.token(&client.refreshing(refresh)).await;
        assert_eq!(answer.status(), 503);
        assert_eq!(error_of(&answer), "temporarily_unavailable");
        assert_eq!(answer.header("retry-after"), Some("60"));
    }
    stage
        .provider
        .change(|behaviour| behaviour.user_status = None);
    assert_eq!(stage.token(&client.refreshing(refresh)).await.status(), 200);
}

#[tokio::test]
async fn user_of_an_id_token_who_is_no_longer_admitted_loses_access_at_the_refresh() {
    let provider = Provider::start().await;
    let upstream = Upstream::new(&provider.issuer, CLIENT_ID, CLIENT_SECRET);
    let admitted = Arc::new(AtomicBool::new(true));
    let filter = Arc::clone(&admitted);
    let stage = Stage::in_front_of(provider, |_| {
        OAuthProxyConfig::new(RESOURCE, upstream)
            .with_fetcher(DocumentFetcher::with_loopback_allowed())
            // "iss" is a claim that handlers do not get, and the filter gets each time.
            .with_user_filter(move |user| {
                user.claims.contains_key("iss") && filter.load(Ordering::SeqCst)
            })
    })
    .await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let next = stage.token(&client.refreshing(refresh)).await;
    assert_eq!(next.status(), 200, "{}", next.text());
    admitted.store(false, Ordering::SeqCst);
    refresh_ends_the_login(&stage, &client, &next.message()).await;
}

#[tokio::test]
async fn renewed_id_token_is_what_the_filter_gets() {
    let provider = Provider::start().await;
    provider.change(|behaviour| {
        behaviour.gives_refresh_tokens = true;
        behaviour.expires_in = Some(60);
        behaviour.id_claims = json!({"groups": ["staff"]});
    });
    let upstream = Upstream::new(&provider.issuer, CLIENT_ID, CLIENT_SECRET);
    let stage = Stage::in_front_of(provider, |_| {
        OAuthProxyConfig::new(RESOURCE, upstream)
            .with_fetcher(DocumentFetcher::with_loopback_allowed())
            .with_user_filter(|user| user.claims.get("groups") == Some(&json!(["staff"])))
    })
    .await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    stage
        .provider
        .change(|behaviour| behaviour.id_claims = json!({"groups": []}));
    refresh_ends_the_login(&stage, &client, &tokens).await;
}
