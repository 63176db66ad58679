//! Access tokens that are bound to a key (DPoP, RFC 9449).

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolwire::BoxFuture;
use toolwire::store::{MemoryNonceStore, StoreError};
use toolwire_auth::testing::thumbprint;
use toolwire_auth::testing::token_hash;
use toolwire_auth::{DocumentFetcher, JwtVerifier, ResourceServerConfig};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::socket::Response;
use toolwire_tests::peer::call;

use super::issuer::Issuer;
use super::protected_server::{ISSUER, METADATA, ProtectedServer, RESOURCE, config, whoami};

const ALGORITHMS: &str = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA";

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

/// An issuer, a client with a key, and a server.
struct DpopFixture {
    issuer: Issuer,
    client: Issuer,
    server: ProtectedServer,
}

impl DpopFixture {
    async fn new() -> Self {
        Self::with(|config| config).await
    }

    async fn with(change: impl FnOnce(ResourceServerConfig) -> ResourceServerConfig) -> Self {
        let (issuer, client) = (Issuer::new(), Issuer::new());
        let verifier = JwtVerifier::new(Vec::<String>::new(), &DocumentFetcher::new());
        let config = config().with_verifier(verifier.with_keys(ISSUER, issuer.keys()));
        let server = ProtectedServer::with(change(config)).await;
        Self {
            issuer,
            client,
            server,
        }
    }

    /// Returns a token that is bound to the client's key.
    fn bound_token(&self) -> String {
        self.token(json!({"jkt": thumbprint(&self.client.public()).unwrap()}))
    }

    /// Returns a token of another user that is bound to the client's key.
    fn bound_token_of(&self, subject: &str) -> String {
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

    /// Returns a proof for a token. `claims` and `header` replace members of a valid proof.
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

    fn valid_proof(&self, token: &str) -> String {
        self.proof(token, json!({}), json!({}))
    }

    async fn send(&self, token: &str, proof: &str) -> Response {
        let request = Request::modern(&whoami()).with("Authorization", format!("DPoP {token}"));
        self.server
            .endpoint
            .request(&request.with("DPoP", proof))
            .await
    }
}

fn unique() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("id {}", NEXT.fetch_add(1, Ordering::SeqCst))
}

#[track_caller]
fn assert_challenge(response: &Response, error: &str, reason: &str) {
    assert_eq!(response.status(), 401, "{}", response.text());
    let expected = format!(
        "DPoP error=\"{error}\", error_description=\"{reason}\", \
         resource_metadata=\"{METADATA}\", algs=\"{ALGORITHMS}\""
    );
    assert_eq!(response.header("www-authenticate"), Some(&*expected));
}

#[track_caller]
fn assert_invalid_proof(response: &Response) {
    assert_challenge(
        response,
        "invalid_dpop_proof",
        "the proof of possession is not accepted",
    );
}

#[track_caller]
fn assert_invalid_token(response: &Response) {
    assert_challenge(
        response,
        "invalid_token",
        "the access token is not accepted",
    );
}

#[tokio::test]
async fn bound_token_with_a_proof_is_accepted() {
    let fixture = DpopFixture::new().await;
    let token = fixture.bound_token();
    for _ in 0..2 {
        let response = fixture.send(&token, &fixture.valid_proof(&token)).await;
        assert_eq!(response.status(), 200, "{}", response.text());
    }
}

#[tokio::test]
async fn used_proof_is_rejected() {
    let fixture = DpopFixture::new().await;
    let token = fixture.bound_token();
    let proof = fixture.valid_proof(&token);
    assert_eq!(fixture.send(&token, &proof).await.status(), 200);
    assert_invalid_proof(&fixture.send(&token, &proof).await);
    assert_eq!(fixture.server.runs(), 1);
}

#[tokio::test]
async fn bound_token_is_rejected_as_a_bearer_token() {
    let fixture = DpopFixture::new().await;
    let token = fixture.bound_token();
    assert_invalid_token(&fixture.server.send_message(&token, &whoami()).await);
    let proof = fixture.valid_proof(&token);
    let request = Request::modern(&whoami()).with("DPoP", proof);
    assert_invalid_token(&fixture.server.send(&token, request).await);
    assert_eq!(fixture.server.runs(), 0);
}

#[tokio::test]
async fn proof_of_a_token_that_is_not_bound_to_its_key_is_rejected() {
    let fixture = DpopFixture::new().await;
    let plain = fixture.token(Value::Null);
    assert_invalid_token(&fixture.send(&plain, &fixture.valid_proof(&plain)).await);
    assert_eq!(
        fixture
            .server
            .send_message(&plain, &whoami())
            .await
            .status(),
        200
    );
    let other = thumbprint(&Issuer::new().public()).unwrap();
    let bound_to_other_key = fixture.token(json!({ "jkt": other }));
    assert_invalid_token(
        &fixture
            .send(
                &bound_to_other_key,
                &fixture.valid_proof(&bound_to_other_key),
            )
            .await,
    );
}

#[tokio::test]
async fn proof_for_another_request_token_or_time_is_rejected() {
    let fixture = DpopFixture::new().await;
    let token = fixture.bound_token();
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
        let proof = fixture.proof(&token, claims.clone(), json!({}));
        assert_invalid_proof(&fixture.send(&token, &proof).await);
    }
    let mut private = serde_json::to_value(fixture.client.public()).unwrap();
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
        let proof = fixture.proof(&token, json!({}), header.clone());
        assert_invalid_proof(&fixture.send(&token, &proof).await);
    }
    for proof in ["", "a.b.c", "opaque"] {
        assert_invalid_proof(&fixture.send(&token, proof).await);
    }
    let two_proofs = Request::modern(&whoami())
        .with("Authorization", format!("DPoP {token}"))
        .with("DPoP", fixture.valid_proof(&token))
        .with("DPoP", fixture.valid_proof(&token));
    assert_invalid_proof(&fixture.server.endpoint.request(&two_proofs).await);
    let no_proof = Request::modern(&whoami()).with("Authorization", format!("DPoP {token}"));
    assert_invalid_proof(&fixture.server.endpoint.request(&no_proof).await);
    assert_eq!(fixture.server.runs(), 0);
}

#[tokio::test]
async fn server_that_requires_dpop_rejects_bearer_tokens() {
    let fixture = DpopFixture::with(ResourceServerConfig::with_dpop_required).await;
    let response = fixture
        .server
        .endpoint
        .request(&Request::modern(&whoami()))
        .await;
    assert_eq!(response.status(), 401);
    let expected = format!("DPoP resource_metadata=\"{METADATA}\", algs=\"{ALGORITHMS}\"");
    assert_eq!(response.header("www-authenticate"), Some(&*expected));
    let plain = fixture.token(Value::Null);
    assert_invalid_token(&fixture.server.send_message(&plain, &whoami()).await);
    let token = fixture.bound_token();
    let response = fixture.send(&token, &fixture.valid_proof(&token)).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn challenge_for_missing_scopes_uses_the_dpop_scheme() {
    let fixture = DpopFixture::new().await;
    let token = fixture.bound_token();
    let request = Request::modern(&call(7, "write", json!({})))
        .with("Authorization", format!("DPoP {token}"))
        .with("DPoP", fixture.valid_proof(&token));
    let response = fixture.server.endpoint.request(&request).await;
    assert_eq!(response.status(), 403);
    let challenge = response.header("www-authenticate").unwrap();
    assert!(
        challenge.starts_with("DPoP error=\"insufficient_scope\""),
        "{challenge}"
    );
}

#[tokio::test]
async fn proof_limit_of_one_user_does_not_affect_other_users() {
    let store = MemoryNonceStore::new(100).with_owner_limit(3);
    let fixture = DpopFixture::with(|config| config.with_nonce_store(store)).await;
    let (ann, bob) = (fixture.bound_token(), fixture.bound_token_of("bob"));
    for _ in 0..3 {
        let response = fixture.send(&ann, &fixture.valid_proof(&ann)).await;
        assert_eq!(response.status(), 200);
    }
    let rejected = fixture.send(&ann, &fixture.valid_proof(&ann)).await;
    assert_eq!(rejected.status(), 429);
    assert!(rejected.header("retry-after").is_some());
    let response = fixture.send(&bob, &fixture.valid_proof(&bob)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(fixture.server.runs(), 4);
}

#[tokio::test]
async fn only_proofs_of_verified_tokens_are_stored() {
    let store = MemoryNonceStore::new(1);
    let fixture = DpopFixture::with(|config| config.with_nonce_store(store)).await;
    let token = fixture.bound_token();
    let another = fixture.token(json!({"jkt": thumbprint(&Issuer::new().public()).unwrap()}));
    for (token, proof) in [
        (
            &*token,
            fixture.proof(&token, json!({"htm": "GET"}), json!({})),
        ),
        (
            &*token,
            fixture.proof(&token, json!({}), json!({"jwk": Issuer::new().public()})),
        ),
        (&*another, fixture.valid_proof(&another)),
        ("forged", fixture.valid_proof("forged")),
    ] {
        assert_eq!(fixture.send(token, &proof).await.status(), 401);
    }
    let response = fixture.send(&token, &fixture.valid_proof(&token)).await;
    assert_eq!(response.status(), 200);
}

/// A nonce store that always returns an error.
#[derive(Debug)]
struct FailingStore;

impl toolwire::store::NonceStore for FailingStore {
    fn mark_used<'a>(
        &'a self,
        _: &'a toolwire::Principal,
        _: &'a [u8; 32],
        _: std::time::Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async { Err(toolwire::store::StoreError::Full) })
    }
}

#[tokio::test]
async fn failing_nonce_store_returns_503() {
    let fixture = DpopFixture::with(|config| config.with_nonce_store(FailingStore)).await;
    let token = fixture.bound_token();
    let response = fixture.send(&token, &fixture.valid_proof(&token)).await;
    assert_eq!(response.status(), 503);
    assert_eq!(fixture.server.runs(), 0);
}

/// A store that counts its calls.
#[derive(Debug, Clone, Default)]
struct CountingStore(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl toolwire::store::NonceStore for CountingStore {
    fn mark_used<'a>(
        &'a self,
        _: &'a toolwire::Principal,
        _: &'a [u8; 32],
        _: std::time::Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async { Ok(true) })
    }
}

#[tokio::test]
async fn request_with_a_proof_takes_one_call_of_the_store() {
    let store = CountingStore::default();
    let fixture = DpopFixture::with(|config| config.with_nonce_store(store.clone())).await;
    let token = fixture.bound_token();
    for calls in 1..=3 {
        let response = fixture.send(&token, &fixture.valid_proof(&token)).await;
        assert_eq!(response.status(), 200);
        assert_eq!(store.0.load(std::sync::atomic::Ordering::SeqCst), calls);
    }
}
