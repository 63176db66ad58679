use serde_json::json;

use super::*;
use crate::rules::form;
use crate::test_http::CannedHttp;

const ISSUER: &str = "https://idp.example";

fn client(upstream: Upstream, http: &CannedHttp) -> UpstreamClient {
    let scopes = upstream.scopes.iter().map(String::as_str);
    UpstreamClient {
        scopes: ScopeSet::from_list(scopes).unwrap(),
        upstream,
        fetcher: DocumentFetcher::with_http_client(http.clone()),
        callback: "https://mcp.example/callback".to_owned(),
        cached: Mutex::default(),
    }
}

fn metadata() -> Value {
    json!({
        "issuer": ISSUER, "authorization_endpoint": "https://idp.example/authorize",
        "token_endpoint": "https://idp.example/token",
    })
}

/// Creates a provider with OpenID Connect metadata.
fn provider(metadata: Value) -> CannedHttp {
    CannedHttp::new(move |request| match request.uri().path() {
        "/.well-known/openid-configuration" => (200, metadata.to_string()),
        _ => (404, String::new()),
    })
}

fn generic() -> Upstream {
    Upstream::new(ISSUER, "us", "secret")
}

#[tokio::test(start_paused = true)]
async fn metadata_is_cached_for_an_hour() {
    let http = provider(metadata());
    let client = client(generic(), &http);
    assert!(client.endpoints().await.is_ok());
    assert_eq!(http.count(), 2);
    tokio::time::advance(METADATA_TTL - Duration::from_millis(1)).await;
    assert!(client.endpoints().await.is_ok());
    assert_eq!(http.count(), 2);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(client.endpoints().await.is_ok());
    assert_eq!(http.count(), 4);
}

#[tokio::test]
async fn invalid_metadata_is_rejected() {
    let mut other = metadata();
    other["issuer"] = json!("https://evil.example");
    let mut plain = metadata();
    plain["token_endpoint"] = json!("http://idp.example/token");
    let mut half = metadata();
    half["authorization_endpoint"] = json!(null);
    let mut keys_only = metadata();
    keys_only["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
    for bad in [other, plain, half, keys_only] {
        let client = client(generic(), &provider(bad.clone()));
        let endpoints = client.endpoints().await;
        assert!(
            matches!(endpoints, Err(UpstreamError::Unusable(_))),
            "{bad}"
        );
    }
    let empty = CannedHttp::new(|_| (404, String::new()));
    let endpoints = client(generic(), &empty).endpoints().await;
    assert!(matches!(endpoints, Err(UpstreamError::Fetch(_))));
}

#[tokio::test]
async fn authorization_url_has_the_required_parameters() {
    async fn sent(upstream: Upstream) -> Vec<(String, String)> {
        let mut metadata = metadata();
        metadata["issuer"] = json!(upstream.issuer);
        let client = client(upstream, &provider(metadata));
        let endpoints = client.endpoints().await.unwrap();
        let (state, verifier) = (Secret::new("s"), Verifier::from_random([1; 32]));
        let url = client
            .authorization_url(&endpoints, &state, &verifier)
            .unwrap();
        form::decode(url.split_once('?').unwrap().1).unwrap()
    }
    fn has(pairs: &[(String, String)], name: &str, value: &str) -> bool {
        let pair = (name.to_owned(), value.to_owned());
        pairs.contains(&pair)
    }
    let generic = sent(generic().with_scopes(["files"])).await;
    assert!(has(&generic, "scope", "openid files"), "{generic:?}");
    assert!(
        has(&generic, "code_challenge_method", "S256"),
        "{generic:?}"
    );
    let google = sent(Upstream::google("us", "secret")).await;
    assert!(has(&google, "scope", "openid email"), "{google:?}");
    assert!(has(&google, "access_type", "offline"), "{google:?}");
    assert!(has(&google, "prompt", "consent"), "{google:?}");
    let github = sent(Upstream::github("us", "secret")).await;
    assert!(github.iter().all(|(name, _)| name != "scope"), "{github:?}");
}

#[tokio::test]
async fn client_secret_uses_the_supported_method() {
    for in_body in [false, true] {
        let http = CannedHttp::new(|request| match request.uri().path() {
            "/token" => (
                200,
                json!({"access_token": "t", "token_type": "bearer"}).to_string(),
            ),
            _ => (200, json!({"id": 1}).to_string()),
        });
        let mut upstream = generic()
            .with_endpoints("https://idp.example/authorize", "https://idp.example/token")
            .with_user_info("https://idp.example/user", "id");
        if in_body {
            upstream = upstream.with_secret_in_body();
        }
        let client = client(upstream, &http);
        let renewed = client.renew(&"old".into()).await.unwrap();
        // Without a new refresh token, the old one stays valid.
        assert_eq!(renewed.tokens.refresh_token, Some("old".into()));
        let request = http.last();
        let body = String::from_utf8_lossy(request.body()).into_owned();
        assert_eq!(body.contains("client_secret=secret"), in_body, "{body}");
        assert_eq!(request.headers().contains_key(AUTHORIZATION), !in_body);
    }
}

#[tokio::test]
async fn id_token_for_another_client_is_rejected() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    for (claims, expected) in [
        (
            json!({"iss": ISSUER, "aud": "us", "exp": u32::MAX, "sub": "ann"}),
            true,
        ),
        (
            json!({"iss": "https://evil.example", "aud": "us", "exp": u32::MAX, "sub": "ann"}),
            false,
        ),
        (
            json!({"iss": ISSUER, "aud": "them", "exp": u32::MAX, "sub": "ann"}),
            false,
        ),
        (
            json!({"iss": ISSUER, "aud": "us", "exp": 1, "sub": "ann"}),
            false,
        ),
        (json!({"iss": ISSUER, "aud": "us", "exp": u32::MAX}), false),
    ] {
        let token = format!("e30.{}.", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let response = json!({"access_token": "t", "token_type": "bearer", "id_token": token});
        let http = CannedHttp::new(move |_| (200, response.to_string()));
        let upstream =
            generic().with_endpoints("https://idp.example/authorize", "https://idp.example/token");
        let verifier = Verifier::from_random([1; 32]);
        let logged_in = client(upstream, &http)
            .log_in(&"code".into(), &verifier)
            .await;
        assert_eq!(logged_in.is_ok(), expected, "{claims}");
    }
}

#[tokio::test]
async fn renewed_tokens_with_an_invalid_id_token_are_stored() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    for (claims, expected) in [
        (
            json!({"iss": ISSUER, "aud": "us", "exp": u32::MAX, "sub": "ann"}),
            Some("ann"),
        ),
        (
            json!({"iss": ISSUER, "aud": "us", "exp": 1, "sub": "ann"}),
            None,
        ),
    ] {
        let token = format!("e30.{}.", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let response = json!({"access_token": "new", "token_type": "bearer", "id_token": token});
        let http = CannedHttp::new(move |_| (200, response.to_string()));
        let upstream =
            generic().with_endpoints("https://idp.example/authorize", "https://idp.example/token");
        let renewed = client(upstream, &http).renew(&"old".into()).await.unwrap();
        assert_eq!(renewed.tokens.access_token, "new".into());
        let subject = renewed.user.map(|user| user.subject);
        assert_eq!(subject.as_deref(), expected, "{claims}");
    }
}

#[tokio::test]
async fn revoked_token_differs_from_an_unavailable_provider() {
    for (status, is_revoked) in [(401, true), (403, false), (429, false), (500, false)] {
        let http = CannedHttp::new(move |_| (status, json!({"id": 1}).to_string()));
        let upstream = generic().with_user_info("https://idp.example/user", "id");
        let user = client(upstream, &http).current_user(&"token".into()).await;
        let error = user.unwrap_err();
        assert_eq!(
            matches!(error, UpstreamError::Rejected),
            is_revoked,
            "{status}"
        );
    }
    let http = CannedHttp::new(|_| (200, json!({"id": 1}).to_string()));
    let user = client(generic(), &http).current_user(&"token".into()).await;
    assert!(user.unwrap().is_none());
    assert_eq!(http.count(), 0);
}
