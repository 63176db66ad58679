//! Tokens of another audience and forged tokens, which all get the same challenge, and ambiguous credentials.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};
use toolwire_auth::documents::Jwk;

use super::fixture::AttackFixture;
use super::routers::ROUTERS;
use crate::resource::issuer::Issuer;
use crate::resource::protected_server::{RESOURCE, invalid_token, with_token};

/// Asserts that every operation that requires a token rejects this one.
async fn assert_rejected_by_all_operations(fixture: &AttackFixture, token: &str, context: &str) {
    for operation in fixture
        .operations()
        .filter(|operation| operation.needs_token)
    {
        let context = format!("{}: {}: {context}", fixture.router.name, operation.name);
        let request = with_token((operation.request)(&fixture.ann), token);
        let response = fixture.response_to(&request).await;
        assert_eq!(response.status, 401, "{context}: {}", response.text);
        let challenge = response.header("www-authenticate");
        assert_eq!(challenge, Some(&*invalid_token()), "{context}");
        assert_eq!(response.header("mcp-session-id"), None, "{context}");
    }
    assert_eq!(fixture.runs(), 0, "{context}");
}

#[tokio::test]
async fn token_of_another_audience_is_rejected_by_every_operation() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        for audience in [
            json!("https://other.example.com/mcp"),
            json!("https://mcp.example.com"),
            json!("https://mcp.example.com/mcp/"),
            json!("https://mcp.example.com/mcp/other"),
            json!("https://mcp.example.com.evil.test/mcp"),
            json!("http://mcp.example.com/mcp"),
            json!("https://mcp.example.com/mcp?x"),
            json!([]),
            json!([""]),
            json!(null),
            json!({"0": RESOURCE}),
        ] {
            let mut claims = AttackFixture::claims("ann");
            claims["aud"] = audience.clone();
            let token = fixture.issuer.token(&claims);
            assert_rejected_by_all_operations(&fixture, &token, &audience.to_string()).await;
        }
        let mut claims = AttackFixture::claims("ann");
        claims.as_object_mut().unwrap().remove("aud");
        let token = fixture.issuer.token(&claims);
        assert_rejected_by_all_operations(&fixture, &token, "no audience").await;
    }
}

fn encode(part: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(part)
}

/// Returns a token that is signed with HMAC and a known password.
fn with_hmac(header: &Value, claims: &Value, password: &[u8]) -> String {
    let signed = format!(
        "{}.{}",
        encode(header.to_string()),
        encode(claims.to_string())
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, password);
    let tag = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", encode(tag))
}

/// Returns forged tokens that JWT libraries have accepted in the past.
fn forgeries(issuer: &Issuer, claims: &Value) -> Vec<(&'static str, String)> {
    let valid = issuer.token(claims);
    let (signed, signature) = valid.rsplit_once('.').unwrap();
    let (header, payload) = signed.split_once('.').unwrap();
    let other = Issuer::new();
    let public = issuer.public();
    let point = |part: &Option<String>| {
        let part = part.as_deref().unwrap_or_default();
        URL_SAFE_NO_PAD.decode(part).unwrap()
    };
    let raw_point = [vec![4], point(&public.x), point(&public.y)].concat();
    let jwk = serde_json::to_string(&public).unwrap();
    let bare = |header: Value| format!("{}.{payload}.", encode(header.to_string()));
    let hmac_header = json!({"alg": "HS256", "kid": "one"});
    let by_owner = |header: Value| issuer.sign(&header, claims);
    let by_other = |header: Value| other.sign(&header, claims);
    let mut admin = claims.clone();
    admin["sub"] = json!("root");
    vec![
        ("no algorithm", bare(json!({"alg": "none"}))),
        ("no algorithm, mixed case", bare(json!({"alg": "nOnE"}))),
        ("no algorithm, empty", bare(json!({"alg": ""}))),
        ("no signature", format!("{signed}.")),
        ("two parts", signed.to_owned()),
        ("four parts", format!("{valid}.{signature}")),
        ("five parts", format!("{header}.{payload}.{signature}.a.b")),
        (
            "other claims",
            format!("{header}.{}.{signature}", encode(admin.to_string())),
        ),
        (
            "a signature of zeros",
            format!("{signed}.{}", encode([0; 64])),
        ),
        ("padding", format!("{valid}=")),
        ("other alphabet", format!("{signed}.{}", "+/".repeat(43))),
        (
            "the public key as a password",
            with_hmac(&hmac_header, claims, &raw_point),
        ),
        (
            "the public key as a password, as JSON",
            with_hmac(&hmac_header, claims, jwk.as_bytes()),
        ),
        ("an empty password", with_hmac(&hmac_header, claims, b"")),
        (
            "a symmetric key of the key set",
            with_hmac(
                &json!({"alg": "HS256", "kid": "symmetric"}),
                claims,
                b"password",
            ),
        ),
        (
            "RSA with a curve key",
            by_owner(json!({"alg": "RS256", "kid": "one"})),
        ),
        (
            "another curve",
            by_owner(json!({"alg": "ES384", "kid": "one"})),
        ),
        (
            "EdDSA with a P-256 key",
            by_owner(json!({"alg": "EdDSA", "kid": "one"})),
        ),
        (
            "an algorithm in lower case",
            by_owner(json!({"alg": "es256", "kid": "one"})),
        ),
        (
            "a list of algorithms",
            by_owner(json!({"alg": ["ES256", "none"], "kid": "one"})),
        ),
        (
            "an unknown key id",
            by_owner(json!({"alg": "ES256", "kid": "two"})),
        ),
        (
            "a path as the key id",
            by_owner(json!({"alg": "ES256", "kid": "../../dev/null"})),
        ),
        (
            "an SQL injection as the key id",
            by_owner(json!({"alg": "ES256", "kid": "one' OR '1'='1"})),
        ),
        (
            "an encryption key",
            by_owner(json!({"alg": "ES256", "kid": "encrypting"})),
        ),
        (
            "the key of another issuer",
            by_other(json!({"alg": "ES256", "kid": "one"})),
        ),
        (
            "the key of another issuer, without a key id",
            by_other(json!({"alg": "ES256"})),
        ),
        (
            "an embedded key",
            by_other(json!({"alg": "ES256", "jwk": other.public()})),
        ),
        (
            "a key URL in the header",
            by_other(
                json!({"alg": "ES256", "kid": "one", "jku": "https://evil.test/keys", "x5u": "https://evil.test/"}),
            ),
        ),
        (
            "a critical extension",
            by_owner(json!({"alg": "ES256", "kid": "one", "crit": ["b64"], "b64": false})),
        ),
        (
            "an empty list of critical extensions",
            by_owner(json!({"alg": "ES256", "kid": "one", "crit": []})),
        ),
        (
            "a DPoP proof",
            by_owner(json!({"alg": "ES256", "kid": "one", "typ": "dpop+jwt"})),
        ),
        (
            "an ID token",
            by_owner(json!({"alg": "ES256", "kid": "one", "typ": "id_token+jwt"})),
        ),
        (
            "a header that is not an object",
            format!("{}.{payload}.{signature}", encode("[]")),
        ),
        ("empty parts", "..".to_owned()),
    ]
}

#[tokio::test]
async fn forged_token_is_rejected_by_every_operation() {
    for router in ROUTERS {
        let issuer = Issuer::new();
        let mut keys = issuer.keys();
        let symmetric: Jwk = serde_json::from_value(
            json!({"kty": "oct", "kid": "symmetric", "k": encode("password"), "alg": "HS256"}),
        )
        .unwrap();
        let mut encrypting = issuer.public().with_kid("encrypting");
        encrypting.use_ = Some("enc".to_owned());
        keys.keys.extend([symmetric, encrypting]);
        let fixture = AttackFixture::open_with(router, issuer, keys).await;
        for (context, token) in forgeries(&fixture.issuer, &AttackFixture::claims("ann")) {
            assert_rejected_by_all_operations(&fixture, &token, context).await;
        }
    }
}

#[tokio::test]
async fn token_with_duplicate_members_is_rejected() {
    let fixture = AttackFixture::open(&ROUTERS[0]).await;
    let valid = AttackFixture::claims("ann").to_string();
    let two_subjects = format!("{},\"sub\":\"root\"}}", valid.strip_suffix('}').unwrap());
    let token = fixture
        .issuer
        .sign_text(r#"{"alg":"ES256","kid":"one"}"#, &two_subjects);
    assert_rejected_by_all_operations(&fixture, &token, "two subjects").await;
    let token = fixture
        .issuer
        .sign_text(r#"{"alg":"none","alg":"ES256","kid":"one"}"#, &valid);
    assert_rejected_by_all_operations(&fixture, &token, "two algorithms").await;
}

#[tokio::test]
async fn token_in_the_query_returns_400() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        let token = fixture.token("ann");
        for operation in fixture
            .operations()
            .filter(|operation| operation.needs_token)
        {
            let request = (operation.request)(&fixture.ann);
            let target = request.target().to_owned();
            let separator = if target.contains('?') { '&' } else { '?' };
            for query in [
                format!("access_token={token}"),
                format!("a=b&access_token={token}"),
                format!("%61ccess_token={token}"),
            ] {
                let target = format!("{target}{separator}{query}");
                let in_query = request.clone().with_target(target);
                for request in [in_query.clone(), fixture.with_token_of("ann", in_query)] {
                    let context = format!("{}: {}: {query}", router.name, operation.name);
                    let response = fixture.response_to(&request).await;
                    assert_eq!(response.status, 400, "{context}: {}", response.text);
                    assert!(!response.text.contains(&token), "{context}");
                }
            }
        }
        assert_eq!(fixture.runs(), 0, "{}", router.name);
    }
}

#[tokio::test]
async fn request_with_two_authorization_headers_returns_400() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        for operation in fixture
            .operations()
            .filter(|operation| operation.needs_token)
        {
            let request = fixture.with_token_of("ann", (operation.request)(&fixture.ann));
            for second in ["Bearer other", "Basic YTpi", ""] {
                let response = fixture
                    .response_to(&request.clone().with("Authorization", second))
                    .await;
                let context = format!("{}: {}", router.name, operation.name);
                assert_eq!(response.status, 400, "{context}: {}", response.text);
            }
        }
        assert_eq!(fixture.runs(), 0, "{}", router.name);
    }
}
