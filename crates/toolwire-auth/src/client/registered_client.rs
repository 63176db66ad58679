//! A client that was registered with an authorization server in advance.

use std::sync::Arc;

use crate::client::signing::SigningKey;
use crate::documents::Secret;

/// The credentials of a manually registered client.
///
/// ```
/// use toolwire_auth::client::RegisteredClient;
///
/// let client = RegisteredClient::new("my-client").with_secret("…").with_issuer("https://auth.example.com");
/// ```
#[derive(Debug, Clone)]
pub struct RegisteredClient {
    pub(super) issuer: Option<String>,
    pub(super) client_id: String,
    pub(super) secret: Option<Secret>,
    pub(super) key: Option<Arc<SigningKey>>,
}

impl RegisteredClient {
    /// Creates a public client, such as a program on a user's machine.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            issuer: None,
            client_id: client_id.into(),
            secret: None,
            key: None,
        }
    }

    /// Sets the client secret.
    #[must_use]
    pub fn with_secret(mut self, secret: impl Into<Secret>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// Sets the client's private key. The authorization server knows the public key (`private_key_jwt`).
    #[must_use]
    pub fn with_key(mut self, key: SigningKey) -> Self {
        self.key = Some(Arc::new(key));
        self
    }

    /// Sets the issuer of the authorization server that knows the client. By default, the client is bound to the first
    /// authorization server that an MCP server names.
    #[must_use]
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

impl From<&str> for RegisteredClient {
    fn from(client_id: &str) -> Self {
        Self::new(client_id)
    }
}
