//! The state of a round without the feature `input`: a handler runs once, so nothing is stored for a next round.

use toolwire_types::ErrorObject;

/// The state of the only round.
#[derive(Debug, Default)]
pub(crate) struct RoundState {
    rejection: Option<Box<ErrorObject>>,
}

impl RoundState {
    /// Creates the round of a request whose input this server rejects, unless a middleware gives the request to a raw
    /// entry.
    #[cold]
    pub(crate) fn rejected(error: ErrorObject) -> Self {
        Self {
            rejection: Some(Box::new(error)),
        }
    }

    /// Returns why this server rejects the input of the request.
    pub(crate) fn rejection(&self) -> Option<&ErrorObject> {
        self.rejection.as_deref()
    }

    /// Returns `false`: a request cannot ask for input.
    #[expect(clippy::unused_self, reason = "the same signature as with `input`")]
    pub(crate) fn is_retry(&self) -> bool {
        false
    }

    /// Returns `None`: a request has no state.
    #[expect(clippy::unused_self, reason = "the same signature as with `input`")]
    pub(crate) fn sent_state(&self) -> Option<&str> {
        None
    }
}
