//! A client that was registered with an authorization server beforehand.

use std::sync::Arc;

use toolwire_types::auth::Secret;

use crate::auth::client::signing::SigningKey;

/// A client's credentials, from a registration by hand.
///
/// ```
/// use toolwire::auth::client::RegisteredClient;
///
/// let client = RegisteredClient::new("my-client").with_secret("…").at("https://auth.example.com");
/// ```
#[derive(Debug, Clone)]
pub struct RegisteredClient {
    pub(super) issuer: Option<String>,
    pub(super) client_id: String,
    pub(super) secret: Option<Secret>,
    pub(super) key: Option<Arc<SigningKey>>,
}

impl RegisteredClient {
    /// A client that proves nothing, as programs on the machines of users.
    pub fn new(client_id: impl Into<String>) -> Self {
        Self {
            issuer: None,
            client_id: client_id.into(),
            secret: None,
            key: None,
        }
    }

    /// The client has a password.
    #[must_use]
    pub fn with_secret(mut self, secret: impl Into<Secret>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// The client has a key, whose public half the authorization server knows (`private_key_jwt`).
    #[must_use]
    pub fn with_key(mut self, key: SigningKey) -> Self {
        self.key = Some(Arc::new(key));
        self
    }

    /// The authorization server that knows it. Without this it is the first one that a server names, and no other after
    /// that.
    #[must_use]
    pub fn at(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

impl From<&str> for RegisteredClient {
    fn from(client_id: &str) -> Self {
        Self::new(client_id)
    }
}
