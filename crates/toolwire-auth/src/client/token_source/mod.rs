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
    pub(super) proofs: DpopSigner,
    state: Mutex<TokenState>,
    loaded: OnceCell<()>,
    /// Serializes renewals in this process.
    getting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct TokenState {
    held: Option<Arc<ActiveToken>>,
    found: Option<DiscoveredServer>,
    denied: DeniedUpgrades,
    /// The number of completed renewals. `failure` is the error of the last one.
    ended: u64,
    failure: Option<AuthError>,
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
    pub(super) held: Arc<ActiveToken>,
    /// Whether another task or process had stored it before. It may be equally old.
    pub(super) was_taken_over: bool,
    /// The error if the token could not be stored and is lost when this process ends.
    pub(super) not_kept: Option<AuthError>,
}

impl RenewedToken {
    fn taken_over(held: Arc<ActiveToken>) -> Self {
        Self {
            held,
            was_taken_over: true,
            not_kept: None,
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
        let records = Records(Arc::clone(&config.store));
        Self {
            proofs: DpopSigner::new(records.clone()),
            records,
            config,
            endpoint,
            fetcher,
            state: Mutex::default(),
            loaded: OnceCell::new(),
            getting: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the token for a request, if there is one that may still be valid.
    pub(super) async fn token(self: &Arc<Self>) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        let Some(held) = self.stored_token().await? else {
            return Ok(None);
        };
        let now = since_epoch().as_secs();
        if !held.token.is_due(now) {
            return Ok(Some(held));
        }
        // Renewing before the server rejects the token saves a round trip. It does not start a user login.
        let step = match held.token.refresh_token {
            Some(_) => Some(NextStep::Refresh),
            None => self
                .config
                .grant
                .is_unattended()
                .then_some(NextStep::Authorize),
        };
        let still_good = (!held.token.is_over(now)).then_some(held.clone());
        let Some(step) = step else {
            return Ok(still_good);
        };
        let rejected = RejectedRequest {
            challenges: Vec::new(),
            scope: None,
            version: ProtocolVersion::LATEST,
            generation: held.token.generation,
            allow_origin_server: self.config.allow_origin_server,
            may_ask_user: false,
        };
        // On failure, the request itself reports the error.
        let renewed = self.renew(step, rejected).await;
        Ok(renewed.ok().map(|token| token.held).or(still_good))
    }

    /// Returns the active token, or loads the stored one.
    pub(super) async fn stored_token(&self) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        self.loaded.get_or_try_init(|| self.load()).await?;
        Ok(self.active())
    }

    pub(super) fn has_refresh_token(&self) -> bool {
        let held = self.active();
        held.is_some_and(|held| held.token.refresh_token.is_some())
    }

    /// Returns `true` if requesting scopes for an operation failed recently.
    pub(super) fn was_denied(&self, operation: &str, scopes: &ScopeSet) -> bool {
        let now = since_epoch().as_secs();
        let state = self.state();
        state
            .denied
            .contains(&self.endpoint, operation, scopes, now)
    }

    pub(super) fn remember_denied(&self, operation: &str, scopes: ScopeSet) {
        let now = since_epoch().as_secs();
        let mut state = self.state();
        state
            .denied
            .remember(&self.endpoint, operation, scopes, now);
    }

    /// Gets a token that replaces the rejected one.
    pub(super) async fn renew(
        self: &Arc<Self>,
        step: NextStep,
        rejected: RejectedRequest,
    ) -> Result<RenewedToken, AuthError> {
        let seen = self.state().ended;
        let flow = Arc::clone(self);
        let improving = async move { flow.improve_alone(&step, &rejected, seen).await };
        let improved = tokio::spawn(improving.in_current_span()).await;
        improved.unwrap_or_else(|_| Err(AuthError::new("the token renewal was interrupted")))
    }

    async fn improve_alone(
        &self,
        step: &NextStep,
        rejected: &RejectedRequest,
        seen: u64,
    ) -> Result<RenewedToken, AuthError> {
        let _one = self.getting.lock().await;
        let now = since_epoch().as_secs();
        {
            let state = self.state();
            if let Some(held) = &state.held
                && held.token.generation != rejected.generation
                && !held.token.is_over(now)
            {
                return Ok(RenewedToken::taken_over(Arc::clone(held)));
            }
            // If a user declined while other requests waited, the user is not asked again for each of them.
            if let Some(failure) = &state.failure
                && state.ended > seen
            {
                return Err(failure.clone());
            }
        }
        let outcome = self.renew_token(step, rejected).await;
        let mut state = self.state();
        state.ended += 1;
        // A failure without user interaction is not returned to requests that may ask the user.
        let failure = outcome.as_ref().err().filter(|_| rejected.may_ask_user);
        state.failure = failure.cloned();
        outcome
    }

    fn hold(
        &self,
        token: StoredToken,
        found: Option<DiscoveredServer>,
    ) -> Result<Arc<ActiveToken>, AuthError> {
        let held = Arc::new(ActiveToken::new(token)?);
        let mut state = self.state();
        state.held = Some(Arc::clone(&held));
        state.found = found;
        Ok(held)
    }

    /// Loads the stored token.
    async fn load(&self) -> Result<(), AuthError> {
        let last = self.records.last_token(&self.resource()).await;
        if let Some((_, token)) = last.map_err(AuthError::of)?
            && let Err(error) = self.hold(token, None)
        {
            tracing::warn!(%error, "the stored token cannot be used");
        }
        Ok(())
    }

    fn active(&self) -> Option<Arc<ActiveToken>> {
        self.state().held.clone()
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
