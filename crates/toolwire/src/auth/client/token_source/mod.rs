//! Having a token, and a better one when it is refused.
//!
//! One task at a time gets a token in this process, and one process at a time among those that share a store: whoever
//! waited finds another token than the one that was refused, and takes that. What has begun goes on when the request that
//! caused it is given up: a refresh token that was used up must not get lost on the way.

pub(crate) mod renew;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::HeaderValue;
use tokio::sync::OnceCell;
use toolwire_proto::auth::attempts::NextStep;
use toolwire_proto::auth::challenge::{Challenge, TokenScheme};
use toolwire_proto::auth::credentials::Credentials;
use toolwire_proto::auth::denied_upgrades::DeniedUpgrades;
use toolwire_proto::auth::resource_indicator::ResourceIndicator;
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::ProtocolVersion;
use tracing::Instrument as _;

use crate::auth::client::AuthError;
use crate::auth::client::config::OAuthSettings;
use crate::auth::client::discovery::DiscoveredServer;
use crate::auth::client::proofs::DpopSigner;
use crate::auth::client::store::{Records, StoredToken};
use crate::auth::fetch::DocumentFetcher;
use crate::engine::since_epoch;

/// How a client is let in at one endpoint.
#[derive(Debug)]
pub(super) struct TokenSource {
    pub(super) config: OAuthSettings,
    endpoint: String,
    pub(super) records: Records,
    pub(super) fetcher: DocumentFetcher,
    pub(super) proofs: DpopSigner,
    state: Mutex<TokenState>,
    loaded: OnceCell<()>,
    /// One at a time.
    getting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct TokenState {
    held: Option<Arc<ActiveToken>>,
    found: Option<DiscoveredServer>,
    denied: DeniedUpgrades,
    /// How many attempts have come to an end, and how the last one failed.
    ended: u64,
    failure: Option<AuthError>,
}

/// A token, ready to be sent.
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
            header.ok_or_else(|| AuthError::new("the access token fits into no header"))?;
        header.set_sensitive(true);
        Ok(Self { token, header })
    }
}

/// A token in the place of one that was refused.
#[derive(Debug)]
pub(super) struct RenewedToken {
    pub(super) held: Arc<ActiveToken>,
    /// Whether somebody else had got it before. It may be just as old.
    pub(super) was_taken_over: bool,
    /// Why it will be lost with this process, if so.
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

/// What a request is refused with.
#[derive(Debug, Clone)]
pub(super) struct RejectedRequest {
    pub(super) challenges: Vec<Challenge>,
    /// The scopes of the challenge that counts.
    pub(super) scope: Option<String>,
    pub(super) version: ProtocolVersion,
    /// The token that was refused; zero if there was none.
    pub(super) generation: u64,
    /// Whether a server without metadata may be its own authorization server.
    pub(super) allow_origin_server: bool,
    /// Whether a user may be sent to log in for it.
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

    /// The token to send with a request, if there is one that may still work.
    pub(super) async fn token(self: &Arc<Self>) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        let Some(held) = self.stored_token().await? else {
            return Ok(None);
        };
        let now = since_epoch().as_secs();
        if !held.token.is_due(now) {
            return Ok(Some(held));
        }
        // Renewed before it is refused, which saves a round trip; but no user is asked for that.
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
        let refused = RejectedRequest {
            challenges: Vec::new(),
            scope: None,
            version: ProtocolVersion::LATEST,
            generation: held.token.generation,
            allow_origin_server: self.config.allow_origin_server,
            may_ask_user: false,
        };
        // A failure is found out by the request itself.
        let renewed = self.renew(step, refused).await;
        Ok(renewed.ok().map(|better| better.held).or(still_good))
    }

    /// The token that is held, or was kept from an earlier time.
    pub(super) async fn stored_token(&self) -> Result<Option<Arc<ActiveToken>>, AuthError> {
        self.loaded.get_or_try_init(|| self.load()).await?;
        Ok(self.held())
    }

    pub(super) fn has_refresh_token(&self) -> bool {
        let held = self.held();
        held.is_some_and(|held| held.token.refresh_token.is_some())
    }

    /// Whether it was in vain to ask for scopes for an operation, a short while ago.
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

    /// Gets a better token than the one that was refused.
    pub(super) async fn renew(
        self: &Arc<Self>,
        step: NextStep,
        refused: RejectedRequest,
    ) -> Result<RenewedToken, AuthError> {
        let seen = self.state().ended;
        let flow = Arc::clone(self);
        let improving = async move { flow.improve_alone(&step, &refused, seen).await };
        let improved = tokio::spawn(improving.in_current_span()).await;
        improved.unwrap_or_else(|_| Err(AuthError::new("getting an access token was interrupted")))
    }

    async fn improve_alone(
        &self,
        step: &NextStep,
        refused: &RejectedRequest,
        seen: u64,
    ) -> Result<RenewedToken, AuthError> {
        let _one = self.getting.lock().await;
        let now = since_epoch().as_secs();
        {
            let state = self.state();
            if let Some(held) = &state.held
                && held.token.generation != refused.generation
                && !held.token.is_over(now)
            {
                return Ok(RenewedToken::taken_over(Arc::clone(held)));
            }
            // A user who said no while others waited is not asked again for each of them.
            if let Some(failure) = &state.failure
                && state.ended > seen
            {
                return Err(failure.clone());
            }
        }
        let outcome = self.renew_token(step, refused).await;
        let mut state = self.state();
        state.ended += 1;
        // What failed because nobody could be asked is no answer to those who can.
        let failure = outcome.as_ref().err().filter(|_| refused.may_ask_user);
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

    /// What was kept from an earlier time.
    async fn load(&self) -> Result<(), AuthError> {
        let kept = self.records.last_token(&self.resource()).await;
        if let Some((_, token)) = kept.map_err(AuthError::of)?
            && let Err(error) = self.hold(token, None)
        {
            tracing::warn!(%error, "the token that was kept cannot be used");
        }
        Ok(())
    }

    fn held(&self) -> Option<Arc<ActiveToken>> {
        self.state().held.clone()
    }

    /// The name under which tokens for the endpoint are kept.
    pub(super) fn resource(&self) -> String {
        ResourceIndicator::of_endpoint(&self.endpoint).map_or_else(
            |_| self.endpoint.clone(),
            |resource| resource.canonical().to_owned(),
        )
    }

    fn state(&self) -> MutexGuard<'_, TokenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
