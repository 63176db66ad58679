//! The filter of users at a refresh: a user who is no longer admitted loses access.

use serde_json::{Map, Value};

use crate::auth::proxy::Core;
use crate::auth::proxy::leg::LegError;
use crate::auth::proxy::records::{Grant, Key};
use crate::auth::proxy::renewal::Stale;
use crate::auth::proxy::upstream::UpstreamUser;

impl Core {
    /// Checks with the filter of users whether the user of a grant is still admitted, and ends the grant if not.
    ///
    /// The filter gets what the provider says about the user now. A provider that identifies users by ID tokens alone
    /// cannot be asked, so there it gets the claims of the last one: of the login, or of a renewal.
    pub(super) async fn readmit(&self, key: &Key, grant: Grant) -> Result<(), Stale> {
        if self.admission.is_none() {
            return Ok(());
        }
        let token = &grant.upstream.access_token;
        let asked = match self.leg.current_user(token).await {
            Ok(asked) => asked,
            Err(LegError::Refused) => return self.end(key, "its token was revoked").await,
            Err(error) => return Err(Stale::Unavailable(Box::new(error))),
        };
        let known = asked.clone().unwrap_or_else(|| UpstreamUser {
            subject: grant.user.subject.clone(),
            claims: grant
                .id_token_claims
                .unwrap_or_else(|| grant.user.claims.clone()),
        });
        if known.subject != grant.user.subject || !self.admits(&known) {
            return self.end(key, "its user is no longer admitted").await;
        }
        let Some(asked) = asked.map(UpstreamUser::kept) else {
            return Ok(());
        };
        let update = self.grants.change(&self.vault, key, |grant| {
            let is_changed = grant.user != asked;
            grant.user = asked.clone();
            is_changed
        });
        update.await?.map(|_| ()).ok_or(Stale::Gone)
    }

    async fn end(&self, key: &Key, reason: &str) -> Result<(), Stale> {
        tracing::info!(reason, "a grant ends");
        self.grants.revoke(&self.vault, key).await?;
        Err(Stale::Gone)
    }

    /// The claims of a user that have to be stored so that the filter can be asked again.
    pub(super) fn claims_for_filter(&self, user: &UpstreamUser) -> Option<Map<String, Value>> {
        let is_needed = self.admission.is_some() && self.leg.knows_users_by_id_token();
        is_needed.then(|| user.claims.clone())
    }
}
