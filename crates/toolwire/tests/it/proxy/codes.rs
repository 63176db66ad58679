//! Codes: what they can be redeemed with, by whom, and how often.

use serde_json::json;

use super::stage::{REDIRECT, Stage, error_of};
use crate::http::request::Request;

#[tokio::test]
async fn a_code_used_twice_ends_everything_that_came_of_it() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let code = stage.code(&client).await;
    let tokens = stage.token(&client.redeeming(&code)).await.message();
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(stage.whoami(access).await.status(), 200);

    let again = stage.token(&client.redeeming(&code)).await;
    assert_eq!(again.status(), 400);
    assert_eq!(error_of(&again), "invalid_grant");
    assert_eq!(stage.whoami(access).await.status(), 401);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let refused = stage.token(&client.refreshing(refresh)).await;
    assert_eq!(error_of(&refused), "invalid_grant");
}

#[tokio::test]
async fn of_all_who_redeem_a_code_at_once_at_most_one_gets_tokens() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let code = stage.code(&client).await;
    let form = client.redeeming(&code);
    let answers = tokio::join!(stage.token(&form), stage.token(&form), stage.token(&form));
    let good = [&answers.0, &answers.1, &answers.2].map(|answer| answer.status() == 200);
    assert!(good.into_iter().filter(|good| *good).count() <= 1);
    for answer in [&answers.0, &answers.1, &answers.2] {
        if answer.status() == 200 {
            // Two others came with the same code.
            let tokens = answer.message();
            let access = tokens["access_token"].as_str().unwrap();
            assert_eq!(stage.whoami(access).await.status(), 401);
        }
    }
}

#[tokio::test]
async fn only_who_asked_for_a_code_can_redeem_it() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let other = stage.client().await;
    let longer = "a".repeat(43);
    for (name, value) in [
        ("code_verifier", longer.as_str()),
        ("code_verifier", &client.verifier.challenge()),
        ("client_id", &other.id),
        ("redirect_uri", "https://app.example.com/callback/"),
        ("redirect_uri", "https://evil.test/callback"),
    ] {
        let code = stage.code(&client).await;
        let mut form = client.redeeming(&code);
        form.retain(|(own, _)| *own != name);
        form.push((name, value));
        let refused = stage.token(&form).await;
        assert_eq!(refused.status(), 400, "{name}");
        assert_eq!(error_of(&refused), "invalid_grant", "{name}");
        // Whoever tried has had the code: it is not good any more.
        let late = stage.token(&client.redeeming(&code)).await;
        assert_eq!(error_of(&late), "invalid_grant", "{name}");
    }
}

#[tokio::test]
async fn requests_without_what_they_need_are_refused() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let code = stage.code(&client).await;
    for (missing, expected) in [
        ("code_verifier", "invalid_request"),
        ("redirect_uri", "invalid_request"),
        ("client_id", "invalid_request"),
        ("grant_type", "invalid_request"),
    ] {
        let mut form = client.redeeming(&code);
        form.retain(|(own, _)| *own != missing);
        let refused = stage.token(&form).await;
        assert_eq!(refused.status(), 400, "{missing}");
        assert_eq!(error_of(&refused), expected, "{missing}");
    }
    let mut elsewhere = client.redeeming(&code);
    elsewhere.retain(|(own, _)| *own != "resource");
    elsewhere.push(("resource", "https://other.example.com/mcp"));
    assert_eq!(error_of(&stage.token(&elsewhere).await), "invalid_target");
    let password = [("grant_type", "password"), ("client_id", &*client.id)];
    let refused = stage.token(&password).await;
    assert_eq!(error_of(&refused), "unsupported_grant_type");
    let as_json = Request::new("POST")
        .with_target("/token")
        .with("Content-Type", "application/json")
        .with_body("{}");
    let refused = stage.endpoint.ask(&as_json).await;
    assert_eq!(error_of(&refused), "invalid_request");
    // None of these has cost the code.
    assert_eq!(stage.token(&client.redeeming(&code)).await.status(), 200);
}

#[tokio::test]
async fn clients_with_a_password_have_to_prove_it() {
    let stage = Stage::new().await;
    let client = stage
        .register(json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_post"}))
        .await;
    let code = stage.code(&client).await;
    for secret in [None, Some("wrong")] {
        let mut form = client.redeeming(&code);
        form.retain(|(own, _)| *own != "client_secret");
        form.extend(secret.map(|secret| ("client_secret", secret)));
        let refused = stage.token(&form).await;
        assert_eq!(refused.status(), 401);
        assert_eq!(error_of(&refused), "invalid_client");
        assert_eq!(refused.header("www-authenticate"), None);
    }
    assert_eq!(stage.token(&client.redeeming(&code)).await.status(), 200);

    let public = stage.client().await;
    let code = stage.code(&public).await;
    let mut form = public.redeeming(&code);
    form.push(("client_secret", "made up"));
    assert_eq!(error_of(&stage.token(&form).await), "invalid_client");
}

#[tokio::test]
async fn a_password_may_come_in_the_header() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    let stage = Stage::new().await;
    let client = stage.register(json!({"redirect_uris": [REDIRECT]})).await;
    let code = stage.code(&client).await;
    let ask = async |secret: &str| {
        let mut form = client.redeeming(&code);
        form.retain(|(own, _)| !own.starts_with("client_"));
        let basic = STANDARD.encode(format!("{}:{secret}", client.id));
        let request =
            super::stage::form_to("/token", &form).with("Authorization", format!("Basic {basic}"));
        stage.endpoint.ask(&request).await
    };
    let refused = ask("wrong").await;
    assert_eq!(refused.status(), 401);
    assert_eq!(
        refused.header("www-authenticate"),
        Some("Basic realm=\"token\"")
    );
    assert_eq!(ask(client.secret.as_deref().unwrap()).await.status(), 200);
}

#[tokio::test]
async fn codes_and_tokens_that_never_were_are_refused_alike() {
    let stage = Stage::new().await;
    let client = stage.client().await;
    let made_up = "A".repeat(64);
    for code in ["", "x", "../../etc", &made_up, &"A".repeat(10_000)] {
        let refused = stage.token(&client.redeeming(code)).await;
        assert_eq!(refused.status(), 400);
        let refused = stage.token(&client.refreshing(code)).await;
        assert_eq!(refused.status(), 400);
        if !code.is_empty() {
            assert_eq!(error_of(&refused), "invalid_grant");
            assert_eq!(stage.whoami(code).await.status(), 401);
        }
    }
}
