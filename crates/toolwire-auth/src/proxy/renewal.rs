//! Renews the identity provider's tokens of a grant.

use std::time::Duration;

use tokio::time::sleep;
use toolwire::store::StoreError;

use crate::documents::Secret;
use crate::proxy::grants::{GrantStore, now};
use crate::proxy::records::{GrantRecord, RecordDigest, Renewal, UpstreamTokens};
use crate::proxy::sealed_store::{SealedStore, random};
use crate::proxy::upstream::UpstreamUser;
use crate::proxy::upstream_client::{Renewed, UpstreamClient, UpstreamError};

/// The remaining lifetime at which a token of the identity provider is renewed, in seconds.
const RENEWAL_MARGIN: u64 = 5 * 60;

/// The time after which another node may renew a grant, in seconds. A request to the identity provider takes less.
const RENEWAL_TIME: u64 = 30;

/// The time between two looks at a grant that another node renews.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// The number of looks at a grant that other nodes renew: somewhat longer than the time of one renewal.
const MAX_LOOKS: usize = 140;

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
    /// Returns the grant with a valid token of the identity provider, renewed if necessary. Of all nodes, one renews it,
    /// and the others wait for the result.
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
        // Requests of this node wait here, without load for the store.
        let [first, ..] = key;
        let lock = self
            .renewal_locks
            .get(usize::from(*first) % self.renewal_locks.len());
        let _guard = match lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let id = random()?;
        for _ in 0..MAX_LOOKS {
            let grant = self.begin_renewal(store, key, id).await?;
            let Some(refresh_token) = refresh_token_if_due(&grant.upstream) else {
                return Ok(grant);
            };
            if is_renewed_by(&grant, &id) {
                return self
                    .renew(store, upstream_client, key, &grant, refresh_token, &id)
                    .await;
            }
            sleep(LOOK_INTERVAL).await;
        }
        Err(GrantError::Unavailable(
            "another node renews the token, and has not finished".into(),
        ))
    }

    /// Notes in the grant that this node renews it, unless another one does, or it is not due any more.
    async fn begin_renewal(
        &self,
        store: &SealedStore,
        key: &RecordDigest,
        id: RecordDigest,
    ) -> Result<GrantRecord, GrantError> {
        let begun = self.change(store, key, |grant| {
            let in_progress = grant.renewal.as_ref();
            let is_free = in_progress.is_none_or(|renewal| renewal.until <= now());
            let begins = is_free && refresh_token_if_due(&grant.upstream).is_some();
            if begins {
                let until = now().saturating_add(RENEWAL_TIME);
                grant.renewal = Some(Renewal { id, until });
            }
            begins
        });
        begun.await?.ok_or(GrantError::Gone)
    }

    async fn renew(
        &self,
        store: &SealedStore,
        upstream_client: &UpstreamClient,
        key: &RecordDigest,
        grant: &GrantRecord,
        refresh_token: &Secret,
        id: &RecordDigest,
    ) -> Result<GrantRecord, GrantError> {
        match upstream_client.renew(refresh_token).await {
            Ok(renewed) => self.store_renewed(store, key, &renewed).await,
            Err(UpstreamError::Rejected) => self.handle_rejection(store, key, grant, id).await,
            Err(error) => {
                // Others need not wait until the time of this renewal has passed.
                let end = self.change(store, key, |grant| {
                    let is_own = is_renewed_by(grant, id);
                    if is_own {
                        grant.renewal = None;
                    }
                    is_own
                });
                end.await?;
                Err(GrantError::Unavailable(Box::new(error)))
            }
        }
    }

    async fn store_renewed(
        &self,
        store: &SealedStore,
        key: &RecordDigest,
        renewed: &Renewed,
    ) -> Result<GrantRecord, GrantError> {
        let change = self.change(store, key, |grant| {
            grant.upstream = renewed.tokens.clone();
            grant.renewal = None;
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

    /// Handles a refresh token that the provider rejected. If this renewal took too long, and another node has begun one
    /// or finished it, the rejection means nothing. Otherwise, the user revoked the token, and the grant is removed.
    async fn handle_rejection(
        &self,
        store: &SealedStore,
        key: &RecordDigest,
        previous: &GrantRecord,
        id: &RecordDigest,
    ) -> Result<GrantRecord, GrantError> {
        let current = store
            .get::<GrantRecord>(key)
            .await?
            .ok_or(GrantError::Gone)?;
        if current.upstream != previous.upstream {
            return Ok(current);
        }
        if !is_renewed_by(&current, id) {
            return Err(GrantError::Unavailable(
                "another node renews the token".into(),
            ));
        }
        self.revoke(store, key).await?;
        Err(GrantError::Gone)
    }
}

/// Returns `true` if the renewal with this id is in progress.
fn is_renewed_by(grant: &GrantRecord, id: &RecordDigest) -> bool {
    let renewal = grant.renewal.as_ref();
    renewal.is_some_and(|renewal| renewal.id == *id)
}

/// Returns `true` if the access token of the identity provider expires soon and can be renewed.
pub(super) fn is_due(grant: &GrantRecord) -> bool {
    refresh_token_if_due(&grant.upstream).is_some()
}

/// Returns the refresh token for a renewal, if the access token expires soon.
fn refresh_token_if_due(upstream: &UpstreamTokens) -> Option<&Secret> {
    let soon = now().saturating_add(RENEWAL_MARGIN);
    let expires_soon = upstream.expires_at.is_some_and(|expiry| expiry <= soon);
    upstream.refresh_token.as_ref().filter(|_| expires_soon)
}
