//! Request state on its way through the client and back.
//!
//! The author's text is sealed: the client can neither read nor change it, and it opens only for the same principal,
//! method and parameters, for ten minutes. Keys are random per process unless they are given; servers that share keys
//! open each other's state.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::value::RawValue;
use toolwire_proto::request_state::{self, Binding, KeyRing, StateKey};
use toolwire_types::ErrorObject;

use crate::engine::Principal;

/// How long a client may take to come back.
const STATE_TTL: Duration = Duration::from_secs(600);

/// What a state belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Purpose<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) method: &'a str,
    pub(crate) name: &'a str,
    pub(crate) arguments: Option<&'a RawValue>,
}

/// Seals and opens request state.
#[derive(Debug)]
pub(crate) struct StateSeal {
    audience: String,
    keys: OnceLock<KeyRing>,
    sealed: bool,
}

impl StateSeal {
    /// Random keys, made when the first state is sealed.
    pub(crate) fn new(audience: String) -> Self {
        Self {
            audience,
            keys: OnceLock::new(),
            sealed: true,
        }
    }

    /// Given keys, newest first.
    pub(crate) fn with_keys(audience: String, keys: KeyRing) -> Self {
        Self {
            audience,
            keys: OnceLock::from(keys),
            sealed: true,
        }
    }

    /// State passes through as it is.
    pub(crate) fn open_state(audience: String) -> Self {
        Self {
            audience,
            keys: OnceLock::new(),
            sealed: false,
        }
    }

    pub(crate) fn seal(&self, purpose: &Purpose<'_>, state: String) -> Result<String, ErrorObject> {
        if !self.sealed {
            return Ok(state);
        }
        let keys = self.keys()?;
        let mut nonce = [0; 24];
        getrandom::fill(&mut nonce).map_err(|_| no_randomness())?;
        request_state::seal(
            keys,
            &self.binding(purpose),
            state.as_bytes(),
            now(),
            STATE_TTL,
            nonce,
        )
        .map_err(|error| ErrorObject::internal(error.to_string()))
    }

    pub(crate) fn open(&self, purpose: &Purpose<'_>, token: &str) -> Result<String, ErrorObject> {
        if !self.sealed {
            return Ok(token.to_owned());
        }
        let state = request_state::open(self.keys()?, &self.binding(purpose), token, now())?;
        String::from_utf8(state).map_err(|_| ErrorObject::internal("the request state is not text"))
    }

    fn binding<'a>(&'a self, purpose: &Purpose<'a>) -> Binding<'a> {
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
        tracing::info!(
            "request state is sealed with a key of this process; give every node the same keys with \
             `with_request_state_keys` if a client may come back to another one"
        );
        Ok(self.keys.get_or_init(|| KeyRing::new(StateKey::new(key))))
    }
}

fn no_randomness() -> ErrorObject {
    ErrorObject::internal("the system gives no random bytes")
}

/// Time since the epoch; state outlives processes, so this is the wall clock.
fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
