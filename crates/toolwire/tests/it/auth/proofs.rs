//! Tokens that are bound to a key (DPoP, RFC 9449).

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolwire::store::MemoryNonceStore;
use toolwire_auth::testing::thumbprint;
use toolwire_auth::testing::token_hash;
use toolwire_auth::{DocumentFetcher, JwtVerifier, ResourceServerConfig};

use super::guarded::{Guarded, ISSUER, METADATA, RESOURCE, config, whoami};
use super::issuer::Issuer;
use crate::http::request::Request;
use crate::http::socket::Answer;
use crate::peer::call;

const ALGORITHMS: &str = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA";

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

/// An issuer, a client with a key, and a server.
struct Setting {
    issuer: Issuer,
    client: Issuer,
    guarded: Guarded,
}

impl Setting {
    async fn new() -> Self {
        Self::with(|config| config).await
    }

    async fn with(change: impl FnOnce(ResourceServerConfig) -> ResourceServerConfig) -> Self {
        let (issuer, client) = (Issuer::new(), Issuer::new());
        let verifier = JwtVerifier::new(Vec::<String>::new(), &DocumentFetcher::new());
        let config = config().with_verifier(verifier.with_keys(ISSUER, issuer.keys()));
        let guarded = Guarded::with(change(config)).await;
        Self {
            issuer,
            client,
            guarded,
        }
    }

    /// A token that is bound to the client's key.
    fn bound(&self) -> String {
        self.token(json!({"jkt": thumbprint(&self.client.public()).unwrap()}))
    }

    /// The same for another user.
    fn bound_of(&self, subject: &str) -> String {
        let jkt = thumbprint(&self.client.public()).unwrap();
        self.token_of(subject, json!({ "jkt": jkt }))
    }

    fn token(&self, confirmation: Value) -> String {
        self.token_of("ann", confirmation)
    }

    fn token_of(&self, subject: &str, confirmation: Value) -> String {
        let mut claims =
            json!({"iss": ISSUER, "aud": RESOURCE, "sub": subject, "exp": now() + 600});
        if confirmation != Value::Null {
            claims["cnf"] = confirmation;
        }
        self.issuer.token(&claims)
    }

    /// A proof for a token, with other claims and another header where the test says so.
    fn proof(&self, token: &str, claims: Value, header: Value) -> String {
        let jwk = serde_json::to_value(self.client.public()).unwrap();
        let mut own_header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk});
        let mut own_claims = json!({
            "jti": unique(), "htm": "POST", "htu": RESOURCE, "iat": now(),
            "ath": token_hash(&token.into()),
        });
        for (own, changes) in [(&mut own_header, header), (&mut own_claims, claims)] {
            for (name, value) in changes.as_object().unwrap() {
                own[name] = value.clone();
            }
        }
        self.client.sign(&own_header, &own_claims)
    }

    fn good_proof(&self, token: &str) -> String {
        self.proof(token, json!({}), json!({}))
    }

    async fn present(&self, token: &str, proof: &str) -> Answer {
        let request = Request::modern(&whoami()).with("Authorization", format!("DPoP {token}"));
        self.guarded
            .endpoint
            .ask(&request.with("DPoP", proof))
            .await
    }
}

fn unique() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("id {}", NEXT.fetch_add(1, Ordering::SeqCst))
}

#[track_caller]
fn challenged(answer: &Answer, error: &str, reason: &str) {
    assert_eq!(answer.status(), 401, "{}", answer.text());
    let expected = format!(
        "DPoP error=\"{error}\", error_description=\"{reason}\", \
         resource_metadata=\"{METADATA}\", algs=\"{ALGORITHMS}\""
    );
    assert_eq!(answer.header("www-authenticate"), Some(&*expected));
}

#[track_caller]
fn bad_proof(answer: &Answer) {
    challenged(
        answer,
        "invalid_dpop_proof",
        "the proof of possession is not accepted",
    );
}

#[track_caller]
fn bad_token(answer: &Answer) {
    challenged(answer, "invalid_token", "the access token is not accepted");
}

#[tokio::test]
async fn a_bound_token_is_good_with_a_proof() {
    let setting = Setting::new().await;
    let token = setting.bound();
    for _ in 0..2 {
        let answer = setting.present(&token, &setting.good_proof(&token)).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
}

#[tokio::test]
async fn a_proof_is_good_once() {
    let setting = Setting::new().await;
    let token = setting.bound();
    let proof = setting.good_proof(&token);
    assert_eq!(setting.present(&token, &proof).await.status(), 200);
    bad_proof(&setting.present(&token, &proof).await);
    assert_eq!(setting.guarded.runs(), 1);
}

#[tokio::test]
async fn a_bound_token_is_no_bearer_token() {
    let setting = Setting::new().await;
    let token = setting.bound();
    bad_token(&setting.guarded.say(&token, &whoami()).await);
    let proof = setting.good_proof(&token);
    let request = Request::modern(&whoami()).with("DPoP", proof);
    bad_token(&setting.guarded.ask(&token, request).await);
    assert_eq!(setting.guarded.runs(), 0);
}

#[tokio::test]
async fn a_proof_without_a_bound_token_is_worth_nothing() {
    let setting = Setting::new().await;
    let plain = setting.token(Value::Null);
    bad_token(&setting.present(&plain, &setting.good_proof(&plain)).await);
    assert_eq!(setting.guarded.say(&plain, &whoami()).await.status(), 200);
    let other = thumbprint(&Issuer::new().public()).unwrap();
    let of_another = setting.token(json!({ "jkt": other }));
    bad_token(
        &setting
            .present(&of_another, &setting.good_proof(&of_another))
            .await,
    );
}

#[tokio::test]
async fn a_proof_is_for_one_request_one_token_and_one_minute() {
    let setting = Setting::new().await;
    let token = setting.bound();
    for claims in [
        json!({"htm": "GET"}),
        json!({"htm": "post"}),
        json!({"htu": "https://mcp.example.com/other"}),
        json!({"htu": "https://evil.example.com/mcp"}),
        json!({"htu": "https://mcp.example.com/mcp?a=b"}),
        json!({"iat": now() - 70}),
        json!({"iat": now() + 120}),
        json!({"ath": token_hash(&"another".into())}),
        json!({"ath": null}),
        json!({"jti": ""}),
        json!({"jti": "x".repeat(257)}),
    ] {
        let proof = setting.proof(&token, claims.clone(), json!({}));
        bad_proof(&setting.present(&token, &proof).await);
    }
    let mut private = serde_json::to_value(setting.client.public()).unwrap();
    private["d"] = json!("AA");
    for header in [
        json!({"typ": "JWT"}),
        json!({"alg": "none"}),
        json!({"alg": "HS256"}),
        json!({"crit": ["exp"]}),
        json!({"jwk": Issuer::new().public()}),
        json!({"jwk": private}),
        json!({"jwk": null}),
    ] {
        let proof = setting.proof(&token, json!({}), header.clone());
        bad_proof(&setting.present(&token, &proof).await);
    }
    for proof in ["", "a.b.c", "opaque"] {
        bad_proof(&setting.present(&token, proof).await);
    }
    let two = Request::modern(&whoami())
        .with("Authorization", format!("DPoP {token}"))
        .with("DPoP", setting.good_proof(&token))
        .with("DPoP", setting.good_proof(&token));
    bad_proof(&setting.guarded.endpoint.ask(&two).await);
    let none = Request::modern(&whoami()).with("Authorization", format!("DPoP {token}"));
    bad_proof(&setting.guarded.endpoint.ask(&none).await);
    assert_eq!(setting.guarded.runs(), 0);
}

#[tokio::test]
async fn proofs_may_be_required() {
    let setting = Setting::with(ResourceServerConfig::with_dpop_required).await;
    let answer = setting
        .guarded
        .endpoint
        .ask(&Request::modern(&whoami()))
        .await;
    assert_eq!(answer.status(), 401);
    let expected = format!("DPoP resource_metadata=\"{METADATA}\", algs=\"{ALGORITHMS}\"");
    assert_eq!(answer.header("www-authenticate"), Some(&*expected));
    let plain = setting.token(Value::Null);
    bad_token(&setting.guarded.say(&plain, &whoami()).await);
    let token = setting.bound();
    let answer = setting.present(&token, &setting.good_proof(&token)).await;
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn whoever_lacks_scopes_is_challenged_in_its_own_scheme() {
    let setting = Setting::new().await;
    let token = setting.bound();
    let request = Request::modern(&call(7, "write", json!({})))
        .with("Authorization", format!("DPoP {token}"))
        .with("DPoP", setting.good_proof(&token));
    let answer = setting.guarded.endpoint.ask(&request).await;
    assert_eq!(answer.status(), 403);
    let challenge = answer.header("www-authenticate").unwrap();
    assert!(
        challenge.starts_with("DPoP error=\"insufficient_scope\""),
        "{challenge}"
    );
}

#[tokio::test]
async fn one_user_cannot_use_up_the_proofs_of_others() {
    let store = MemoryNonceStore::new(100).with_owner_limit(3);
    let setting = Setting::with(|config| config.with_nonce_store(store)).await;
    let (ann, bob) = (setting.bound(), setting.bound_of("bob"));
    for _ in 0..3 {
        let answer = setting.present(&ann, &setting.good_proof(&ann)).await;
        assert_eq!(answer.status(), 200);
    }
    let rejected = setting.present(&ann, &setting.good_proof(&ann)).await;
    assert_eq!(rejected.status(), 429);
    assert!(rejected.header("retry-after").is_some());
    let answer = setting.present(&bob, &setting.good_proof(&bob)).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(setting.guarded.runs(), 4);
}

#[tokio::test]
async fn only_proofs_of_verified_tokens_are_stored() {
    let store = MemoryNonceStore::new(1);
    let setting = Setting::with(|config| config.with_nonce_store(store)).await;
    let token = setting.bound();
    let another = setting.token(json!({"jkt": thumbprint(&Issuer::new().public()).unwrap()}));
    for (token, proof) in [
        (
            &*token,
            setting.proof(&token, json!({"htm": "GET"}), json!({})),
        ),
        (
            &*token,
            setting.proof(&token, json!({}), json!({"jwk": Issuer::new().public()})),
        ),
        (&*another, setting.good_proof(&another)),
        ("forged", setting.good_proof("forged")),
    ] {
        assert_eq!(setting.present(token, &proof).await.status(), 401);
    }
    let answer = setting.present(&token, &setting.good_proof(&token)).await;
    assert_eq!(answer.status(), 200);
}

/// A store of used proofs that does not work.
#[derive(Debug)]
struct Broken;

impl toolwire::store::NonceStore for Broken {
    fn mark_used<'a>(
        &'a self,
        _: &'a toolwire::Principal,
        _: &'a [u8; 32],
        _: std::time::Duration,
    ) -> toolwire::store::StoreFuture<'a, bool> {
        Box::pin(async { Err(toolwire::store::StoreError::Full) })
    }
}

#[tokio::test]
async fn proofs_that_cannot_be_remembered_are_not_accepted() {
    let setting = Setting::with(|config| config.with_nonce_store(Broken)).await;
    let token = setting.bound();
    let answer = setting.present(&token, &setting.good_proof(&token)).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(setting.guarded.runs(), 0);
}
