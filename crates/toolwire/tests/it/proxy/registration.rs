//! Registration: anybody may, within bounds.

use serde_json::{Value, json};

use super::stage::{REDIRECT, Stage, error_of, registration};
use crate::http::request::Request;

#[tokio::test]
async fn a_client_is_told_what_it_is_registered_as() {
    let stage = Stage::new().await;
    let answer = stage
        .endpoint
        .ask(&registration(&json!({
            "client_name": "Demo", "redirect_uris": [REDIRECT], "logo_uri": "https://app.example.com/logo",
        })))
        .await;
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let registered = answer.message();
    assert_eq!(
        registered["token_endpoint_auth_method"],
        "client_secret_basic"
    );
    assert_eq!(registered["client_secret_expires_at"], 0);
    assert!(registered["client_secret"].as_str().unwrap().len() >= 43);
    assert!(registered["client_id"].as_str().unwrap().len() >= 22);
    assert_eq!(registered.get("logo_uri"), None);
    let public = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
    let registered = stage.endpoint.ask(&registration(&public)).await.message();
    assert_eq!(registered.get("client_secret"), None);
}

#[tokio::test]
async fn what_cannot_be_registered_is_refused() {
    let stage = Stage::new().await;
    let ask = async |metadata: &Value| stage.endpoint.ask(&registration(metadata)).await;
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
        let answer = ask(&json!({"redirect_uris": [REDIRECT, uri]})).await;
        assert_eq!(answer.status(), 400, "{uri}");
        assert_eq!(error_of(&answer), "invalid_redirect_uri", "{uri}");
    }
    for metadata in [
        json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "private_key_jwt"}),
        json!({"redirect_uris": [REDIRECT], "grant_types": ["implicit"]}),
        json!({"redirect_uris": REDIRECT}),
        json!([]),
        json!("x"),
    ] {
        let answer = ask(&metadata).await;
        assert_eq!(answer.status(), 400, "{metadata}");
        assert_eq!(error_of(&answer), "invalid_client_metadata", "{metadata}");
    }
    let as_form =
        registration(&json!({"redirect_uris": [REDIRECT]})).replacing("Content-Type", "text/plain");
    let answer = stage.endpoint.ask(&as_form).await;
    assert_eq!(error_of(&answer), "invalid_client_metadata");
}

#[tokio::test]
async fn registrations_have_a_largest() {
    let stage = Stage::new().await;
    let of_size = |size: usize| {
        let start = json!({"redirect_uris": [REDIRECT]}).to_string();
        let padding = " ".repeat(size - start.len());
        Request::new("POST")
            .with_target("/register")
            .with("Content-Type", "application/json")
            .with_body(format!("{start}{padding}"))
    };
    assert_eq!(stage.endpoint.ask(&of_size(64 * 1024)).await.status(), 201);
    assert_eq!(
        stage.endpoint.ask(&of_size(64 * 1024 + 1)).await.status(),
        413
    );
    let deep = format!("{{\"x\":{}", "[".repeat(60_000));
    let request = registration(&Value::Null).with_body(deep);
    assert_eq!(stage.endpoint.ask(&request).await.status(), 400);
}
