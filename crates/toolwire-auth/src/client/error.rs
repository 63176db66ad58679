//! The error of client authorization.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use toolwire::Error;

/// The reason why no access token is available, and advice for the user.
#[derive(Debug, Clone)]
pub struct AuthError {
    kind: AuthErrorKind,
    advice: Option<String>,
    needs_login: bool,
    required_scopes: Option<String>,
}

#[derive(Debug, Clone)]
enum AuthErrorKind {
    /// A message, and optionally its cause.
    Message(String, Option<Arc<dyn StdError + Send + Sync>>),
    /// An error whose own message is sufficient.
    Wrapped(Arc<dyn StdError + Send + Sync>),
}

impl AuthError {
    /// Creates an error with a message. The message must not contain a secret.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            kind: AuthErrorKind::Message(message.into(), None),
            advice: None,
            needs_login: false,
            required_scopes: None,
        }
    }

    /// Sets the advice for the user.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        let source = Arc::from(source.into());
        self.kind = match self.kind {
            AuthErrorKind::Message(message, _) => AuthErrorKind::Message(message, Some(source)),
            AuthErrorKind::Wrapped(error) => {
                AuthErrorKind::Message(error.to_string(), Some(source))
            }
        };
        self
    }

    /// Returns the advice for the user, if any.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Returns the first cause of type `T`, for example [`HttpError`](toolwire::transport::http_client::HttpError) if
    /// a server was unreachable.
    #[must_use]
    pub fn find_source<T: StdError + 'static>(&self) -> Option<&T> {
        let mut cause: Option<&(dyn StdError + 'static)> = match &self.kind {
            AuthErrorKind::Message(_, source) => source.as_deref().map(|source| source as _),
            AuthErrorKind::Wrapped(error) => Some(&**error),
        };
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }

    /// Returns `true` if a user has to log in and this client cannot start a login. See
    /// [`OAuthConfig::from_store`](crate::client::OAuthConfig::from_store).
    #[must_use]
    pub fn needs_login(&self) -> bool {
        self.needs_login
    }

    /// Returns the scopes that a login has to request, separated by spaces, or `None` if they are unknown.
    #[must_use]
    pub fn required_scopes(&self) -> Option<&str> {
        self.required_scopes.as_deref()
    }

    pub(super) fn login_required(resource: &str) -> Self {
        let mut error = Self::new(format!("there is no login at {resource}"));
        error.needs_login = true;
        error
    }

    pub(super) fn scopes_required(resource: &str, scopes: &str) -> Self {
        let message = format!("the login at {resource} lacks required scopes: {scopes}");
        let mut error = Self::new(message);
        error.needs_login = true;
        error.required_scopes = Some(scopes.to_owned());
        error
    }

    /// Wraps an error whose own message is sufficient.
    pub(super) fn of(error: impl StdError + Send + Sync + 'static) -> Self {
        Self {
            kind: AuthErrorKind::Wrapped(Arc::new(error)),
            advice: None,
            needs_login: false,
            required_scopes: None,
        }
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            AuthErrorKind::Message(message, _) => f.write_str(message)?,
            AuthErrorKind::Wrapped(error) => write!(f, "{error}")?,
        }
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

impl StdError for AuthError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.kind {
            AuthErrorKind::Message(_, source) => source
                .as_deref()
                .map(|source| source as &(dyn StdError + 'static)),
            AuthErrorKind::Wrapped(error) => error.source(),
        }
    }
}

impl AuthError {
    /// Returns the authorization error if a missing access token caused `error`.
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
