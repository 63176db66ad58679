//! Renews a token: takes over the token of another process, refreshes it, or starts a new authorization.

use toolwire_proto::scopes::ScopeSet;

use crate::client::AuthError;
use crate::client::config::GrantKind;
use crate::client::discovery::{DiscoveredServer, Discovery};
use crate::client::grants::GrantClient;
use crate::client::store::{StoredToken, TokenStoreLock};
use crate::client::token_source::{RejectedRequest, RenewedToken, TokenSource};
use crate::clock::since_epoch;
use crate::rules::attempts::NextStep;
use crate::rules::scopes::ScopeSources;

impl TokenSource {
    /// Gets a token that replaces the rejected one, with the first method that succeeds.
    pub(crate) async fn renew_token(
        &self,
        step: &NextStep,
        rejected: &RejectedRequest,
    ) -> Result<RenewedToken, AuthError> {
        // A refresh uses the server that issued the token. Discovery runs only if the refresh fails.
        let known = self.state().found.clone();
        if *step == NextStep::Refresh {
            let found = match known {
                Some(found) => found,
                None => self.search(rejected).discover(&rejected.challenges).await?,
            };
            if let Some(renewed) = self.refresh(&found, rejected).await? {
                return Ok(renewed);
            }
        }
        if !rejected.may_ask_user && !self.config.grant.is_unattended() {
            return Err(AuthError::login_needed(&self.resource()));
        }
        if matches!(self.config.grant, GrantKind::Stored) {
            self.reload_stored(step, rejected).await?;
        }
        let found = self.search(rejected).discover(&rejected.challenges).await?;
        self.authorize(step, &found, rejected).await
    }

    async fn refresh(
        &self,
        found: &DiscoveredServer,
        rejected: &RejectedRequest,
    ) -> Result<Option<RenewedToken>, AuthError> {
        let resource = self.resource();
        let _lock = self.lock(found, &resource).await?;
        let stored = self.stored(found, &resource).await?;
        if let Some(other) = is_newer_token(stored.as_ref(), rejected) {
            return self.take_over(other, found).map(Some);
        }
        let grants = self.grants(found, rejected, &resource, stored.as_ref());
        let refreshed = match &stored {
            Some(stored) => grants.refresh(stored).await?,
            None => None,
        };
        match (refreshed, stored) {
            (Some(token), _) => self.keep(token, found, &resource).await.map(Some),
            (None, Some(mut stored)) => {
                // The refresh token is no longer valid. The access token may still be valid.
                stored.refresh_token = None;
                self.keep(stored, found, &resource).await?;
                Ok(None)
            }
            (None, None) => Ok(None),
        }
    }

    async fn authorize(
        &self,
        step: &NextStep,
        found: &DiscoveredServer,
        rejected: &RejectedRequest,
    ) -> Result<RenewedToken, AuthError> {
        let resource = self.resource();
        let _lock = self.lock(found, &resource).await?;
        let stored = self.stored(found, &resource).await?;
        if let Some(other) = is_newer_token(stored.as_ref(), rejected) {
            return self.take_over(other, found);
        }
        let grants = self.grants(found, rejected, &resource, stored.as_ref());
        // An expired token with an unused refresh token avoids a user login.
        if let Some(other) = &stored
            && other.generation != rejected.generation
            && let Some(token) = grants.refresh(other).await?
        {
            return self.keep(token, found, &resource).await;
        }
        let scopes = self.scopes(step, rejected, found, stored.as_ref())?;
        let token = grants.authorize(scopes.as_ref()).await?;
        self.keep(token, found, &resource).await
    }

    /// Locks the stored token, so that one process at a time renews it.
    async fn lock(
        &self,
        found: &DiscoveredServer,
        resource: &str,
    ) -> Result<TokenStoreLock, AuthError> {
        let locked = self.records.lock(&found.server.issuer, resource).await;
        locked.map_err(AuthError::of)
    }

    /// Returns the newest token of the authorization server. The token in memory is newer if the store could not be
    /// written.
    async fn stored(
        &self,
        found: &DiscoveredServer,
        resource: &str,
    ) -> Result<Option<StoredToken>, AuthError> {
        let issuer = &found.server.issuer;
        let stored = self.records.token(issuer, resource).await;
        let stored = stored.map_err(AuthError::of)?;
        let state = self.state();
        let came_from = state.found.as_ref().map(|known| &known.server.issuer);
        let held = state.held.as_ref().filter(|_| came_from == Some(issuer));
        let held = held.map(|held| &held.token);
        let known = stored.as_ref().map_or(0, |stored| stored.generation);
        Ok(match held.filter(|held| held.generation > known) {
            Some(held) => Some(held.clone()),
            None => stored,
        })
    }

    fn grants<'a>(
        &'a self,
        found: &'a DiscoveredServer,
        rejected: &RejectedRequest,
        resource: &'a str,
        before: Option<&StoredToken>,
    ) -> GrantClient<'a> {
        let generation = before.map_or(0, |before| before.generation);
        GrantClient {
            config: &self.config,
            records: &self.records,
            fetcher: &self.fetcher,
            proofs: &self.proofs,
            found,
            search: self.search(rejected),
            resource,
            generation: generation.max(rejected.generation),
        }
    }

    fn take_over(
        &self,
        other: &StoredToken,
        found: &DiscoveredServer,
    ) -> Result<RenewedToken, AuthError> {
        let held = self.hold(other.clone(), Some(found.clone()))?;
        Ok(RenewedToken::taken_over(held))
    }

    async fn keep(
        &self,
        token: StoredToken,
        found: &DiscoveredServer,
        resource: &str,
    ) -> Result<RenewedToken, AuthError> {
        let held = self.hold(token, Some(found.clone()))?;
        let issuer = &found.server.issuer;
        let storing = self.records.keep_token(issuer, resource, &held.token);
        let not_kept = storing.await.err().map(AuthError::of);
        // The token stays usable as long as this process runs.
        if let Some(error) = &not_kept {
            tracing::warn!(%error, "the access token cannot be stored");
        }
        Ok(RenewedToken {
            held,
            was_taken_over: false,
            not_kept,
        })
    }

    /// Checks that another process has stored a new token. Otherwise, it returns an error that requires a login.
    async fn reload_stored(
        &self,
        step: &NextStep,
        rejected: &RejectedRequest,
    ) -> Result<(), AuthError> {
        let resource = self.resource();
        let last = self.records.last_token(&resource).await;
        match last.map_err(AuthError::of)? {
            Some((_, token)) if token.generation != rejected.generation => Ok(()),
            _ => Err(match step {
                NextStep::StepUp(scopes) => AuthError::more_needed(&resource, &scopes.to_string()),
                _ => AuthError::login_needed(&resource),
            }),
        }
    }

    pub(in crate::client) fn search(&self, rejected: &RejectedRequest) -> Discovery<'_> {
        Discovery {
            fetcher: &self.fetcher,
            endpoint: &self.endpoint,
            version: rejected.version,
            allow_origin_server: rejected.allow_origin_server,
            needs_redirect: self.config.grant.needs_redirect(),
            issuer_exceptions: &self.config.issuer_exceptions,
        }
    }

    fn scopes(
        &self,
        step: &NextStep,
        rejected: &RejectedRequest,
        found: &DiscoveredServer,
        before: Option<&StoredToken>,
    ) -> Result<Option<ScopeSet>, AuthError> {
        let requested = before.and_then(|before| before.requested.as_deref());
        let requested = requested.and_then(|text| ScopeSet::parse(text).ok());
        let wanted = match (&self.config.scopes, requested) {
            (Some(own), Some(requested)) => Some(requested.union(own)),
            (own, requested) => requested.or_else(|| own.clone()),
        };
        let challenged = match step {
            NextStep::StepUp(scopes) => Some(scopes.to_string()),
            _ => rejected.scope.clone(),
        };
        let sources = ScopeSources {
            challenged: challenged.as_deref(),
            resource_supports: found.scopes_supported.as_deref(),
            server_supports: found.server.scopes_supported.as_deref(),
            wants_refresh_token: self.config.grant.needs_redirect(),
            requested_before: wanted.as_ref(),
        };
        sources.select().map_err(AuthError::of)
    }
}

/// Returns `true` if a token is not the rejected one and has not expired, so that another process renewed it.
fn is_newer_token<'a>(
    stored: Option<&'a StoredToken>,
    rejected: &RejectedRequest,
) -> Option<&'a StoredToken> {
    let now = since_epoch().as_secs();
    stored.filter(|token| token.generation != rejected.generation && !token.is_over(now))
}
