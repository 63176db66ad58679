//! Authorization codes: the conditions for redeeming them.

use serde_json::json;
use toolwire_tests::http::request::Request;

use super::fixture::{ProxyFixture, REDIRECT, error_of};

#[tokio::test]
async fn code_used_twice_revokes_all_tokens_of_the_login() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let code = fixture.code(&client).await;
    let tokens = fixture.token(&client.redeem_form(&code)).await.message();
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(fixture.whoami(access).await.status(), 200);

    let again = fixture.token(&client.redeem_form(&code)).await;
    assert_eq!(again.status(), 400);
    assert_eq!(error_of(&again), "invalid_grant");
    assert_eq!(fixture.whoami(access).await.status(), 401);
    let refresh = tokens["refresh_token"].as_str().unwrap();
    let rejected = fixture.token(&client.refresh_form(refresh)).await;
    assert_eq!(error_of(&rejected), "invalid_grant");
}

#[tokio::test]
async fn at_most_one_concurrent_redemption_of_a_code_succeeds() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let code = fixture.code(&client).await;
    let form = client.redeem_form(&code);
    let responses = tokio::join!(
        fixture.token(&form),
        fixture.token(&form),
        fixture.token(&form)
    );
    let succeeded =
        [&responses.0, &responses.1, &responses.2].map(|response| response.status() == 200);
    assert!(succeeded.into_iter().filter(|succeeded| *succeeded).count() <= 1);
    for response in [&responses.0, &responses.1, &responses.2] {
        if response.status() == 200 {
            // The other two requests used the same code, so the tokens are revoked.
            let tokens = response.message();
            let access = tokens["access_token"].as_str().unwrap();
            assert_eq!(fixture.whoami(access).await.status(), 401);
        }
    }
}

#[tokio::test]
async fn code_is_bound_to_its_verifier_client_and_redirect_uri() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let other = fixture.client().await;
    let other_verifier = "a".repeat(43);
    for (name, value) in [
        ("code_verifier", other_verifier.as_str()),
        ("code_verifier", &client.verifier.challenge()),
        ("client_id", &other.id),
        ("redirect_uri", "https://app.example.com/callback/"),
        ("redirect_uri", "https://evil.test/callback"),
    ] {
        let code = fixture.code(&client).await;
        let mut form = client.redeem_form(&code);
        form.retain(|(own, _)| *own != name);
        form.push((name, value));
        let rejected = fixture.token(&form).await;
        assert_eq!(rejected.status(), 400, "{name}");
        assert_eq!(error_of(&rejected), "invalid_grant", "{name}");
        // The attempt shows that the code leaked, so it is invalid.
        let late = fixture.token(&client.redeem_form(&code)).await;
        assert_eq!(error_of(&late), "invalid_grant", "{name}");
    }
}

#[tokio::test]
async fn token_request_with_missing_or_invalid_parameters_is_rejected() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let code = fixture.code(&client).await;
    for (missing, expected) in [
        ("code_verifier", "invalid_request"),
        ("redirect_uri", "invalid_request"),
        ("client_id", "invalid_request"),
        ("grant_type", "invalid_request"),
    ] {
        let mut form = client.redeem_form(&code);
        form.retain(|(own, _)| *own != missing);
        let rejected = fixture.token(&form).await;
        assert_eq!(rejected.status(), 400, "{missing}");
        assert_eq!(error_of(&rejected), expected, "{missing}");
    }
    let mut other_resource = client.redeem_form(&code);
    other_resource.retain(|(own, _)| *own != "resource");
    other_resource.push(("resource", "https://other.example.com/mcp"));
    assert_eq!(
        error_of(&fixture.token(&other_resource).await),
        "invalid_target"
    );
    let password = [("grant_type", "password"), ("client_id", &*client.id)];
    let rejected = fixture.token(&password).await;
    assert_eq!(error_of(&rejected), "unsupported_grant_type");
    let as_json = Request::new("POST")
        .with_target("/token")
        .with("Content-Type", "application/json")
        .with_body("{}");
    let rejected = fixture.endpoint.request(&as_json).await;
    assert_eq!(error_of(&rejected), "invalid_request");
    // The code is still valid after these requests.
    assert_eq!(
        fixture.token(&client.redeem_form(&code)).await.status(),
        200
    );
}

#[tokio::test]
async fn confidential_client_must_authenticate() {
    let fixture = ProxyFixture::new().await;
    let client = fixture
        .register(json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_post"}))
        .await;
    let code = fixture.code(&client).await;
    for secret in [None, Some("wrong")] {
        let mut form = client.redeem_form(&code);
        form.retain(|(own, _)| *own != "client_secret");
        form.extend(secret.map(|secret| ("client_secret", secret)));
        let rejected = fixture.token(&form).await;
        assert_eq!(rejected.status(), 401);
        assert_eq!(error_of(&rejected), "invalid_client");
        assert_eq!(rejected.header("www-authenticate"), None);
    }
    assert_eq!(
        fixture.token(&client.redeem_form(&code)).await.status(),
        200
    );

    let public = fixture.client().await;
    let code = fixture.code(&public).await;
    let mut form = public.redeem_form(&code);
    form.push(("client_secret", "made up"));
    assert_eq!(error_of(&fixture.token(&form).await), "invalid_client");
}

#[tokio::test]
async fn client_secret_may_be_sent_in_the_authorization_header() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    let fixture = ProxyFixture::new().await;
    let client = fixture.register(json!({"redirect_uris": [REDIRECT]})).await;
    let code = fixture.code(&client).await;
    let redeem = async |secret: &str| {
        let mut form = client.redeem_form(&code);
        form.retain(|(own, _)| !own.starts_with("client_"));
        let basic = STANDARD.encode(format!("{}:{secret}", client.id));
        let request = super::fixture::form_to("/token", &form)
            .with("Authorization", format!("Basic {basic}"));
        fixture.endpoint.request(&request).await
    };
    let rejected = redeem("wrong").await;
    assert_eq!(rejected.status(), 401);
    assert_eq!(
        rejected.header("www-authenticate"),
        Some("Basic realm=\"token\"")
    );
    assert_eq!(
        redeem(client.secret.as_deref().unwrap()).await.status(),
        200
    );
}

#[tokio::test]
async fn unknown_codes_and_tokens_are_rejected() {
    let fixture = ProxyFixture::new().await;
    let client = fixture.client().await;
    let made_up = "A".repeat(64);
    for code in ["", "x", "../../etc", &made_up, &"A".repeat(10_000)] {
        let rejected = fixture.token(&client.redeem_form(code)).await;
        assert_eq!(rejected.status(), 400);
        let rejected = fixture.token(&client.refresh_form(code)).await;
        assert_eq!(rejected.status(), 400);
        if !code.is_empty() {
            assert_eq!(error_of(&rejected), "invalid_grant");
            assert_eq!(fixture.whoami(code).await.status(), 401);
        }
    }
}
