//! Typed records in a token store, keyed by issuer and resource.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::client::AuthError;
use crate::client::signing::SigningKey;
use crate::client::store::deadline::WithDeadline;
use crate::client::store::{TokenStore, TokenStoreError, TokenStoreLock};
use crate::documents::Secret;
use crate::rules::challenge::TokenScheme;

/// The name of the list of MCP servers.
const RESOURCES: &str = "resources";

/// The name of the key that tokens are bound to.
const PROOF_KEY: &str = "key for proofs";

/// A client registration at an authorization server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredClient {
    pub(crate) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auth_method: Option<String>,
    /// The expiry of the secret, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    /// The registered redirect URIs.
    #[serde(default)]
    pub(crate) redirect_uris: Vec<String>,
}

/// A token for one MCP server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredToken {
    pub(crate) access_token: Secret,
    /// `Bearer` or `DPoP`.
    pub(crate) scheme: String,
    /// The expiry, in seconds since the Unix epoch, so that it does not depend on the time of reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    /// The time of the next renewal, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renew_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<Secret>,
    /// The granted scopes, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    /// The requested scopes, separated by spaces. A step-up adds to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requested: Option<String>,
    /// The user's name, if the authorization server stated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// The client that received the token. Only this client can refresh it.
    pub(crate) client: StoredClient,
    /// The number of tokens that this one replaces.
    #[serde(default)]
    pub(crate) generation: u64,
}

/// Typed access to a token store.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    tokens: Arc<dyn TokenStore>,
    registrations: Arc<dyn TokenStore>,
}

impl StoredToken {
    /// Returns `true` if the token has expired at `now`, in seconds since the Unix epoch.
    pub(crate) fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|expiry| expiry <= now)
    }

    /// Returns `true` if the token should be renewed.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.renew_at.is_some_and(|due| due <= now)
    }

    /// Returns `true` if the token is unusable without the DPoP key.
    pub(crate) fn is_bound(&self) -> bool {
        TokenScheme::from_name(&self.scheme) == Some(TokenScheme::Dpop)
    }
}

impl Records {
    pub(crate) fn new(tokens: Arc<dyn TokenStore>, registrations: Arc<dyn TokenStore>) -> Self {
        Self {
            tokens: Arc::new(WithDeadline(tokens)),
            registrations: Arc::new(WithDeadline(registrations)),
        }
    }

    /// Creates records of empty stores.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Self {
        let store: Arc<dyn TokenStore> = Arc::new(crate::client::MemoryTokenStore::new());
        Self::new(Arc::clone(&store), store)
    }

    /// Returns the token that was stored last for a resource, and its issuer.
    pub(crate) async fn last_token(
        &self,
        resource: &str,
    ) -> Result<Option<(String, StoredToken)>, TokenStoreError> {
        let issuer: Option<String> = read(&*self.tokens, &issuer_name(resource)).await?;
        let Some(issuer) = issuer else {
            return Ok(None);
        };
        let token = self.token(&issuer, resource).await?;
        Ok(token.map(|token| (issuer, token)))
    }

    /// Returns the client registration at an authorization server.
    pub(crate) async fn client(
        &self,
        issuer: &str,
    ) -> Result<Option<StoredClient>, TokenStoreError> {
        read(&*self.registrations, &client_name(issuer)).await
    }

    /// Stores the client registration at an authorization server.
    pub(crate) async fn store_client(
        &self,
        issuer: &str,
        client: &StoredClient,
    ) -> Result<(), TokenStoreError> {
        write(&*self.registrations, &client_name(issuer), client).await
    }

    pub(crate) async fn remove_client(&self, issuer: &str) -> Result<(), TokenStoreError> {
        self.registrations.remove(&client_name(issuer)).await
    }

    /// Binds credentials without an issuer to the first issuer that they are used with. Returns `false` if they are
    /// bound to another issuer.
    pub(crate) async fn bind(
        &self,
        client_id: &str,
        resource: &str,
        issuer: &str,
    ) -> Result<bool, TokenStoreError> {
        let name = format!("issuer of client {client_id} for {resource}");
        match read::<String>(&*self.registrations, &name).await? {
            Some(bound) => Ok(bound == issuer),
            None => write(&*self.registrations, &name, &issuer)
                .await
                .map(|()| true),
        }
    }

    /// Returns the token of an issuer for a resource.
    pub(crate) async fn token(
        &self,
        issuer: &str,
        resource: &str,
    ) -> Result<Option<StoredToken>, TokenStoreError> {
        read(&*self.tokens, &token_name(issuer, resource)).await
    }

    /// Stores a token, and its issuer as the last one of the resource.
    pub(crate) async fn store_token(
        &self,
        issuer: &str,
        resource: &str,
        token: &StoredToken,
    ) -> Result<(), TokenStoreError> {
        write(&*self.tokens, &token_name(issuer, resource), token).await?;
        write(&*self.tokens, &issuer_name(resource), &issuer).await?;
        self.list_resource(resource, true).await
    }

    pub(crate) async fn remove_token(
        &self,
        issuer: &str,
        resource: &str,
    ) -> Result<(), TokenStoreError> {
        self.tokens.remove(&token_name(issuer, resource)).await?;
        self.tokens.remove(&issuer_name(resource)).await?;
        self.list_resource(resource, false).await
    }

    /// Returns the MCP servers with stored tokens.
    pub(crate) async fn resources(&self) -> Result<Vec<String>, TokenStoreError> {
        let list: Option<Vec<String>> = read(&*self.tokens, RESOURCES).await?;
        Ok(list.unwrap_or_default())
    }

    /// Adds an MCP server to the list of servers, or removes it.
    async fn list_resource(&self, resource: &str, is_listed: bool) -> Result<(), TokenStoreError> {
        let _lock = self.tokens.lock(RESOURCES).await?;
        let mut list = self.resources().await?;
        if list.iter().any(|listed| listed == resource) == is_listed {
            return Ok(());
        }
        if is_listed {
            list.push(resource.to_owned());
        } else {
            list.retain(|listed| listed != resource);
        }
        write(&*self.tokens, RESOURCES, &list).await
    }

    /// Returns the key that tokens are bound to. Creates it if it is absent.
    pub(crate) async fn proof_key(&self) -> Result<SigningKey, AuthError> {
        let _lock = self.tokens.lock(PROOF_KEY).await.map_err(AuthError::of)?;
        let stored: Option<Secret> = read(&*self.tokens, PROOF_KEY)
            .await
            .map_err(AuthError::of)?;
        let stored = stored.and_then(|stored| STANDARD.decode(stored.expose()).ok());
        if let Some(key) = stored.and_then(|der| SigningKey::from_pkcs8(&der).ok()) {
            return Ok(key);
        }
        let der = SigningKey::generate()?;
        let text = Secret::new(STANDARD.encode(&der));
        let written = write(&*self.tokens, PROOF_KEY, &text).await;
        written.map_err(AuthError::of)?;
        SigningKey::from_pkcs8(&der)
    }

    /// Locks a token, so that one process at a time renews it.
    pub(crate) async fn lock(
        &self,
        issuer: &str,
        resource: &str,
    ) -> Result<TokenStoreLock, TokenStoreError> {
        self.tokens.lock(&token_name(issuer, resource)).await
    }
}

async fn read<T: DeserializeOwned>(
    store: &dyn TokenStore,
    name: &str,
) -> Result<Option<T>, TokenStoreError> {
    let Some(value) = store.get(name).await? else {
        return Ok(None);
    };
    let record = serde_json::from_str(value.expose());
    // A record of an older version or an edited record counts as absent. Its text is not logged, because it is a secret.
    if record.is_err() {
        tracing::warn!(
            name,
            "a record of the token store is invalid and is ignored"
        );
    }
    Ok(record.ok())
}

async fn write<T: Serialize>(
    store: &dyn TokenStore,
    name: &str,
    value: &T,
) -> Result<(), TokenStoreError> {
    let value = serde_json::to_string(value).map_err(|error| {
        TokenStoreError::new("cannot serialize a token record").with_source(error)
    })?;
    store.put(name, &value.into()).await
}

// Credentials of one issuer are never sent to another, so each name includes the issuer.

fn issuer_name(resource: &str) -> String {
    format!("issuer of {resource}")
}

fn client_name(issuer: &str) -> String {
    format!("client at {issuer}")
}

fn token_name(issuer: &str, resource: &str) -> String {
    format!("token of {issuer} for {resource}")
}

#[cfg(test)]
mod tests;
