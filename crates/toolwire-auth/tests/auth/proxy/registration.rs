//! Dynamic client registration and its limits.

use serde_json::{Value, json};
use toolwire_tests::http::request::Request;

use super::fixture::{ProxyFixture, REDIRECT, error_of, registration};

#[tokio::test]
async fn registration_response_contains_the_registered_metadata() {
    let fixture = ProxyFixture::new().await;
    let response = fixture
        .endpoint
        .request(&registration(&json!({
            "client_name": "Demo", "redirect_uris": [REDIRECT], "logo_uri": "https://app.example.com/logo",
        })))
        .await;
    assert_eq!(response.status(), 201);
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let registered = response.message();
    assert_eq!(
        registered["token_endpoint_auth_method"],
        "client_secret_basic"
    );
    assert_eq!(registered["client_secret_expires_at"], 0);
    assert!(registered["client_secret"].as_str().unwrap().len() >= 43);
    assert!(registered["client_id"].as_str().unwrap().len() >= 22);
    assert_eq!(registered.get("logo_uri"), None);
    let public = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
    let registered = fixture
        .endpoint
        .request(&registration(&public))
        .await
        .message();
    assert_eq!(registered.get("client_secret"), None);
}

#[tokio::test]
async fn invalid_client_metadata_is_rejected() {
    let fixture = ProxyFixture::new().await;
    let register = async |metadata: &Value| fixture.endpoint.request(&registration(metadata)).await;
    for uri in [
        "http://evil.test/cb",
        "https://app.example.com/cb#x",
        "https://user@app.example.com/cb",
        "javascript:alert(1)",
        "data:text/html,x",
        "cursor://app/cb",
        "https://app.example.com/cb\r\nSet-Cookie: a=b",
        "/cb",
    ] {
        let response = register(&json!({"redirect_uris": [REDIRECT, uri]})).await;
        assert_eq!(response.status(), 400, "{uri}");
        assert_eq!(error_of(&response), "invalid_redirect_uri", "{uri}");
    }
    for metadata in [
        json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "private_key_jwt"}),
        json!({"redirect_uris": [REDIRECT], "grant_types": ["implicit"]}),
        json!({"redirect_uris": REDIRECT}),
        json!([]),
        json!("x"),
    ] {
        let response = register(&metadata).await;
        assert_eq!(response.status(), 400, "{metadata}");
        assert_eq!(error_of(&response), "invalid_client_metadata", "{metadata}");
    }
    let not_json =
        registration(&json!({"redirect_uris": [REDIRECT]})).replacing("Content-Type", "text/plain");
    let response = fixture.endpoint.request(&not_json).await;
    assert_eq!(error_of(&response), "invalid_client_metadata");
}

#[tokio::test]
async fn oversized_registration_returns_413() {
    let fixture = ProxyFixture::new().await;
    let of_size = |size: usize| {
        let start = json!({"redirect_uris": [REDIRECT]}).to_string();
        let padding = " ".repeat(size - start.len());
        Request::new("POST")
            .with_target("/register")
            .with("Content-Type", "application/json")
            .with_body(format!("{start}{padding}"))
    };
    assert_eq!(
        fixture.endpoint.request(&of_size(64 * 1024)).await.status(),
        201
    );
    assert_eq!(
        fixture
            .endpoint
            .request(&of_size(64 * 1024 + 1))
            .await
            .status(),
        413
    );
    let nested = format!("{{\"x\":{}", "[".repeat(60_000));
    let request = registration(&Value::Null).with_body(nested);
    assert_eq!(fixture.endpoint.request(&request).await.status(), 400);
}
