//! Renews the identity provider's tokens of a grant.

use toolwire::store::StoreError;

use crate::documents::Secret;
use crate::proxy::grants::{GrantStore, now};
use crate::proxy::records::{GrantRecord, RecordDigest, UpstreamTokens};
use crate::proxy::sealed_store::SealedStore;
use crate::proxy::upstream::UpstreamUser;
use crate::proxy::upstream_client::{Renewed, UpstreamClient, UpstreamError};

/// The remaining lifetime at which a token of the identity provider is renewed, in seconds.
const RENEWAL_MARGIN: u64 = 5 * 60;

/// The reason why no valid token of the identity provider is available.
#[derive(Debug)]
pub(super) enum GrantError {
    /// The grant does not exist any more.
    Gone,
    /// The provider or the store is temporarily unavailable.
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for GrantError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

impl GrantStore {
    /// Returns the grant with a valid token of the identity provider, renewed if necessary.
    ///
    /// Do not drop the future once it has started: the provider may revoke the old tokens when it issues new ones.
    pub(super) async fn renewed_grant(
        &self,
        store: &SealedStore,
        upstream_client: &UpstreamClient,
        key: &RecordDigest,
    ) -> Result<GrantRecord, GrantError> {
        let grant = store
            .get::<GrantRecord>(key)
            .await?
            .ok_or(GrantError::Gone)?;
        if refresh_token_if_due(&grant.upstream).is_none() {
            return Ok(grant);
        }
        let [first, ..] = key;
        let lock = self
            .renewal_locks
            .get(usize::from(*first) % self.renewal_locks.len());
        let _guard = match lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        // Another request may have renewed the grant first.
        let grant = store
            .get::<GrantRecord>(key)
            .await?
            .ok_or(GrantError::Gone)?;
        let Some(refresh_token) = refresh_token_if_due(&grant.upstream) else {
            return Ok(grant);
        };
        let renewed = match upstream_client.renew(refresh_token).await {
            Ok(renewed) => renewed,
            Err(UpstreamError::Rejected) => {
                return self.renewed_by_other_node(store, key, &grant).await;
            }
            Err(error) => return Err(GrantError::Unavailable(Box::new(error))),
        };
        self.store_renewed(store, key, &renewed).await
    }

    async fn store_renewed(
        &self,
        store: &SealedStore,
        key: &RecordDigest,
        renewed: &Renewed,
    ) -> Result<GrantRecord, GrantError> {
        let change = self.change(store, key, |grant| {
            grant.upstream = renewed.tokens.clone();
            if let Some(user) = &renewed.user
                && user.subject == grant.user.subject
            {
                grant.user = user.clone().with_retained_claims();
                if let Some(claims) = &mut grant.id_token_claims {
                    claims.clone_from(&user.claims);
                }
            }
            true
        });
        let grant = change.await?.ok_or(GrantError::Gone)?;
        // OpenID Connect Core, section 12.2: the ID token of a refresh names the same user.
        let is_other_user = |user: &UpstreamUser| user.subject != grant.user.subject;
        if renewed.user.as_ref().is_some_and(is_other_user) {
            tracing::warn!(
                "the identity provider renewed a token for another user; the grant ends"
            );
            self.revoke(store, key).await?;
            return Err(GrantError::Gone);
        }
        Ok(grant)
    }

    /// Handles a refresh token that the provider rejected. Returns the grant if another node renewed it. Otherwise, the
    /// user revoked the token, and the grant is removed.
    async fn renewed_by_other_node(
        &self,
        store: &SealedStore,
        key: &RecordDigest,
        previous: &GrantRecord,
    ) -> Result<GrantRecord, GrantError> {
        let current = store
            .get::<GrantRecord>(key)
            .await?
            .ok_or(GrantError::Gone)?;
        if current.upstream != previous.upstream {
            return Ok(current);
        }
        self.revoke(store, key).await?;
        Err(GrantError::Gone)
    }
}

/// Returns the refresh token for a renewal, if the access token expires soon.
fn refresh_token_if_due(upstream: &UpstreamTokens) -> Option<&Secret> {
    let soon = now().saturating_add(RENEWAL_MARGIN);
    let expires_soon = upstream.expires_at.is_some_and(|expiry| expiry <= soon);
    upstream.refresh_token.as_ref().filter(|_| expires_soon)
}
