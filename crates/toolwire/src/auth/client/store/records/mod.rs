//! What is kept, by whom it came from and whom it is for.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolwire_proto::auth::challenge::TokenScheme;
use toolwire_types::auth::Secret;

use crate::auth::client::AuthError;
use crate::auth::client::signing::SigningKey;
use crate::auth::client::store::{TokenStore, TokenStoreError, TokenStoreLock};

/// The name of the list of servers.
const RESOURCES: &str = "resources";

/// The name of the key that tokens are bound to.
const PROOF_KEY: &str = "key for proofs";

/// A client that an authorization server knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredClient {
    pub(crate) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auth_method: Option<String>,
    /// When the secret ends, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    /// What it was registered with.
    #[serde(default)]
    pub(crate) redirect_uris: Vec<String>,
}

/// A token for one server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredToken {
    pub(crate) access_token: Secret,
    /// `Bearer` or `DPoP`.
    pub(crate) scheme: String,
    /// In seconds since the Unix epoch: how long it lasts does not depend on when it is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<u64>,
    /// When a new one is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renew_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<Secret>,
    /// What was granted, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    /// What was asked for, separated by spaces; a step up adds to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requested: Option<String>,
    /// Who logged in, as far as the authorization server said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// The client that it was given to, who alone can refresh it.
    pub(crate) client: StoredClient,
    /// Counts the tokens that took the place of an older one.
    #[serde(default)]
    pub(crate) generation: u64,
}

/// The typed face of a store.
#[derive(Debug, Clone)]
pub(crate) struct Records(pub(crate) Arc<dyn TokenStore>);

impl StoredToken {
    /// Whether it has ended at a time in seconds since the Unix epoch.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    /// Whether a new one should be asked for.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.renew_at.is_some_and(|due| due <= now)
    }

    /// Whether it is worth nothing without the key for proofs.
    pub(crate) fn is_bound(&self) -> bool {
        TokenScheme::from_name(&self.scheme) == Some(TokenScheme::Dpop)
    }
}

impl Records {
    /// The token that was kept last for a resource, and its issuer.
    pub(crate) async fn last_token(
        &self,
        resource: &str,
    ) -> Result<Option<(String, StoredToken)>, TokenStoreError> {
        let issuer: Option<String> = self.read(&issuer_name(resource)).await?;
        let Some(issuer) = issuer else {
            return Ok(None);
        };
        let token = self.token(&issuer, resource).await?;
        Ok(token.map(|token| (issuer, token)))
    }

    /// How an authorization server knows this client.
    pub(crate) async fn client(
        &self,
        issuer: &str,
    ) -> Result<Option<StoredClient>, TokenStoreError> {
        self.read(&client_name(issuer)).await
    }

    pub(crate) async fn keep_client(
        &self,
        issuer: &str,
        client: &StoredClient,
    ) -> Result<(), TokenStoreError> {
        self.write(&client_name(issuer), client).await
    }

    pub(crate) async fn forget_client(&self, issuer: &str) -> Result<(), TokenStoreError> {
        self.0.remove(&client_name(issuer)).await
    }

    /// Binds credentials that were given without an issuer to the first that they are used with; false when that was
    /// another one.
    pub(crate) async fn bind(
        &self,
        client_id: &str,
        resource: &str,
        issuer: &str,
    ) -> Result<bool, TokenStoreError> {
        let name = format!("issuer of client {client_id} for {resource}");
        match self.read::<String>(&name).await? {
            Some(bound) => Ok(bound == issuer),
            None => self.write(&name, &issuer).await.map(|()| true),
        }
    }

    pub(crate) async fn token(
        &self,
        issuer: &str,
        resource: &str,
    ) -> Result<Option<StoredToken>, TokenStoreError> {
        self.read(&token_name(issuer, resource)).await
    }

    pub(crate) async fn keep_token(
        &self,
        issuer: &str,
        resource: &str,
        token: &StoredToken,
    ) -> Result<(), TokenStoreError> {
        self.write(&token_name(issuer, resource), token).await?;
        self.write(&issuer_name(resource), &issuer).await?;
        self.list_resource(resource, true).await
    }

    pub(crate) async fn forget_token(
        &self,
        issuer: &str,
        resource: &str,
    ) -> Result<(), TokenStoreError> {
        self.0.remove(&token_name(issuer, resource)).await?;
        self.0.remove(&issuer_name(resource)).await?;
        self.list_resource(resource, false).await
    }

    /// The servers that tokens were kept for.
    pub(crate) async fn resources(&self) -> Result<Vec<String>, TokenStoreError> {
        let list: Option<Vec<String>> = self.read(RESOURCES).await?;
        Ok(list.unwrap_or_default())
    }

    /// Adds a server to that list, or takes it out.
    async fn list_resource(&self, resource: &str, is_there: bool) -> Result<(), TokenStoreError> {
        let _alone = self.0.lock(RESOURCES).await?;
        let mut list = self.resources().await?;
        if list.iter().any(|known| known == resource) == is_there {
            return Ok(());
        }
        match is_there {
            true => list.push(resource.to_owned()),
            false => list.retain(|known| known != resource),
        }
        self.write(RESOURCES, &list).await
    }

    /// The key that tokens are bound to; made when there is none.
    pub(crate) async fn proof_key(&self) -> Result<SigningKey, AuthError> {
        let _alone = self.0.lock(PROOF_KEY).await.map_err(AuthError::of)?;
        let kept: Option<Secret> = self.read(PROOF_KEY).await.map_err(AuthError::of)?;
        let kept = kept.and_then(|kept| STANDARD.decode(kept.expose()).ok());
        if let Some(key) = kept.and_then(|der| SigningKey::from_pkcs8(&der).ok()) {
            return Ok(key);
        }
        let der = SigningKey::generate()?;
        let text = Secret::new(STANDARD.encode(&der));
        let written = self.write(PROOF_KEY, &text).await;
        written.map_err(AuthError::of)?;
        SigningKey::from_pkcs8(&der)
    }

    /// One process at a time gets a new token.
    pub(crate) async fn lock(
        &self,
        issuer: &str,
        resource: &str,
    ) -> Result<TokenStoreLock, TokenStoreError> {
        self.0.lock(&token_name(issuer, resource)).await
    }

    async fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, TokenStoreError> {
        let Some(value) = self.0.get(name).await? else {
            return Ok(None);
        };
        let record = serde_json::from_str(value.expose());
        // What an older version wrote, or somebody changed, counts as not there. Its text is not shown: it is a secret.
        if record.is_err() {
            tracing::warn!(name, "a record of the token store cannot be read");
        }
        Ok(record.ok())
    }

    async fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), TokenStoreError> {
        let value = serde_json::to_string(value).map_err(|error| {
            TokenStoreError::new("a record cannot be written").with_source(error)
        })?;
        self.0.put(name, &value.into()).await
    }
}

// Credentials of one issuer are never given to another, so the issuer is part of every name.

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
