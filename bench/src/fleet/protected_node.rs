//! A node that requires access tokens with DPoP proofs (RFC 9449).

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{KeyPair, PKCS_ED25519, SigningKey as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::node::Node;

/// The public URL of the node, for which the proofs are.
const RESOURCE: &str = "https://mcp.example.com/mcp";

/// A node that requires DPoP proofs, and the key of its client.
#[derive(Debug)]
pub(super) struct ProtectedNode {
    node: Node,
    key: ProofKey,
}

impl ProtectedNode {
    /// Starts a node with an engine.
    pub(super) async fn start(program: &Path, engine: &str) -> io::Result<Self> {
        Ok(Self {
            node: Node::start(program, &[engine, RESOURCE]).await?,
            key: ProofKey::create()?,
        })
    }

    /// Makes a modern call of a tool with a new proof.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> io::Result<()> {
        let fields = self.key.header_fields()?;
        self.node.call_with_fields(&fields, tool, arguments).await
    }
}

/// A key that signs proofs. The node accepts its thumbprint as an access token that is bound to it.
#[derive(Debug)]
struct ProofKey {
    pair: KeyPair,
    jwk: Value,
    thumbprint: String,
    proofs: AtomicU64,
}

impl ProofKey {
    fn create() -> io::Result<Self> {
        let pair = KeyPair::generate_for(&PKCS_ED25519).map_err(io::Error::other)?;
        let x = URL_SAFE_NO_PAD.encode(pair.public_key_raw());
        // RFC 7638, section 3.3: in this order and without whitespace.
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        Ok(Self {
            pair,
            jwk: json!({"crv": "Ed25519", "kty": "OKP", "x": x}),
            thumbprint: digest(&members),
            proofs: AtomicU64::new(0),
        })
    }

    /// Returns the header fields of a request with a new proof.
    fn header_fields(&self) -> io::Result<String> {
        let token = &self.thumbprint;
        let header = json!({"typ": "dpop+jwt", "alg": "EdDSA", "jwk": self.jwk});
        let issued_at = SystemTime::now().duration_since(UNIX_EPOCH);
        let claims = json!({
            "jti": self.proofs.fetch_add(1, Ordering::Relaxed).to_string(),
            "htm": "POST",
            "htu": RESOURCE,
            "iat": issued_at.map_err(io::Error::other)?.as_secs(),
            "ath": digest(token),
        });
        let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = self.pair.sign(signed.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(signature.map_err(io::Error::other)?);
        Ok(format!(
            "Authorization: DPoP {token}\r\nDPoP: {signed}.{signature}\r\n"
        ))
    }
}

/// Returns the digest of a text, as in thumbprints and proofs.
fn digest(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
