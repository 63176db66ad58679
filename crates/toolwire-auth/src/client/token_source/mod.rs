//! Holds the active token of an endpoint and renews it when the server rejects it.
//!
//! One task per process renews a token at a time, and one process among those that share a store. A waiting task finds
//! a token other than the rejected one and uses it. A renewal continues if the request that caused it is dropped, so
//! that a rotated refresh token is not lost.

pub(crate) mod renew;

use std::sync::{Arc, Mutex, MutexGuard};

use http::HeaderValue;
use tokio::sync::OnceCell;
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::ProtocolVersion;
use tracing::Instrument as _;

use crate::client::AuthError;
use crate::client::config::OAuthSettings;
use crate::client::discovery::DiscoveredServer;
use crate::client::proofs::DpopSigner;
use crate::client::store::{Records, StoredToken};
use crate::clock::since_epoch;
use crate::fetch::DocumentFetcher;
use crate::rules::attempts::NextStep;
use crate::rules::challenge::{Challenge, TokenScheme};
use crate::rules::credentials::Credentials;
use crate::rules::denied_upgrades::DeniedUpgrades;
use crate::rules::resource_indicator::ResourceIndicator;
use crate::sync::lock;

/// The source of access tokens for one endpoint.
#[derive(Debug)]
pub(super) struct TokenSource {
    pub(super) config: OAuthSettings,
    endpoint: String,
    pub(super) records: Records,
    pub(super) fetcher: DocumentFetcher,
    pub(super) dpop_signer: DpopSigner,
    state: Mutex<TokenState>,
    loaded: OnceCell<()>,
    /// Serializes renewals in this process.
    renewal_lock: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct TokenState {
    active: Option<Arc<ActiveToken>>,
    /// The server that issued the active token, if it was discovered by this process.
    server: Option<DiscoveredServer>,
    denied: DeniedUpgrades,
    completed_renewals: u64,
    /// The error of the last renewal, if it failed and was permitted to ask the user.
    last_error: Option<AuthError>,
}

/// A token with its `Authorization` header value.
#[derive(Debug)]
pub(super) struct ActiveToken {
    pub(super) token: StoredToken,
    pub(super) header: HeaderValue,
}

impl ActiveToken {
    fn new(token: StoredToken) -> Result<Self, AuthError> {
        let scheme = TokenScheme::from_name(&token.scheme).unwrap_or(TokenScheme::Bearer);
        let credentials = Credentials::new(scheme, token.access_token.clone());
        let header = credentials.map(|credentials| credentials.to_header());
        let header = header.and_then(|header| HeaderValue::from_str(header.expose()).ok());
        let mut header =
            header.ok_or_else(|| AuthError::new("the access token is not a valid header value"))?;
        header.set_sensitive(true);
        Ok(Self { token, header })
    }
}

/// A token that replaces a rejected token.
#[derive(Debug)]
pub(super) struct RenewedToken {
    pub(super) active: Arc<ActiveToken>,
    /// Whether another task or process had renewed the token before. It may be as old as the rejected token.
    pub(super) was_renewed_elsewhere: bool,
    /// The error if the token could not be stored and is lost when this process ends.
    pub(super) store_error: Option<AuthError>,
}

impl RenewedToken {
    fn renewed_elsewhere(active: Arc<ActiveToken>) -> Self {
        Self {
            active,
            was_renewed_elsewhere: true,
            store_error: None,
        }
    }
}

/// The rejection of a request.
#[derive(Debug, Clone)]
pub(super) struct RejectedRequest {
    pub(super) challenges: Vec<Challenge>,
    /// The scopes of the relevant challenge.
    pub(super) scope: Option<String>,
    pub(super) version: ProtocolVersion,
    /// The generation of the rejected token, or zero if the request had no token.
    pub(super) generation: u64,
    /// Whether a server without metadata may be its own authorization server.
    pub(super) allow_origin_server: bool,
    /// Whether a user login may be started.
    pub(super) may_ask_user: bool,
}

impl TokenSource {
    pub(super) fn new(config: OAuthSettings, endpoint: String, fetcher: DocumentFetcher) -> Self {
        let records = config.records();
        Self {
            dpop_signer: DpopSigner::new(records.clone()),
            records,
            config,
            endpoint,
            fetcher,
            state: Mutex::default(),
            loaded: OnceCell::new(),
            renewal_lock: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the token for a request, if there is one that may still be valid.
    pub(super) async fn token(self: &Arc<Self>) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        let Some(active) = self.stored_token().await? else {
            return Ok(None);
        };
        let now = since_epoch().as_secs();
        if !active.token.is_due(now) {
            return Ok(Some(active));
        }
        // Renewing before the server rejects the token saves a round trip. It does not start a user login.
        let step = match active.token.refresh_token {
            Some(_) => Some(NextStep::Refresh),
            None => self
                .config
                .grant
                .is_unattended()
                .then_some(NextStep::Authorize),
        };
        let still_valid = (!active.token.is_expired(now)).then_some(active.clone());
        let Some(step) = step else {
            return Ok(still_valid);
        };
        let rejected = RejectedRequest {
            challenges: Vec::new(),
            scope: None,
            version: ProtocolVersion::LATEST,
            generation: active.token.generation,
            allow_origin_server: self.config.allow_origin_server,
            may_ask_user: false,
        };
        // On failure, the request itself reports the error.
        let renewed = self.renew(step, rejected).await;
        Ok(renewed.ok().map(|token| token.active).or(still_valid))
    }

    /// Returns the active token, or loads the stored one.
    pub(super) async fn stored_token(&self) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        self.loaded.get_or_try_init(|| self.load()).await?;
        Ok(self.active())
    }

    pub(super) fn has_refresh_token(&self) -> bool {
        let active = self.active();
        active.is_some_and(|active| active.token.refresh_token.is_some())
    }

    /// Returns `true` if requesting scopes for an operation failed recently.
    pub(super) fn was_denied(&self, operation: &str, scopes: &ScopeSet) -> bool {
        let now = since_epoch().as_secs();
        let state = self.state();
        state
            .denied
            .contains(&self.endpoint, operation, scopes, now)
    }

    pub(super) fn record_denied(&self, operation: &str, scopes: ScopeSet) {
        let now = since_epoch().as_secs();
        let mut state = self.state();
        state.denied.insert(&self.endpoint, operation, scopes, now);
    }

    /// Gets a token that replaces the rejected one.
    pub(super) async fn renew(
        self: &Arc<Self>,
        step: NextStep,
        rejected: RejectedRequest,
    ) -> Result<RenewedToken, AuthError> {
        let completed_before = self.state().completed_renewals;
        let source = Arc::clone(self);
        let renewal = async move {
            source
                .renew_exclusively(&step, &rejected, completed_before)
                .await
        };
        let renewed = tokio::spawn(renewal.in_current_span()).await;
        renewed.unwrap_or_else(|_| Err(AuthError::new("the token renewal was interrupted")))
    }

    /// Renews the token, unless another task did so while this one waited. `completed_before` is the number of
    /// completed renewals when the request was rejected.
    async fn renew_exclusively(
        &self,
        step: &NextStep,
        rejected: &RejectedRequest,
        completed_before: u64,
    ) -> Result<RenewedToken, AuthError> {
        let _guard = self.renewal_lock.lock().await;
        let now = since_epoch().as_secs();
        {
            let state = self.state();
            if let Some(active) = &state.active
                && active.token.generation != rejected.generation
                && !active.token.is_expired(now)
            {
                return Ok(RenewedToken::renewed_elsewhere(Arc::clone(active)));
            }
            // If a user declined while other requests waited, the user is not asked again for each of them.
            if let Some(error) = &state.last_error
                && state.completed_renewals > completed_before
            {
                return Err(error.clone());
            }
        }
        let outcome = self.renew_token(step, rejected).await;
        let mut state = self.state();
        state.completed_renewals += 1;
        // A failure without user interaction is not returned to requests that may ask the user.
        let error = outcome.as_ref().err().filter(|_| rejected.may_ask_user);
        state.last_error = error.cloned();
        outcome
    }

    /// Sets the active token and the server that issued it.
    fn set_active(
        &self,
        token: StoredToken,
        server: Option<DiscoveredServer>,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let active = Arc::new(ActiveToken::new(token)?);
        let mut state = self.state();
        state.active = Some(Arc::clone(&active));
        state.server = server;
        Ok(active)
    }

    /// Loads the stored token.
    async fn load(&self) -> Result<(), AuthError> {
        let stored = self.records.last_token(&self.resource()).await;
        if let Some((_, token)) = stored.map_err(AuthError::of)?
            && let Err(error) = self.set_active(token, None)
        {
            tracing::warn!(%error, "the stored token cannot be used");
        }
        Ok(())
    }

    fn active(&self) -> Option<Arc<ActiveToken>> {
        self.state().active.clone()
    }

    /// Returns the store key of tokens for the endpoint.
    pub(super) fn resource(&self) -> String {
        ResourceIndicator::of_endpoint(&self.endpoint).map_or_else(
            |_| self.endpoint.clone(),
            |resource| resource.canonical().to_owned(),
        )
    }

    fn state(&self) -> MutexGuard<'_, TokenState> {
        lock(&self.state)
    }
}
