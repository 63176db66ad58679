//! Runs the user filter at a refresh. A user who is no longer admitted loses access.

use serde_json::{Map, Value};

use crate::proxy::ProxyState;
use crate::proxy::records::{GrantRecord, RecordDigest};
use crate::proxy::renewal::GrantError;
use crate::proxy::upstream::UpstreamUser;
use crate::proxy::upstream_client::UpstreamError;

impl ProxyState {
    /// Checks with the user filter whether the user of a grant is still admitted, and ends the grant otherwise.
    ///
    /// The filter gets the provider's current data about the user. A provider that identifies users only by ID tokens
    /// has no such data, so the filter gets the claims of the last ID token: from the login or a renewal.
    pub(super) async fn readmit(
        &self,
        key: &RecordDigest,
        grant: GrantRecord,
    ) -> Result<(), GrantError> {
        if self.user_filter.is_none() {
            return Ok(());
        }
        let token = &grant.upstream.access_token;
        let fetched_user = match self.upstream_client.current_user(token).await {
            Ok(fetched_user) => fetched_user,
            Err(UpstreamError::Rejected) => {
                return self.end_grant(key, "its token was revoked").await;
            }
            Err(error) => return Err(GrantError::Unavailable(Box::new(error))),
        };
        let user = fetched_user.clone().unwrap_or_else(|| UpstreamUser {
            subject: grant.user.subject.clone(),
            claims: grant
                .id_token_claims
                .unwrap_or_else(|| grant.user.claims.clone()),
        });
        if user.subject != grant.user.subject || !self.admits(&user) {
            return self.end_grant(key, "its user is no longer admitted").await;
        }
        let Some(new_user) = fetched_user.map(UpstreamUser::with_retained_claims) else {
            return Ok(());
        };
        let update = self.grants.change(&self.store, key, |grant| {
            let is_changed = grant.user != new_user;
            grant.user = new_user.clone();
            is_changed
        });
        update.await?.map(|_| ()).ok_or(GrantError::Gone)
    }

    async fn end_grant(&self, key: &RecordDigest, reason: &str) -> Result<(), GrantError> {
        tracing::info!(reason, "a grant ends");
        self.grants.revoke(&self.store, key).await?;
        Err(GrantError::Gone)
    }

    /// Returns the claims of a user that have to be stored so that the filter can run again.
    pub(super) fn claims_for_filter(&self, user: &UpstreamUser) -> Option<Map<String, Value>> {
        let is_needed =
            self.user_filter.is_some() && self.upstream_client.identifies_users_by_id_token();
        is_needed.then(|| user.claims.clone())
    }
}
