//! Whoever gives out tokens, and whoever proves to have a key: signatures of ES256.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use toolwire_auth::documents::{Jwk, JwkSet};

/// A private key.
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

    /// An access token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign(
            &json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"}),
            claims,
        )
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }

    /// The same for texts that need not be JSON.
    pub(crate) fn sign_text(&self, header: &str, claims: &str) -> String {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self
            .key
            .sign(&SystemRandom::new(), signed.as_bytes())
            .unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Publishes metadata and keys on a port of this machine; the name of the issuer.
    pub(crate) async fn publish(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let name = format!("http://{}", listener.local_addr().unwrap());
        let metadata = json!({
            "issuer": name, "jwks_uri": format!("{name}/keys"),
        });
        let keys = serde_json::to_string(&self.keys()).unwrap();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    if socket.read_buf(&mut head).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                let (status, body) = match head.split(|byte| *byte == b' ').nth(1) {
                    Some(b"/.well-known/oauth-authorization-server") => (200, metadata.to_string()),
                    Some(b"/keys") => (200, keys.clone()),
                    _ => (404, String::new()),
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        });
        name
    }
}
