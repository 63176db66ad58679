//! An ES256 key pair that signs access tokens and DPoP proofs.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use toolwire_auth::documents::{Jwk, JwkSet};

/// A key pair that signs tokens.
#[derive(Debug)]
pub(crate) struct Issuer {
    key: EcdsaKeyPair,
}

impl Issuer {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        Self { key }
    }

    pub(crate) fn public(&self) -> Jwk {
        let point = self.key.public_key().as_ref();
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        Jwk::ec("P-256", encode(&point[1..33]), encode(&point[33..]))
    }

    pub(crate) fn keys(&self) -> JwkSet {
        let mut keys = JwkSet::default();
        keys.keys.push(self.public().with_kid("one"));
        keys
    }

    /// Returns an access token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign(
            &json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"}),
            claims,
        )
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    /// Signs a header and claims that need not be valid JSON.
    pub(crate) fn sign_text(&self, header: &str, claims: &str) -> String {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self
            .key
            .sign(&SystemRandom::new(), signed.as_bytes())
            .unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Serves the metadata and the keys on a local port, and returns the issuer identifier.
    pub(crate) async fn publish(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let metadata = json!({
            "issuer": issuer, "jwks_uri": format!("{issuer}/keys"),
        });
        let keys = serde_json::to_string(&self.keys()).unwrap();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut headers = Vec::new();
                while !headers.ends_with(b"\r\n\r\n") {
                    if socket.read_buf(&mut headers).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                let (status, body) = match headers.split(|byte| *byte == b' ').nth(1) {
                    Some(b"/.well-known/oauth-authorization-server") => (200, metadata.to_string()),
                    Some(b"/keys") => (200, keys.clone()),
                    _ => (404, String::new()),
                };
                let length = body.len();
                let response = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
                let _ = socket.write_all(response.as_bytes()).await;
            }
        });
        issuer
    }
}
