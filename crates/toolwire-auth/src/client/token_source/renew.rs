//! Renews a token: uses the token that another process stored, refreshes it, or starts a new authorization.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use toolwire_proto::scopes::ScopeSet;

use crate::client::AuthError;
use crate::client::config::GrantKind;
use crate::client::discovery::{DiscoveredServer, Discovery};
use crate::client::grants::GrantClient;
use crate::client::store::{StoredToken, TokenStoreError, TokenStoreLock};
use crate::client::token_source::{RejectedRequest, RenewedToken, TokenSource};
use crate::clock::since_epoch;
use crate::rules::attempts::NextStep;
use crate::rules::scopes::ScopeSources;

/// How long a token is stored again after an error. The token that it replaces can often not be used any more, so a short
/// outage of the store would end the login of all processes that share it.
const STORE_RETRIES: Duration = Duration::from_secs(2);

/// The first pause between two attempts. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

impl TokenSource {
    /// Gets a token that replaces the rejected one, with the first method that succeeds.
    pub(crate) async fn renew_token(
        &self,
        step: &NextStep,
        rejected: &RejectedRequest,
    ) -> Result<RenewedToken, AuthError> {
        // A refresh uses the server that issued the token. Discovery runs only if the refresh fails.
        let known_server = self.state().server.clone();
        if *step == NextStep::Refresh {
            let server = match known_server {
                Some(server) => server,
                None => {
                    self.discovery(rejected)
                        .discover(&rejected.challenges)
                        .await?
                }
            };
            if let Some(renewed) = self.refresh(&server, rejected).await? {
                return Ok(renewed);
            }
        }
        if !rejected.may_ask_user && !self.config.grant.is_unattended() {
            return Err(AuthError::login_required(&self.resource()));
        }
        if matches!(self.config.grant, GrantKind::Stored) {
            self.check_stored(step, rejected).await?;
        }
        let server = self
            .discovery(rejected)
            .discover(&rejected.challenges)
            .await?;
        self.authorize(step, &server, rejected).await
    }

    async fn refresh(
        &self,
        server: &DiscoveredServer,
        rejected: &RejectedRequest,
    ) -> Result<Option<RenewedToken>, AuthError> {
        let resource = self.resource();
        let _lock = self.lock(server, &resource).await?;
        let stored = self.newest_token(server, &resource).await?;
        if let Some(other) = newer_token(stored.as_ref(), rejected) {
            return self.use_stored(other, server).map(Some);
        }
        let grants = self.grant_client(server, rejected, &resource, stored.as_ref());
        let refreshed = match &stored {
            Some(stored) => grants.refresh(stored).await?,
            None => None,
        };
        match (refreshed, stored) {
            (Some(token), _) => self.store(token, server, &resource).await.map(Some),
            (None, Some(mut stored)) => {
                // The refresh token is no longer valid. The access token may still be valid.
                stored.refresh_token = None;
                self.store(stored, server, &resource).await?;
                Ok(None)
            }
            (None, None) => Ok(None),
        }
    }

    async fn authorize(
        &self,
        step: &NextStep,
        server: &DiscoveredServer,
        rejected: &RejectedRequest,
    ) -> Result<RenewedToken, AuthError> {
        let resource = self.resource();
        let _lock = self.lock(server, &resource).await?;
        let stored = self.newest_token(server, &resource).await?;
        if let Some(other) = newer_token(stored.as_ref(), rejected) {
            return self.use_stored(other, server);
        }
        let grants = self.grant_client(server, rejected, &resource, stored.as_ref());
        // An expired token with an unused refresh token avoids a user login.
        if let Some(other) = &stored
            && other.generation != rejected.generation
            && let Some(token) = grants.refresh(other).await?
        {
            return self.store(token, server, &resource).await;
        }
        let scopes = self.scopes(step, rejected, server, stored.as_ref())?;
        let token = grants.authorize(scopes.as_ref()).await?;
        self.store(token, server, &resource).await
    }

    /// Locks the stored token, so that one process at a time renews it.
    async fn lock(
        &self,
        server: &DiscoveredServer,
        resource: &str,
    ) -> Result<TokenStoreLock, AuthError> {
        let locked = self.records.lock(&server.metadata.issuer, resource).await;
        locked.map_err(AuthError::of)
    }

    /// Returns the newest token of the authorization server. The token in memory is newer if the store could not be
    /// written.
    async fn newest_token(
        &self,
        server: &DiscoveredServer,
        resource: &str,
    ) -> Result<Option<StoredToken>, AuthError> {
        let issuer = &server.metadata.issuer;
        let stored = self.records.token(issuer, resource).await;
        let stored = stored.map_err(AuthError::of)?;
        let state = self.state();
        let active_server = state.server.as_ref();
        let issuer_of_active = active_server.map(|server| &server.metadata.issuer);
        let active = state.active.as_ref();
        let active = active.filter(|_| issuer_of_active == Some(issuer));
        let active = active.map(|active| &active.token);
        let stored_generation = stored.as_ref().map_or(0, |stored| stored.generation);
        Ok(
            match active.filter(|token| token.generation > stored_generation) {
                Some(active) => Some(active.clone()),
                None => stored,
            },
        )
    }

    fn grant_client<'a>(
        &'a self,
        server: &'a DiscoveredServer,
        rejected: &RejectedRequest,
        resource: &'a str,
        previous: Option<&StoredToken>,
    ) -> GrantClient<'a> {
        let generation = previous.map_or(0, |previous| previous.generation);
        GrantClient {
            config: &self.config,
            records: &self.records,
            fetcher: &self.fetcher,
            dpop_signer: &self.dpop_signer,
            server,
            discovery: self.discovery(rejected),
            resource,
            generation: generation.max(rejected.generation),
        }
    }

    /// Activates a token that another process stored.
    fn use_stored(
        &self,
        other: &StoredToken,
        server: &DiscoveredServer,
    ) -> Result<RenewedToken, AuthError> {
        let active = self.set_active(other.clone(), Some(server.clone()))?;
        Ok(RenewedToken::renewed_elsewhere(active))
    }

    /// Activates and stores a token.
    async fn store(
        &self,
        token: StoredToken,
        server: &DiscoveredServer,
        resource: &str,
    ) -> Result<RenewedToken, AuthError> {
        let active = self.set_active(token, Some(server.clone()))?;
        let issuer = &server.metadata.issuer;
        let stored = self.try_to_store(issuer, resource, &active.token).await;
        let store_error = stored.err().map(AuthError::of);
        // The token stays usable as long as this process runs.
        if let Some(error) = &store_error {
            tracing::warn!(%error, "the access token cannot be stored");
        }
        Ok(RenewedToken {
            active,
            was_renewed_elsewhere: false,
            store_error,
        })
    }

    /// Stores a token, and repeats that after errors for a short time.
    async fn try_to_store(
        &self,
        issuer: &str,
        resource: &str,
        token: &StoredToken,
    ) -> Result<(), TokenStoreError> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let stored = self.records.store_token(issuer, resource, token).await;
            if stored.is_ok() || start.elapsed() + pause > STORE_RETRIES {
                return stored;
            }
            sleep(pause).await;
            pause *= 2;
        }
    }

    /// Checks that another process has stored a new token. Otherwise, returns an error that requires a login.
    async fn check_stored(
        &self,
        step: &NextStep,
        rejected: &RejectedRequest,
    ) -> Result<(), AuthError> {
        let resource = self.resource();
        let stored = self.records.last_token(&resource).await;
        match stored.map_err(AuthError::of)? {
            Some((_, token)) if token.generation != rejected.generation => Ok(()),
            _ => Err(match step {
                NextStep::StepUp(scopes) => {
                    AuthError::scopes_required(&resource, &scopes.to_string())
                }
                _ => AuthError::login_required(&resource),
            }),
        }
    }

    pub(in crate::client) fn discovery(&self, rejected: &RejectedRequest) -> Discovery<'_> {
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
        server: &DiscoveredServer,
        previous: Option<&StoredToken>,
    ) -> Result<Option<ScopeSet>, AuthError> {
        let requested = previous.and_then(|previous| previous.requested.as_deref());
        let requested = requested.and_then(|text| ScopeSet::parse(text).ok());
        let requested = match (&self.config.scopes, requested) {
            (Some(configured), Some(requested)) => Some(requested.union(configured)),
            (configured, requested) => requested.or_else(|| configured.clone()),
        };
        let challenged = match step {
            NextStep::StepUp(scopes) => Some(scopes.to_string()),
            _ => rejected.scope.clone(),
        };
        let sources = ScopeSources {
            challenged: challenged.as_deref(),
            resource_supports: server.scopes_supported.as_deref(),
            server_supports: server.metadata.scopes_supported.as_deref(),
            wants_refresh_token: self.config.grant.needs_redirect(),
            requested_before: requested.as_ref(),
        };
        sources.select().map_err(AuthError::of)
    }
}

/// Returns the stored token if another process has renewed it: it is not the rejected one and has not expired.
fn newer_token<'a>(
    stored: Option<&'a StoredToken>,
    rejected: &RejectedRequest,
) -> Option<&'a StoredToken> {
    let now = since_epoch().as_secs();
    stored.filter(|token| token.generation != rejected.generation && !token.is_expired(now))
}
