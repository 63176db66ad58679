//! Why a client was not let in.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::error::Error;

/// Why there is no access token, and what to do about it.
#[derive(Debug, Clone)]
pub struct AuthError {
    what: AuthErrorKind,
    advice: Option<String>,
    needs_login: bool,
    wanted_scopes: Option<String>,
}

#[derive(Debug, Clone)]
enum AuthErrorKind {
    /// In words of our own, and the cause.
    Said(String, Option<Arc<dyn StdError + Send + Sync>>),
    /// An error whose own words say enough.
    Is(Arc<dyn StdError + Send + Sync>),
}

impl AuthError {
    /// What went wrong. Never put a secret into it.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: AuthErrorKind::Said(what.into(), None),
            advice: None,
            needs_login: false,
            wanted_scopes: None,
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = Arc::from(source.into());
        self.what = match self.what {
            AuthErrorKind::Said(what, _) => AuthErrorKind::Said(what, Some(source)),
            AuthErrorKind::Is(error) => AuthErrorKind::Said(error.to_string(), Some(source)),
        };
        self
    }

    /// What to do about it, if somebody knows.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// The cause of a type, if there is one: [`HttpFailure`](crate::transport::http_client::HttpFailure) when a server was
    /// not reached, say.
    #[must_use]
    pub fn find<T: StdError + 'static>(&self) -> Option<&T> {
        let mut cause: Option<&(dyn StdError + 'static)> = match &self.what {
            AuthErrorKind::Said(_, source) => source.as_deref().map(|source| source as _),
            AuthErrorKind::Is(error) => Some(&**error),
        };
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }

    /// Whether somebody has to log in, and this client is not one to ask for it; see [`OAuthConfig::from_store`](crate::auth::client::OAuthConfig::from_store).
    #[must_use]
    pub fn needs_login(&self) -> bool {
        self.needs_login
    }

    /// The scopes that a login has to ask for, if that is known, separated by spaces.
    #[must_use]
    pub fn wanted_scopes(&self) -> Option<&str> {
        self.wanted_scopes.as_deref()
    }

    pub(super) fn login_needed(resource: &str) -> Self {
        let mut error = Self::new(format!("nobody is logged in at {resource}"));
        error.needs_login = true;
        error
    }

    pub(super) fn more_needed(resource: &str, scopes: &str) -> Self {
        let what = format!("the login at {resource} does not grant what this needs: {scopes}");
        let mut error = Self::new(what);
        error.needs_login = true;
        error.wanted_scopes = Some(scopes.to_owned());
        error
    }

    /// An error whose own words say enough.
    pub(super) fn of(error: impl StdError + Send + Sync + 'static) -> Self {
        Self {
            what: AuthErrorKind::Is(Arc::new(error)),
            advice: None,
            needs_login: false,
            wanted_scopes: None,
        }
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            AuthErrorKind::Said(what, _) => f.write_str(what)?,
            AuthErrorKind::Is(error) => write!(f, "{error}")?,
        }
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl StdError for AuthError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.what {
            AuthErrorKind::Said(_, source) => source
                .as_deref()
                .map(|source| source as &(dyn StdError + 'static)),
            AuthErrorKind::Is(error) => error.source(),
        }
    }
}

impl AuthError {
    /// Returns the reason why there was no access token, if that is why a call failed.
    #[must_use]
    pub fn from_error(error: &Error) -> Option<&Self> {
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }
}
