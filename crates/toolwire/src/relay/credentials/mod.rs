//! Credentials for upstream servers: what a relay presents instead of the tokens of its callers.
//!
//! The token and the headers of a caller are never forwarded. Each upstream server gets credentials of its own, for all
//! callers or for each.

#[cfg(feature = "http-client")]
mod layer;

use std::error::Error as _;
use std::fmt;

#[cfg(feature = "http-client")]
use crate::client::http::{HttpError, HttpPhase};
use crate::engine::{BoxFuture, Principal};
use crate::error::Error;

#[cfg(feature = "http-client")]
pub(super) use layer::CredentialsLayer;

/// Supplies the credentials for an upstream server over HTTP.
///
/// ```
/// use toolwire::relay::{Credential, Credentials, LoginRequired};
/// use toolwire::{BoxFuture, Principal};
///
/// /// Each user has a token. The lists are read with another one.
/// #[derive(Debug)]
/// struct TokensOfUsers;
///
/// impl Credentials for TokensOfUsers {
///     fn present<'a>(
///         &'a self,
///         caller: &'a Principal,
///         upstream: &'a str,
///     ) -> BoxFuture<'a, Result<Credential, LoginRequired>> {
///         Box::pin(async move {
///             match caller.as_str() {
///                 None => Ok(Credential::bearer("token-of-the-gateway")),
///                 Some(user) if user.contains("ann") => Ok(Credential::bearer("token-of-ann")),
///                 Some(_) => Err(LoginRequired::new(format!("https://gateway.example.com/connect/{upstream}"))),
///             }
///         })
///     }
/// }
/// ```
pub trait Credentials: Send + Sync + fmt::Debug + 'static {
    /// Returns the credential for a caller, before each HTTP request. It should be cached. The anonymous principal stands
    /// for callers without authorization, for those that share a connection, and for the relay itself, which reads the
    /// lists.
    ///
    /// # Errors
    /// Returns an error if the caller has to log in first.
    fn present<'a>(
        &'a self,
        caller: &'a Principal,
        upstream: &'a str,
    ) -> BoxFuture<'a, Result<Credential, LoginRequired>>;

    /// Reports that the upstream server rejected the credential (401), so that the next call returns another one. The
    /// request is sent once more.
    fn rejected(&self, caller: &Principal, upstream: &str) {
        let _ = (caller, upstream);
    }

    /// Returns an error if a caller has to log in again after the upstream server did not process one of its requests, for
    /// example because the login lacks rights (403). Default: asks [`present`](Self::present), for a credential that was
    /// dropped.
    ///
    /// # Errors
    /// Returns an error if the caller has to log in again.
    fn after_failure<'a>(
        &'a self,
        caller: &'a Principal,
        upstream: &'a str,
    ) -> BoxFuture<'a, Result<(), LoginRequired>> {
        Box::pin(async move { self.present(caller, upstream).await.map(drop) })
    }

    /// Waits until a caller has logged in. It is called after a client has agreed to show the address of the login to its
    /// user, so that the request goes on by itself. The relay ends the wait after 5 min. Default: does not wait.
    fn logged_in<'a>(&'a self, caller: &'a Principal, upstream: &'a str) -> BoxFuture<'a, ()> {
        let _ = (caller, upstream);
        Box::pin(std::future::ready(()))
    }

    /// Returns `true` if callers have credentials of their own. Then callers never share connections. Default: `true`.
    fn is_per_caller(&self) -> bool {
        true
    }
}

/// The HTTP headers that authorize a request to an upstream server. `Debug` prints their names only.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credential {
    headers: Vec<(String, String)>,
}

impl Credential {
    /// Returns a credential without headers.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns `Authorization: Bearer` with this token.
    #[must_use]
    pub fn bearer(token: impl AsRef<str>) -> Self {
        Self::none().with_header("authorization", format!("Bearer {}", token.as_ref()))
    }

    /// Adds a header. A request with a header that is not valid in HTTP fails.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.iter().map(|(name, _)| name);
        f.debug_set().entries(names).finish()
    }
}

/// The same credential for all callers.
#[derive(Debug, Clone)]
pub struct FixedCredential(Credential);

impl FixedCredential {
    /// Presents this credential for all callers.
    #[must_use]
    pub fn new(credential: Credential) -> Self {
        Self(credential)
    }
}

impl Credentials for FixedCredential {
    fn present<'a>(
        &'a self,
        _caller: &'a Principal,
        _upstream: &'a str,
    ) -> BoxFuture<'a, Result<Credential, LoginRequired>> {
        Box::pin(async { Ok(self.0.clone()) })
    }

    fn is_per_caller(&self) -> bool {
        false
    }
}

/// A caller has to log in before its requests can be forwarded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginRequired {
    /// The address of the login, which the caller gets.
    pub url: String,
    /// The message for the user.
    pub message: String,
}

impl LoginRequired {
    /// Creates the error with the address of the login.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            message: "Log in to use this server.".to_owned(),
        }
    }

    /// Sets the message for the user. Default: `Log in to use this server.`
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }
}

impl fmt::Display for LoginRequired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a login is required at {}", self.url)
    }
}

impl std::error::Error for LoginRequired {}

/// Returns `true` if a request failed because its caller has to log in, or because the server rejected the credential.
pub(super) fn is_credential_error(error: &Error) -> bool {
    if matches!(error.http_status(), Some(401 | 403)) {
        return true;
    }
    let mut source = error.source();
    while let Some(error) = source {
        if error.is::<LoginRequired>() || is_authorization_error(error) {
            return true;
        }
        source = error.source();
    }
    false
}

/// Returns `true` if no token could be obtained for a request.
#[cfg(feature = "http-client")]
fn is_authorization_error(error: &(dyn std::error::Error + 'static)) -> bool {
    let http = error.downcast_ref::<HttpError>();
    http.is_some_and(|error| error.phase() == HttpPhase::Authorize)
}

#[cfg(not(feature = "http-client"))]
fn is_authorization_error(_error: &(dyn std::error::Error + 'static)) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credential_does_not_print_its_secret() {
        let credential = Credential::bearer("secret").with_header("x-key", "secret");
        let printed = format!(
            "{credential:?} {:?}",
            FixedCredential::new(credential.clone())
        );
        assert!(printed.contains("x-key"), "{printed}");
        assert!(!printed.contains("secret"), "{printed}");
    }
}
