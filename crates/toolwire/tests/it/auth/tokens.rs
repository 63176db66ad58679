//! Which tokens let somebody in, and what the others are told.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolwire_auth::{DocumentFetcher, JwtVerifier, ResourceServerConfig};

use super::guarded::{
    Guarded, ISSUER, METADATA, RESOURCE, bare_challenge, config, invalid_token, tokens, whoami,
    with_token,
};
use super::issuer::Issuer;
use crate::http::request::Request;
use crate::http::session::initialize_request;
use crate::http::socket::Answer;

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn signed_by(issuer: &Issuer) -> ResourceServerConfig {
    let verifier = JwtVerifier::new(Vec::<String>::new(), &DocumentFetcher::new());
    config().with_verifier(verifier.with_keys(ISSUER, issuer.keys()))
}

/// The claims of a good token, changed.
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
fn challenged(answer: &Answer, status: u16, challenge: &str) {
    assert_eq!(answer.status(), status, "{}", answer.text());
    assert_eq!(answer.header("www-authenticate"), Some(challenge));
}

#[tokio::test]
async fn a_good_token_lets_its_owner_in() {
    let issuer = Issuer::new();
    let guarded = Guarded::with(signed_by(&issuer)).await;
    let answer = guarded
        .say(&issuer.token(&claims(json!({}))), &whoami())
        .await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let said = &answer.message()["result"]["content"][0]["text"];
    assert_eq!(said, "Some(\"ann\") Some(\"app\") read");
    assert_eq!(answer.header("www-authenticate"), None);
}

#[tokio::test]
async fn keys_are_found_through_the_metadata_of_the_issuer() {
    let issuer = Issuer::new();
    let name = issuer.publish().await;
    let config = ResourceServerConfig::new(RESOURCE, [name.as_str()]);
    let local = DocumentFetcher::with_loopback_allowed();
    let guarded = Guarded::with(config.with_fetcher(local)).await;
    let token = issuer.token(&claims(json!({"iss": name})));
    for _ in 0..2 {
        let answer = guarded.say(&token, &whoami()).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let forged = Issuer::new().token(&claims(json!({"iss": name})));
    assert_eq!(guarded.say(&forged, &whoami()).await.status(), 401);

    // The same issuer is out of reach for a fetcher that knows public places only.
    let config = ResourceServerConfig::new(RESOURCE, [name.as_str()]);
    let guarded = Guarded::with(config).await;
    assert_eq!(guarded.say(&token, &whoami()).await.status(), 503);
}

#[tokio::test]
async fn claims_decide() {
    let issuer = Issuer::new();
    let guarded = Guarded::with(signed_by(&issuer)).await;
    for (changes, is_good) in [
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
        let answer = guarded
            .say(&issuer.token(&claims(changes.clone())), &whoami())
            .await;
        match is_good {
            true => assert_eq!(answer.status(), 200, "{changes}"),
            false => challenged(&answer, 401, &invalid_token()),
        }
    }
}

#[tokio::test]
async fn headers_and_signatures_decide() {
    let issuer = Issuer::new();
    let guarded = Guarded::with(signed_by(&issuer)).await;
    let good = claims(json!({}));
    for header in [
        json!({"alg": "none"}),
        json!({"alg": "HS256", "kid": "one"}),
        json!({"alg": "ES256", "kid": "another"}),
        json!({"alg": "ES256", "typ": "dpop+jwt"}),
        json!({"alg": "ES256", "typ": "secevent+jwt"}),
        json!({"alg": "ES256", "crit": ["exp"]}),
    ] {
        let answer = guarded.say(&issuer.sign(&header, &good), &whoami()).await;
        challenged(&answer, 401, &invalid_token());
    }
    for token in [
        Issuer::new().token(&good),
        "opaque".to_owned(),
        "a.b.c".to_owned(),
    ] {
        challenged(&guarded.say(&token, &whoami()).await, 401, &invalid_token());
    }
    assert_eq!(guarded.runs(), 0);
}

#[tokio::test]
async fn the_type_may_be_required() {
    let issuer = Issuer::new();
    let guarded = Guarded::with(signed_by(&issuer).with_access_token_type()).await;
    let plain = issuer.sign(&json!({"alg": "ES256", "typ": "JWT"}), &claims(json!({})));
    challenged(&guarded.say(&plain, &whoami()).await, 401, &invalid_token());
    let typed = issuer.token(&claims(json!({})));
    assert_eq!(guarded.say(&typed, &whoami()).await.status(), 200);
}

#[tokio::test]
async fn another_audience_may_be_named() {
    let issuer = Issuer::new();
    let guarded = Guarded::with(signed_by(&issuer).with_audience("api://demo")).await;
    let token = issuer.token(&claims(json!({"aud": "api://demo"})));
    assert_eq!(guarded.say(&token, &whoami()).await.status(), 200);
    let other = issuer.token(&claims(json!({"aud": "api://demo2"})));
    challenged(&guarded.say(&other, &whoami()).await, 401, &invalid_token());
}

#[tokio::test]
async fn whoever_has_no_token_is_told_where_to_get_one() {
    let guarded = Guarded::new().await;
    for request in [
        Request::modern(&whoami()),
        Request::modern(&whoami()).with("Authorization", "Basic YTpi"),
        initialize_request("2025-11-25"),
        Request::post(&json!([])),
        Request::post(&json!({})).with_body("not even JSON"),
        Request::get("made up", "2025-11-25"),
        Request::delete("made up", "2025-11-25"),
    ] {
        let answer = guarded.endpoint.ask(&request).await;
        challenged(&answer, 401, &bare_challenge());
        let message = answer.message();
        assert_eq!(message["error"]["code"], -32600, "{message}");
    }
    assert_eq!(guarded.runs(), 0);
}

#[tokio::test]
async fn the_challenge_names_the_realm_and_the_scopes() {
    let config = config()
        .with_verifier(tokens())
        .with_realm("demo")
        .with_required_scopes(["files:read", "mail:read"]);
    let guarded = Guarded::with(config).await;
    let answer = guarded.endpoint.ask(&Request::modern(&whoami())).await;
    let expected = format!(
        "Bearer realm=\"demo\", scope=\"files:read mail:read\", resource_metadata=\"{METADATA}\""
    );
    challenged(&answer, 401, &expected);
}

#[tokio::test]
async fn the_scheme_has_no_case_and_the_token_has() {
    let guarded = Guarded::new().await;
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = Request::modern(&whoami()).with("Authorization", format!("{scheme} ann"));
        assert_eq!(
            guarded.endpoint.ask(&request).await.status(),
            200,
            "{scheme}"
        );
    }
    challenged(&guarded.say("ANN", &whoami()).await, 401, &invalid_token());
}

#[tokio::test]
async fn malformed_requests_are_not_read_for_their_best() {
    let guarded = Guarded::new().await;
    let good = || with_token(Request::modern(&whoami()), "ann");
    let unreadable = "the Authorization header is malformed";
    let in_query = "a token in the query is not confidential; send it in the Authorization header";
    for (request, reason) in [
        (good().with("Authorization", "Bearer ann"), unreadable),
        (good().with("Authorization", "Basic YTpi"), unreadable),
        (
            Request::modern(&whoami()).with("Authorization", "Bearer"),
            unreadable,
        ),
        (
            Request::modern(&whoami()).with("Authorization", "Bearer a, Bearer b"),
            unreadable,
        ),
        (
            Request::modern(&whoami()).with("Authorization", "Bearer a b"),
            unreadable,
        ),
        (good().with_target("/mcp?access_token=ann"), in_query),
        (
            Request::modern(&whoami()).with_target("/mcp?a=b&access_token=ann"),
            in_query,
        ),
    ] {
        let answer = guarded.endpoint.ask(&request).await;
        let expected = format!(
            "Bearer error=\"invalid_request\", error_description=\"{reason}\", resource_metadata=\"{METADATA}\""
        );
        challenged(&answer, 400, &expected);
    }
    assert_eq!(guarded.runs(), 0);
}
