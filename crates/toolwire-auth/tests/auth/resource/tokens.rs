//! Validation of access tokens, and the challenges for rejected ones.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolwire_auth::{DocumentFetcher, JwtVerifier, ResourceServerConfig};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::http::socket::Response;

use super::issuer::Issuer;
use super::protected_server::{
    ISSUER, METADATA, ProtectedServer, RESOURCE, bare_challenge, config, invalid_token, tokens,
    whoami, with_token,
};

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn signed_by(issuer: &Issuer) -> ResourceServerConfig {
    let verifier = JwtVerifier::new(Vec::<String>::new(), &DocumentFetcher::new());
    config().with_verifier(verifier.with_keys(ISSUER, issuer.keys()))
}

/// Returns the claims of a valid token with changes. `null` removes a claim.
fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": RESOURCE, "sub": "ann", "client_id": "app", "scope": "read",
        "exp": now() + 600, "iat": now(),
    });
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

#[track_caller]
fn assert_challenge(response: &Response, status: u16, challenge: &str) {
    assert_eq!(response.status(), status, "{}", response.text());
    assert_eq!(response.header("www-authenticate"), Some(challenge));
}

#[tokio::test]
async fn valid_token_is_accepted() {
    let issuer = Issuer::new();
    let server = ProtectedServer::with(signed_by(&issuer)).await;
    let response = server
        .send_message(&issuer.token(&claims(json!({}))), &whoami())
        .await;
    assert_eq!(response.status(), 200, "{}", response.text());
    let text = &response.message()["result"]["content"][0]["text"];
    assert_eq!(text, "Some(\"ann\") Some(\"app\") read");
    assert_eq!(response.header("www-authenticate"), None);
}

#[tokio::test]
async fn keys_are_discovered_through_the_issuer_metadata() {
    let issuer = Issuer::new();
    let name = issuer.publish().await;
    let config = ResourceServerConfig::new(RESOURCE, [name.as_str()]);
    let local = DocumentFetcher::with_loopback_allowed();
    let server = ProtectedServer::with(config.with_fetcher(local)).await;
    let token = issuer.token(&claims(json!({"iss": name})));
    for _ in 0..2 {
        let response = server.send_message(&token, &whoami()).await;
        assert_eq!(response.status(), 200, "{}", response.text());
    }
    let forged = Issuer::new().token(&claims(json!({"iss": name})));
    assert_eq!(server.send_message(&forged, &whoami()).await.status(), 401);

    // The default fetcher does not connect to a loopback address.
    let config = ResourceServerConfig::new(RESOURCE, [name.as_str()]);
    let server = ProtectedServer::with(config).await;
    assert_eq!(server.send_message(&token, &whoami()).await.status(), 503);
}

#[tokio::test]
async fn token_with_invalid_claims_is_rejected() {
    let issuer = Issuer::new();
    let server = ProtectedServer::with(signed_by(&issuer)).await;
    for (changes, is_valid) in [
        (
            json!({"aud": [RESOURCE, "https://other.example.com"]}),
            true,
        ),
        (json!({"aud": "HTTPS://MCP.example.com:443/mcp"}), true),
        (json!({"aud": "https://other.example.com/mcp"}), false),
        (json!({"aud": "https://mcp.example.com"}), false),
        (json!({"aud": "https://mcp.example.com/mcp/"}), false),
        (json!({"aud": []}), false),
        (json!({"aud": null}), false),
        (json!({"iss": "https://evil.example.com"}), false),
        (json!({"iss": "https://auth.example.com/"}), false),
        (json!({"iss": null}), false),
        (json!({"exp": now() - 50}), true),
        (json!({"exp": now() - 70}), false),
        (json!({"exp": null}), false),
        (json!({"exp": "soon"}), false),
        (json!({"nbf": now() + 50}), true),
        (json!({"nbf": now() + 70}), false),
        (json!({"iat": now() + 70}), false),
        (json!({"sub": null}), true),
        (json!({"sub": null, "client_id": null}), false),
        (json!({"scope": "a\u{7}b"}), false),
        (json!({"cnf": {"x5t#S256": "certificate"}}), false),
    ] {
        let response = server
            .send_message(&issuer.token(&claims(changes.clone())), &whoami())
            .await;
        if is_valid {
            assert_eq!(response.status(), 200, "{changes}");
        } else {
            assert_challenge(&response, 401, &invalid_token());
        }
    }
}

#[tokio::test]
async fn token_with_an_invalid_header_or_signature_is_rejected() {
    let issuer = Issuer::new();
    let server = ProtectedServer::with(signed_by(&issuer)).await;
    let valid = claims(json!({}));
    for header in [
        json!({"alg": "none"}),
        json!({"alg": "HS256", "kid": "one"}),
        json!({"alg": "ES256", "kid": "another"}),
        json!({"alg": "ES256", "typ": "dpop+jwt"}),
        json!({"alg": "ES256", "typ": "secevent+jwt"}),
        json!({"alg": "ES256", "crit": ["exp"]}),
    ] {
        let response = server
            .send_message(&issuer.sign(&header, &valid), &whoami())
            .await;
        assert_challenge(&response, 401, &invalid_token());
    }
    for token in [
        Issuer::new().token(&valid),
        "opaque".to_owned(),
        "a.b.c".to_owned(),
    ] {
        assert_challenge(
            &server.send_message(&token, &whoami()).await,
            401,
            &invalid_token(),
        );
    }
    assert_eq!(server.runs(), 0);
}

#[tokio::test]
async fn required_access_token_type_rejects_other_types() {
    let issuer = Issuer::new();
    let server = ProtectedServer::with(signed_by(&issuer).with_access_token_type()).await;
    let plain = issuer.sign(&json!({"alg": "ES256", "typ": "JWT"}), &claims(json!({})));
    assert_challenge(
        &server.send_message(&plain, &whoami()).await,
        401,
        &invalid_token(),
    );
    let typed = issuer.token(&claims(json!({})));
    assert_eq!(server.send_message(&typed, &whoami()).await.status(), 200);
}

#[tokio::test]
async fn configured_audience_replaces_the_resource() {
    let issuer = Issuer::new();
    let server = ProtectedServer::with(signed_by(&issuer).with_audience("api://demo")).await;
    let token = issuer.token(&claims(json!({"aud": "api://demo"})));
    assert_eq!(server.send_message(&token, &whoami()).await.status(), 200);
    let other = issuer.token(&claims(json!({"aud": "api://demo2"})));
    assert_challenge(
        &server.send_message(&other, &whoami()).await,
        401,
        &invalid_token(),
    );
}

#[tokio::test]
async fn request_without_a_token_gets_a_challenge_with_the_metadata_url() {
    let server = ProtectedServer::new().await;
    for request in [
        Request::modern(&whoami()),
        Request::modern(&whoami()).with("Authorization", "Basic YTpi"),
        initialize_request("2025-11-25"),
        Request::post(&json!([])),
        Request::post(&json!({})).with_body("not even JSON"),
        Request::get("made up", "2025-11-25"),
        Request::delete("made up", "2025-11-25"),
    ] {
        let response = server.endpoint.request(&request).await;
        assert_challenge(&response, 401, &bare_challenge());
        let message = response.message();
        assert_eq!(message["error"]["code"], -32600, "{message}");
    }
    assert_eq!(server.runs(), 0);
}

#[tokio::test]
async fn challenge_names_the_realm_and_the_scopes() {
    let config = config()
        .with_verifier(tokens())
        .with_realm("demo")
        .with_required_scopes(["files:read", "mail:read"]);
    let server = ProtectedServer::with(config).await;
    let response = server.endpoint.request(&Request::modern(&whoami())).await;
    let expected = format!(
        "Bearer realm=\"demo\", scope=\"files:read mail:read\", resource_metadata=\"{METADATA}\""
    );
    assert_challenge(&response, 401, &expected);
}

#[tokio::test]
async fn scheme_is_case_insensitive_and_token_is_case_sensitive() {
    let server = ProtectedServer::new().await;
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = Request::modern(&whoami()).with("Authorization", format!("{scheme} ann"));
        assert_eq!(
            server.endpoint.request(&request).await.status(),
            200,
            "{scheme}"
        );
    }
    assert_challenge(
        &server.send_message("ANN", &whoami()).await,
        401,
        &invalid_token(),
    );
}

#[tokio::test]
async fn ambiguous_or_malformed_authorization_returns_400() {
    let server = ProtectedServer::new().await;
    let valid = || with_token(Request::modern(&whoami()), "ann");
    let malformed = "the Authorization header is malformed";
    let in_query = "a token in the query is not confidential; send it in the Authorization header";
    for (request, reason) in [
        (valid().with("Authorization", "Bearer ann"), malformed),
        (valid().with("Authorization", "Basic YTpi"), malformed),
        (
            Request::modern(&whoami()).with("Authorization", "Bearer"),
            malformed,
        ),
        (
            Request::modern(&whoami()).with("Authorization", "Bearer a, Bearer b"),
            malformed,
        ),
        (
            Request::modern(&whoami()).with("Authorization", "Bearer a b"),
            malformed,
        ),
        (valid().with_target("/mcp?access_token=ann"), in_query),
        (
            Request::modern(&whoami()).with_target("/mcp?a=b&access_token=ann"),
            in_query,
        ),
    ] {
        let response = server.endpoint.request(&request).await;
        let expected = format!(
            "Bearer error=\"invalid_request\", error_description=\"{reason}\", resource_metadata=\"{METADATA}\""
        );
        assert_challenge(&response, 400, &expected);
    }
    assert_eq!(server.runs(), 0);
}
