//! Tokens of the identity provider: who gets them, how they are renewed, and that ours do not outlive them.

use std::time::Duration;

use serde_json::json;

use super::stage::{Stage, error_of};
use crate::http::request::Request;
use crate::peer::call;

/// What the tool says that asks for the provider's token.
async fn upstream_token(stage: &Stage, token: &str) -> String {
    let request = Request::modern(&call(7, "upstream", json!({})))
        .with("Authorization", format!("Bearer {token}"));
    Stage::says(&stage.endpoint.ask(&request).await)
}

#[tokio::test]
async fn a_handler_may_act_for_its_user_at_the_provider() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(upstream_token(&stage, access).await, "upstream-access-2");
    // It is the provider's, and opens nothing here.
    assert_eq!(stage.whoami("upstream-access-2").await.status(), 401);
}

#[tokio::test]
async fn a_token_that_ends_soon_is_renewed_once_for_all_who_ask() {
    let stage = Stage::new().await;
    stage.provider.change(|behaviour| {
        behaviour.gives_refresh_tokens = true;
        behaviour.expires_in = Some(300);
    });
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    // Ours ends with the provider's.
    assert!(tokens["expires_in"].as_u64().unwrap() <= 300);
    let access = tokens["access_token"].as_str().unwrap();
    stage
        .provider
        .change(|behaviour| behaviour.expires_in = Some(3600));
    let (one, other) = tokio::join!(
        upstream_token(&stage, access),
        upstream_token(&stage, access)
    );
    assert_eq!(one, "upstream-access-3");
    assert_eq!(other, one);
    let forms = stage.provider.behaviour.lock().unwrap().forms.clone();
    assert_eq!(forms.len(), 2);
    assert_eq!(forms[1]["grant_type"], "refresh_token");
    assert_eq!(forms[1]["refresh_token"], "upstream-refresh-2");
}

#[tokio::test]
async fn a_client_that_refreshes_gets_a_token_that_lasts() {
    let stage = Stage::new().await;
    stage.provider.change(|behaviour| {
        behaviour.gives_refresh_tokens = true;
        behaviour.expires_in = Some(60);
    });
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    assert!(tokens["expires_in"].as_u64().unwrap() <= 60);
    stage
        .provider
        .change(|behaviour| behaviour.expires_in = Some(7200));
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let next = stage.token(&client.refreshing(refresh)).await.message();
    assert_eq!(next["expires_in"], 3600);
    let access = next["access_token"].as_str().unwrap();
    assert_eq!(upstream_token(&stage, access).await, "upstream-access-3");
}

#[tokio::test]
async fn without_a_refresh_token_of_the_provider_a_login_ends_with_its_token() {
    let stage = Stage::new().await;
    stage
        .provider
        .change(|behaviour| behaviour.expires_in = Some(600));
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    assert!(tokens["expires_in"].as_u64().unwrap() <= 600);
    assert_eq!(tokens.get("refresh_token"), None);
}

#[tokio::test]
async fn lifetimes_are_what_they_are_set_to() {
    let stage = Stage::with(|config| {
        config
            .with_access_token_ttl(Duration::from_secs(120))
            .with_session_ttl(Duration::from_secs(121))
    })
    .await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    assert_eq!(tokens["expires_in"], 120);
    let stage = Stage::with(|config| config.with_session_ttl(Duration::from_secs(120))).await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    assert!(tokens["expires_in"].as_u64().unwrap() <= 120);
    assert_eq!(tokens.get("refresh_token"), None);
}

#[tokio::test]
async fn a_user_who_takes_it_back_at_the_provider_is_logged_out_here() {
    let stage = Stage::new().await;
    stage.provider.change(|behaviour| {
        behaviour.gives_refresh_tokens = true;
        behaviour.expires_in = Some(60);
    });
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    let refused = json!({"error": "invalid_grant"});
    stage
        .provider
        .change(|behaviour| behaviour.refusal = Some((400, refused)));
    let said = upstream_token(&stage, access).await;
    assert!(
        said.starts_with("no token: the user has no valid grant"),
        "{said}"
    );
    assert_eq!(stage.whoami(access).await.status(), 401);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let refused = stage.token(&client.refreshing(refresh)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
}

#[tokio::test]
async fn a_provider_in_trouble_costs_nobody_a_token() {
    let stage = Stage::new().await;
    stage.provider.change(|behaviour| {
        behaviour.gives_refresh_tokens = true;
        behaviour.expires_in = Some(60);
    });
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for trouble in [(503, json!("down")), (429, json!({"error": "slow_down"}))] {
        stage
            .provider
            .change(|behaviour| behaviour.refusal = Some(trouble));
        let answer = stage.token(&client.refreshing(refresh)).await;
        assert_eq!(answer.status(), 503);
        assert_eq!(error_of(&answer), "temporarily_unavailable");
        let said = upstream_token(&stage, access).await;
        assert!(said.contains("is temporarily unavailable"), "{said}");
    }
    stage.provider.change(|behaviour| behaviour.refusal = None);
    assert_eq!(stage.token(&client.refreshing(refresh)).await.status(), 200);
}
