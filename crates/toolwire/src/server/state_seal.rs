//! Sealing of request state, which travels through the client.
//!
//! The journal of a request and the author's own state are sealed: the client can neither read nor change them. A state
//! opens only for the same principal, method and parameters, and before it expires. Keys are random per process unless
//! they are configured. Servers with the same keys open each other's states.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::value::RawValue;
use toolwire_proto::journal::Journal;
use toolwire_proto::request_state::{self, Binding, KeyRing, SealError, StateError, StateKey};
use toolwire_proto::requests::overloaded_error;
use toolwire_types::ErrorObject;

use crate::engine::{Principal, since_epoch};
use crate::server::Server;
use crate::server::request::SingleUseState;
use crate::store::{NonceStore, StoreError};

/// The default validity of a state.
const DEFAULT_TTL: Duration = Duration::from_secs(600);

/// The time in which the nonce store has to mark a state as used. It may be in another process.
const NONCE_DEADLINE: Duration = Duration::from_secs(2);

/// The error text if the system provides no random bytes.
pub(crate) const NO_RANDOMNESS: &str = "the system provides no random bytes";

/// The request that a state belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatePurpose<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) method: &'a str,
    pub(crate) name: &'a str,
    pub(crate) arguments: Option<&'a RawValue>,
}

/// The content of an opened state.
#[derive(Debug)]
pub(crate) struct OpenedState {
    pub(crate) journal: Journal,
    pub(crate) author_state: Option<String>,
    /// Set if the state may be used only once.
    pub(crate) single_use_state: Option<SingleUseState>,
}

/// Seals and opens request state.
#[derive(Debug, Clone)]
pub(crate) struct StateSeal {
    audience: String,
    keys: OnceLock<KeyRing>,
    /// Whether the keys were configured. Random keys end with the process.
    #[cfg(feature = "tasks")]
    has_configured_keys: bool,
    seals_author_state: bool,
    ttl: Duration,
    nonces: Option<Arc<dyn NonceStore>>,
}

impl StateSeal {
    /// Creates a seal with random keys, generated when the first state is sealed.
    pub(crate) fn new(audience: String) -> Self {
        Self {
            audience,
            keys: OnceLock::new(),
            #[cfg(feature = "tasks")]
            has_configured_keys: false,
            seals_author_state: true,
            ttl: DEFAULT_TTL,
            nonces: None,
        }
    }

    pub(crate) fn with_keys(self, keys: KeyRing) -> Self {
        Self {
            keys: OnceLock::from(keys),
            #[cfg(feature = "tasks")]
            has_configured_keys: true,
            ..self
        }
    }

    /// Returns the keys that the author configured.
    #[cfg(feature = "tasks")]
    pub(crate) fn configured_keys(&self) -> Option<&KeyRing> {
        self.keys.get().filter(|_| self.has_configured_keys)
    }

    pub(crate) fn with_ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    pub(crate) fn with_nonces(self, nonces: Arc<dyn NonceStore>) -> Self {
        Self {
            nonces: Some(nonces),
            ..self
        }
    }

    /// Sends the author's state unsealed. A journal is always sealed.
    pub(crate) fn with_open_author_state(self) -> Self {
        Self {
            seals_author_state: false,
            ..self
        }
    }

    /// Logs at startup what the keys mean for a service with several nodes.
    #[cfg(feature = "http-server")]
    pub(crate) fn log_key_source(&self) {
        if self.keys.get().is_none() {
            tracing::info!(
                "request state is sealed with a random key of this process: a client must send its retry to the same \
                 process; configure the same keys on all nodes of a service with `with_request_state_keys`"
            );
        }
    }

    /// Encodes the state for the next round. Returns `None` if there is nothing to store.
    pub(crate) fn write(
        &self,
        purpose: &StatePurpose<'_>,
        journal: Option<&Journal>,
        author_state: Option<String>,
    ) -> Result<Option<String>, ErrorObject> {
        let state = match (journal.filter(|journal| !journal.is_empty()), author_state) {
            (None, None) => return Ok(None),
            (None, Some(state)) if !self.seals_author_state => return Ok(Some(state)),
            (Some(journal), author_state) => journal.to_state(author_state),
            (None, author_state) => Journal::default().to_state(author_state),
        };
        self.seal_text(purpose, &state, self.ttl).map(Some)
    }

    /// Seals a text for this time.
    pub(crate) fn seal_text(
        &self,
        purpose: &StatePurpose<'_>,
        text: &str,
        ttl: Duration,
    ) -> Result<String, ErrorObject> {
        let keys = self.keys()?;
        let mut nonce = [0; 24];
        getrandom::fill(&mut nonce).map_err(|_| no_randomness())?;
        let binding = self.binding(purpose);
        request_state::seal(keys, &binding, text.as_bytes(), since_epoch(), ttl, nonce)
            .map_err(|error| match error {
                SealError::TooLarge { limit } => ErrorObject::internal(format!(
                    "the request state is larger than {limit} bytes; ask for less, or raise the limit of the key ring \
                     (`KeyRing::with_max_payload`)"
                )),
                SealError::TimeOutOfRange => ErrorObject::internal(error.to_string()),
            })
    }

    /// Opens a sealed text. Returns `None` if it was sealed for another purpose, or has expired.
    #[cfg(feature = "relay")]
    pub(crate) fn open_text(&self, purpose: &StatePurpose<'_>, token: &str) -> Option<String> {
        let binding = self.binding(purpose);
        let opened = request_state::open(self.keys().ok()?, &binding, token, since_epoch());
        String::from_utf8(opened.ok()?.to_vec()).ok()
    }

    /// Opens the state that the client sent.
    pub(crate) fn open(
        &self,
        purpose: &StatePurpose<'_>,
        token: &str,
    ) -> Result<OpenedState, ErrorObject> {
        if !self.seals_author_state && !request_state::is_sealed(token) {
            return Ok(OpenedState {
                journal: Journal::default(),
                author_state: Some(token.to_owned()),
                single_use_state: None,
            });
        }
        let state =
            request_state::open(self.keys()?, &self.binding(purpose), token, since_epoch())?;
        let text = std::str::from_utf8(&state).map_err(|_| StateError::unreadable())?;
        let (journal, author_state) =
            Journal::from_state(text).map_err(|_| StateError::unreadable())?;
        let single_use_state = self.nonces.is_some().then(|| {
            // The expiry in the state applies, because another node may use another ttl.
            let expiry = request_state::expiry(token).unwrap_or(Duration::MAX);
            SingleUseState {
                owner: purpose.principal.clone(),
                fingerprint: request_state::fingerprint(token),
                lifetime: expiry.saturating_sub(since_epoch()),
            }
        });
        Ok(OpenedState {
            journal,
            author_state,
            single_use_state,
        })
    }

    /// Marks a single-use state as used.
    ///
    /// # Errors
    /// Returns an error if the state was used before, or if the nonce store is full for its owner, fails, or does not respond
    /// in time. Over HTTP, the last ones are 503.
    pub(crate) async fn mark_used(&self, state: &SingleUseState) -> Result<(), ErrorObject> {
        let Some(nonces) = &self.nonces else {
            return Ok(());
        };
        // The clock of the node that stores the nonce may be ahead of the clocks of nodes that open states.
        let lifetime = state.lifetime.saturating_add(request_state::MAX_CLOCK_SKEW);
        let marking = nonces.mark_used(&state.owner, &state.fingerprint, lifetime);
        let marked = tokio::time::timeout(NONCE_DEADLINE, marking).await;
        let marked = marked
            .unwrap_or_else(|_| Err(StoreError::unknown("the deadline of the store has passed")));
        match marked {
            Ok(true) => Ok(()),
            Ok(false) => Err(StateError::used().into()),
            Err(StoreError::OwnerFull) => Err(overloaded_error(
                "too many request states of this user were used in a short time; try again later",
            )),
            Err(error) => {
                tracing::error!(%error, "the nonce store failed, so request state is rejected");
                Err(overloaded_error(
                    "request state cannot be checked now; try again",
                ))
            }
        }
    }

    fn binding<'a>(&'a self, purpose: &StatePurpose<'a>) -> Binding<'a> {
        Binding {
            principal: purpose.principal.as_str(),
            method: purpose.method,
            name: purpose.name,
            params_digest: request_state::params_digest(purpose.arguments),
            audience: &self.audience,
        }
    }

    fn keys(&self) -> Result<&KeyRing, ErrorObject> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|_| no_randomness())?;
        Ok(self.keys.get_or_init(|| KeyRing::new(StateKey::new(key))))
    }
}

impl Server {
    /// Seals request state with these keys. Default: a random key per process. Each node that may serve a client's next
    /// round needs the same keys and the same server name.
    #[must_use]
    pub fn with_request_state_keys(self, keys: KeyRing) -> Self {
        self.change_seal(|seal| seal.with_keys(keys))
    }

    /// Sets how long request state stays valid: the time for the client to gather input and retry (2026-07-28).
    /// Default: 10 min. It does not apply to the states of a relay for calls that wait at a server of an earlier revision:
    /// these calls end after 10 min, and their states after a day.
    #[must_use]
    pub fn with_request_state_ttl(self, ttl: Duration) -> Self {
        self.change_seal(|seal| seal.with_ttl(ttl))
    }

    /// Permits each request state only once. A client that sends a state again receives the error of an invalid state.
    ///
    /// Without this option, a client can return to an earlier round while its state is valid, and repeat what happened
    /// after it. With this option, a client whose responses were lost or rejected has to start its call again.
    #[must_use]
    pub fn with_single_use_request_state(self, nonces: impl NonceStore + 'static) -> Self {
        self.change_seal(|seal| seal.with_nonces(Arc::new(nonces)))
    }

    /// Sends the request state of handlers to clients unsealed. Clients can then read and change it: validate it as
    /// untrusted input. The results of [`RequestContext::ask`](crate::RequestContext::ask) and
    /// [`once`](crate::RequestContext::once) stay sealed.
    #[must_use]
    pub fn without_sealed_request_state(self) -> Self {
        self.change_seal(StateSeal::with_open_author_state)
    }

    fn change_seal(self, change: impl FnOnce(StateSeal) -> StateSeal) -> Self {
        self.change(|snapshot| {
            let seal = StateSeal::clone(&snapshot.options.seal);
            snapshot.options.seal = Arc::new(change(seal));
        });
        self
    }
}

fn no_randomness() -> ErrorObject {
    ErrorObject::internal(NO_RANDOMNESS)
}
