use std::sync::Mutex;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::time::advance;

use super::super::config::tests::{ISSUER, purpose};
use super::*;
use crate::jws::test_keys::TestKey;
use crate::rules::signing_algorithm::SigningAlgorithm;
use crate::test_http::CannedHttp;

fn claims() -> Value {
    json!({"iss": ISSUER, "sub": "ann", "aud": "https://mcp.example.com/mcp", "exp": 4_000_000_000_u64})
}

fn verifier(key: &TestKey) -> JwtVerifier {
    let mut keys = JwkSet::default();
    keys.keys.push(key.public().with_kid("one"));
    JwtVerifier::new(Vec::<String>::new(), &DocumentFetcher::new()).with_keys(ISSUER, keys)
}

async fn is_accepted(verifier: &JwtVerifier, token: String, purpose: &TokenPurpose) -> bool {
    match verifier.verify(&token.into(), purpose).await {
        Ok(claims) => {
            assert_eq!(claims.sub.as_deref(), Some("ann"));
            true
        }
        Err(TokenError::Invalid(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn only_headers_of_access_tokens_are_accepted() {
    let key = TestKey::new(SigningAlgorithm::Es256);
    let verifier = verifier(&key);
    let purpose = purpose();
    for (header, expected) in [
        (json!({"alg": "ES256"}), true),
        (json!({"alg": "ES256", "kid": "one"}), true),
        (json!({"alg": "ES256", "kid": "two"}), false),
        (json!({"alg": "ES256", "typ": "JWT"}), true),
        (json!({"alg": "ES256", "typ": "at+jwt"}), true),
        (json!({"alg": "ES256", "typ": "dpop+jwt"}), false),
        (json!({"alg": "ES256", "crit": ["exp"]}), false),
        (json!({"alg": "ES256", "crit": []}), false),
        (
            json!({"alg": "ES256", "b64": false, "crit": ["b64"]}),
            false,
        ),
        (json!({"alg": "es256"}), false),
        (json!({"alg": "ES384"}), false),
        (json!({"alg": "none"}), false),
        (json!({"alg": "HS256"}), false),
        (json!({"alg": ["ES256"]}), false),
        (json!({}), false),
    ] {
        let token = key.token(&header, &claims());
        assert_eq!(
            is_accepted(&verifier, token, &purpose).await,
            expected,
            "{header}"
        );
    }
}

#[tokio::test]
async fn public_key_is_not_accepted_as_hmac_secret() {
    let key = TestKey::new(SigningAlgorithm::Rs256);
    let encode = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let signed = format!("{}.{}", encode(json!({"alg": "HS256"})), encode(claims()));
    // This signature can be made with the public key.
    let modulus = key.public().n.unwrap();
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, modulus.as_bytes());
    let signature = URL_SAFE_NO_PAD.encode(ring::hmac::sign(&secret, signed.as_bytes()));
    let token = format!("{signed}.{signature}");
    assert!(!is_accepted(&verifier(&key), token, &purpose()).await);
}

#[tokio::test]
async fn unsigned_token_is_rejected() {
    let encode = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    for alg in ["none", "None", "NONE", "", "ES256"] {
        let token = format!("{}.{}.", encode(json!({"alg": alg})), encode(claims()));
        let key = TestKey::new(SigningAlgorithm::Es256);
        assert!(
            !is_accepted(&verifier(&key), token, &purpose()).await,
            "{alg}"
        );
    }
}

#[tokio::test]
async fn issuer_claim_selects_the_keys() {
    let key = TestKey::new(SigningAlgorithm::EdDsa);
    let verifier = verifier(&key);
    for issuer in [
        json!("https://evil.example.com"),
        json!(null),
        json!([ISSUER]),
    ] {
        let mut claims = claims();
        claims["iss"] = issuer.clone();
        let token = key.token(&json!({"alg": "EdDSA"}), &claims);
        assert!(!is_accepted(&verifier, token, &purpose()).await, "{issuer}");
    }
}

#[tokio::test]
async fn access_token_type_can_be_required() {
    let key = TestKey::new(SigningAlgorithm::Es256);
    let verifier = verifier(&key);
    let mut purpose = purpose();
    purpose.rules = purpose.rules.with_access_token_type_required();
    for (typ, expected) in [
        ("at+jwt", true),
        ("application/at+jwt", true),
        ("JWT", false),
    ] {
        let token = key.token(&json!({"alg": "ES256", "typ": typ}), &claims());
        assert_eq!(
            is_accepted(&verifier, token, &purpose).await,
            expected,
            "{typ}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn replaced_key_needs_no_new_id() {
    let keys = [0, 1].map(|_| TestKey::new(SigningAlgorithm::Es256));
    let served = Arc::new(Mutex::new(keys[0].public()));
    for kid in [None, Some("one")] {
        let served_kid = kid.unwrap_or("any");
        *served.lock().unwrap() = keys[0].public().with_kid(served_kid);
        let key = Arc::clone(&served);
        let http = CannedHttp::new(move |_| {
            let key = serde_json::to_value(&*key.lock().unwrap()).unwrap();
            (200, json!({ "keys": [key] }).to_string())
        });
        let fetcher = DocumentFetcher::with_http_client(http.clone());
        let verifier = JwtVerifier::new(Vec::<String>::new(), &fetcher);
        let verifier = verifier
            .with_keys_at(ISSUER, "https://auth.example.com/keys", &fetcher)
            .unwrap();
        let mut header = json!({"alg": "ES256"});
        if let Some(kid) = kid {
            header["kid"] = kid.into();
        }
        let check = async |signing: usize, expected: bool, fetches: usize| {
            let token = keys[signing].token(&header, &claims());
            let is_accepted = is_accepted(&verifier, token, &purpose()).await;
            assert_eq!((is_accepted, http.count()), (expected, fetches), "{header}");
        };
        check(0, true, 1).await;
        *served.lock().unwrap() = keys[1].public().with_kid(served_kid);
        check(1, false, 1).await;
        advance(Duration::from_secs(30)).await;
        check(1, true, 2).await;
        // The old key is not valid any more. Its tokens cause at most one fetch per 30 s.
        check(0, false, 2).await;
        advance(Duration::from_secs(30)).await;
        check(0, false, 3).await;
        check(0, false, 3).await;
    }
}

#[test]
fn keys_require_https() {
    let verifier = JwtVerifier::new([ISSUER], &DocumentFetcher::new());
    let outcome = verifier.with_keys_at(
        ISSUER,
        "http://auth.example.com/keys",
        &DocumentFetcher::new(),
    );
    assert!(outcome.is_err());
}
