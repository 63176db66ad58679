//! Refresh tokens: good once, for one client, and never for more than was granted.

use std::time::Duration;

use serde_json::json;

use super::stage::{REDIRECT, Stage, error_of, parameters};

#[tokio::test]
async fn every_use_gives_the_next_token() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let mut tokens = stage.tokens(&client).await;
    for _ in 0..3 {
        let refresh = tokens["refresh_token"].as_str().unwrap().to_owned();
        let answer = stage.token(&client.refreshing(&refresh)).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let next = answer.message();
        assert_ne!(next["refresh_token"], refresh);
        assert_ne!(next["access_token"], tokens["access_token"]);
        let access = next["access_token"].as_str().unwrap();
        assert_eq!(stage.whoami(access).await.status(), 200);
        tokens = next;
    }
}

#[tokio::test]
async fn a_token_used_twice_ends_everything_that_came_of_it() {
    let stage = Stage::with(|config| config.with_refresh_grace(Duration::ZERO)).await;
    let client = stage.client().await;
    let first = stage.tokens(&client).await;
    let used = first["refresh_token"].as_str().unwrap();
    let next = stage.token(&client.refreshing(used)).await.message();
    // A thief comes with the one that was used, or the true client does: nobody can tell.
    let again = stage.token(&client.refreshing(used)).await;
    assert_eq!(again.status(), 400);
    assert_eq!(error_of(&again), "invalid_grant");
    for access in [&first["access_token"], &next["access_token"]] {
        let access = access.as_str().unwrap();
        assert_eq!(stage.whoami(access).await.status(), 401);
    }
    let last = next["refresh_token"].as_str().unwrap();
    let refused = stage.token(&client.refreshing(last)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
}

#[tokio::test]
async fn a_refresh_whose_response_was_lost_can_be_repeated() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let other = stage.client().await;
    let first = stage.tokens(&client).await;
    let used = first["refresh_token"].as_str().unwrap();
    let lost = stage.token(&client.refreshing(used)).await.message();
    // Only the same client gets another try, and one that fails costs it nothing.
    let refused = stage.token(&other.refreshing(used)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
    let again = stage.token(&client.refreshing(used)).await;
    assert_eq!(again.status(), 200, "{}", again.text());
    let again = again.message();
    assert_eq!(again["refresh_token"], lost["refresh_token"]);
    for access in [&lost["access_token"], &again["access_token"]] {
        let access = access.as_str().unwrap();
        assert_eq!(stage.whoami(access).await.status(), 200);
    }
    let next = again["refresh_token"].as_str().unwrap();
    let third = stage.token(&client.refreshing(next)).await;
    assert_eq!(third.status(), 200, "{}", third.text());
    // The first token is no longer the one that was just used.
    let refused = stage.token(&client.refreshing(used)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
    let access = third.message()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(stage.whoami(&access).await.status(), 401);
}

#[tokio::test]
async fn refreshes_at_once_get_the_same_next_token() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let form = client.refreshing(refresh);
    let answers = tokio::join!(stage.token(&form), stage.token(&form), stage.token(&form));
    let answers = [answers.0, answers.1, answers.2].map(|answer| {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.message()
    });
    for answer in &answers {
        assert_eq!(answer["refresh_token"], answers[0]["refresh_token"]);
        let access = answer["access_token"].as_str().unwrap();
        assert_eq!(stage.whoami(access).await.status(), 200);
    }
}

#[tokio::test]
async fn without_a_grace_at_most_one_of_several_refreshes_succeeds() {
    let stage = Stage::with(|config| config.with_refresh_grace(Duration::ZERO)).await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let form = client.refreshing(refresh);
    let answers = tokio::join!(stage.token(&form), stage.token(&form), stage.token(&form));
    let good = [answers.0, answers.1, answers.2].map(|answer| answer.status() == 200);
    assert!(good.into_iter().filter(|good| *good).count() <= 1);
}

#[tokio::test]
async fn a_token_is_of_no_use_to_another_client() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let other = stage.client().await;
    let confidential = stage.register(json!({"redirect_uris": [REDIRECT]})).await;
    let tokens = stage.tokens(&client).await;
    let refresh = tokens["refresh_token"].as_str().unwrap();
    for thief in [&other, &confidential] {
        let refused = stage.token(&thief.refreshing(refresh)).await;
        assert_eq!(error_of(&refused), "invalid_grant");
    }
    assert_eq!(stage.token(&client.refreshing(refresh)).await.status(), 200);

    let owned = stage.tokens(&confidential).await;
    let refresh = owned["refresh_token"].as_str().unwrap();
    let mut form = confidential.refreshing(refresh);
    form.retain(|(name, _)| *name != "client_secret");
    assert_eq!(error_of(&stage.token(&form).await), "invalid_client");
}

#[tokio::test]
async fn less_may_be_asked_for_and_more_may_not() {
    let stage = Stage::with(|config| config.with_supported_scopes(["a", "b", "c"])).await;
    let client = stage.client().await;
    let mut browser = stage.browser();
    let back = stage
        .agree(&mut browser, &client.authorize(&[("scope", "a b")]))
        .await;
    let code = parameters(&back)["code"].clone();
    let tokens = stage.token(&client.redeeming(&code)).await.message();
    let refresh = tokens["refresh_token"].as_str().unwrap();

    let mut more = client.refreshing(refresh);
    more.push(("scope", "a b c"));
    assert_eq!(error_of(&stage.token(&more).await), "invalid_scope");
    let mut less = client.refreshing(refresh);
    less.push(("scope", "b"));
    let narrowed = stage.token(&less).await.message();
    assert_eq!(narrowed["scope"], "b");
    // What was granted is not lost by it.
    let refresh = narrowed["refresh_token"].as_str().unwrap();
    let whole = stage.token(&client.refreshing(refresh)).await.message();
    assert_eq!(whole["scope"], "a b");
}

#[tokio::test]
async fn an_access_token_is_no_refresh_token_and_the_reverse() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let tokens = stage.tokens(&client).await;
    let access = tokens["access_token"].as_str().unwrap();
    let refresh = tokens["refresh_token"].as_str().unwrap();
    assert_eq!(stage.whoami(refresh).await.status(), 401);
    let refused = stage.token(&client.refreshing(access)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
    let refused = stage.token(&client.redeeming(access)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
    assert_eq!(stage.whoami(access).await.status(), 200);
}
