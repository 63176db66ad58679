//! Refresh tokens: each is valid once, for one client, and for the granted scopes.

use std::time::Duration;

use serde_json::json;

use super::fixture::{ProxyFixture, REDIRECT, error_of, parameters};

#[tokio::test]
async fn refresh_returns_a_new_refresh_token() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let mut tokens = fixture.tokens(&client).await;
    for _ in 0..3 {
        let refresh = tokens["refresh_token"].as_str().unwrap().to_owned();
        let response = fixture.token(&client.refresh_form(&refresh)).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        assert_eq!(response.header("cache-control"), Some("no-store"));
        let next = response.message();
        assert_ne!(next["refresh_token"], refresh);
        assert_ne!(next["access_token"], tokens["access_token"]);
        let access = next["access_token"].as_str().unwrap();
        assert_eq!(fixture.whoami(access).await.status(), 200);
        tokens = next;
    }
}

#[tokio::test]
async fn refresh_token_used_twice_revokes_all_tokens_of_the_login() {
    let fixture = ProxyFixture::with(|config| config.with_refresh_grace(Duration::ZERO)).await;
    let client = fixture.client().await;
    let first = fixture.tokens(&client).await;
    let used = first["refresh_token"].as_str().unwrap();
    let next = fixture.token(&client.refresh_form(used)).await.message();
    // The proxy cannot distinguish an attacker from the client that uses the token again.
    let again = fixture.token(&client.refresh_form(used)).await;
    assert_eq!(again.status(), 400);
    assert_eq!(error_of(&again), "invalid_grant");
    for access in [&first["access_token"], &next["access_token"]] {
        let access = access.as_str().unwrap();
        assert_eq!(fixture.whoami(access).await.status(), 401);
    }
    let last = next["refresh_token"].as_str().unwrap();
    let rejected = fixture.token(&client.refresh_form(last)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
}

#[tokio::test]
async fn refresh_can_be_repeated_after_a_lost_response() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let other = fixture.client().await;
    let first = fixture.tokens(&client).await;
    let used = first["refresh_token"].as_str().unwrap();
    let lost = fixture.token(&client.refresh_form(used)).await.message();
    // Only the same client may repeat it, and an attempt of another client has no effect.
    let rejected = fixture.token(&other.refresh_form(used)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
    let again = fixture.token(&client.refresh_form(used)).await;
    assert_eq!(again.status(), 200, "{}", again.text());
    let again = again.message();
    assert_eq!(again["refresh_token"], lost["refresh_token"]);
    for access in [&lost["access_token"], &again["access_token"]] {
        let access = access.as_str().unwrap();
        assert_eq!(fixture.whoami(access).await.status(), 200);
    }
    let next = again["refresh_token"].as_str().unwrap();
    let third = fixture.token(&client.refresh_form(next)).await;
    assert_eq!(third.status(), 200, "{}", third.text());
    // After another refresh, the first token cannot be repeated.
    let rejected = fixture.token(&client.refresh_form(used)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
    let access = third.message()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(fixture.whoami(&access).await.status(), 401);
}

#[tokio::test]
async fn concurrent_refreshes_get_the_same_new_refresh_token() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let form = client.refresh_form(refresh);
    let responses = tokio::join!(
        fixture.token(&form),
        fixture.token(&form),
        fixture.token(&form)
    );
    let responses = [responses.0, responses.1, responses.2].map(|response| {
        assert_eq!(response.status(), 200, "{}", response.text());
        response.message()
    });
    for response in &responses {
        assert_eq!(response["refresh_token"], responses[0]["refresh_token"]);
        let access = response["access_token"].as_str().unwrap();
        assert_eq!(fixture.whoami(access).await.status(), 200);
    }
}

#[tokio::test]
async fn without_a_grace_period_at_most_one_concurrent_refresh_succeeds() {
    let fixture = ProxyFixture::with(|config| config.with_refresh_grace(Duration::ZERO)).await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let form = client.refresh_form(refresh);
    let responses = tokio::join!(
        fixture.token(&form),
        fixture.token(&form),
        fixture.token(&form)
    );
    let succeeded =
        [responses.0, responses.1, responses.2].map(|response| response.status() == 200);
    assert!(succeeded.into_iter().filter(|succeeded| *succeeded).count() <= 1);
}

#[tokio::test]
async fn refresh_token_of_another_client_is_rejected() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let other = fixture.client().await;
    let confidential = fixture.register(json!({"redirect_uris": [REDIRECT]})).await;
    let tokens = fixture.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for other_client in [&other, &confidential] {
        let rejected = fixture.token(&other_client.refresh_form(refresh)).await;
        assert_eq!(error_of(&rejected), "invalid_grant");
    }
    assert_eq!(
        fixture.token(&client.refresh_form(refresh)).await.status(),
        200
    );

    let tokens = fixture.tokens(&confidential).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let mut form = confidential.refresh_form(refresh);
    form.retain(|(name, _)| *name != "client_secret");
    assert_eq!(error_of(&fixture.token(&form).await), "invalid_client");
}

#[tokio::test]
async fn refresh_may_narrow_the_scope_and_not_extend_it() {
    let fixture = ProxyFixture::with(|config| config.with_supported_scopes(["a", "b", "c"])).await;
    let client = fixture.client().await;
    let mut browser = fixture.browser();
    let redirect = fixture
        .consent_and_log_in(&mut browser, &client.authorize(&[("scope", "a b")]))
        .await;
    let code = parameters(&redirect)["code"].clone();
    let tokens = fixture.token(&client.redeem_form(&code)).await.message();
    let refresh = tokens["refresh_token"].as_str().unwrap();

    let mut more = client.refresh_form(refresh);
    more.push(("scope", "a b c"));
    assert_eq!(error_of(&fixture.token(&more).await), "invalid_scope");
    let mut less = client.refresh_form(refresh);
    less.push(("scope", "b"));
    let narrowed = fixture.token(&less).await.message();
    assert_eq!(narrowed["scope"], "b");
    // The granted scope is not reduced.
    let refresh = narrowed["refresh_token"].as_str().unwrap();
    let whole = fixture.token(&client.refresh_form(refresh)).await.message();
    assert_eq!(whole["scope"], "a b");
}

#[tokio::test]
async fn access_and_refresh_tokens_are_not_interchangeable() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let tokens = fixture.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(fixture.whoami(refresh).await.status(), 401);
    let rejected = fixture.token(&client.refresh_form(access)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
    let rejected = fixture.token(&client.redeem_form(access)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
    assert_eq!(fixture.whoami(access).await.status(), 200);
}
