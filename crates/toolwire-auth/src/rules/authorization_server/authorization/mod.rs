//! Requests to the authorization endpoint (OAuth 2.1, section 4.1.1).
//!
//! The order matters. Client and redirect URI are checked first. Until then, an error is a page and never a redirect.
//! Otherwise, the endpoint would be an open redirector (OAuth 2.1, section 4.1.2.1).

use std::fmt;

use toolwire_proto::scopes::ScopeSet;

use crate::rules::authorization_server::parameters::{Parameters, ParametersError};
use crate::rules::resource_indicator::ResourceIndicator;
use crate::rules::{pkce, redirect_uri};

/// The maximum length of a client id, in bytes.
pub(crate) const LONGEST_CLIENT_ID: usize = 2048;

/// The maximum length of a redirect URI, in bytes.
pub(crate) const LONGEST_REDIRECT_URI: usize = 1024;

/// The maximum length of a `state` that is returned, in bytes.
pub(crate) const LONGEST_STATE: usize = 4096;

/// The length of a challenge of method `S256`.
const CHALLENGE_LENGTH: usize = 43;

/// The client of a request, before it is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct AuthorizationClient<'a> {
    /// The id of the client.
    pub client_id: &'a str,
    /// The redirect URI, which is not checked yet.
    pub redirect_uri: &'a str,
}

impl<'a> AuthorizationClient<'a> {
    /// Reads the client id and the redirect URI.
    ///
    /// # Errors
    /// Returns an error if either is missing, duplicate or too long. Show a page, because there is no valid redirect
    /// URI.
    pub(crate) fn read(parameters: &'a Parameters) -> Result<Self, AuthorizationClientError> {
        let read = |name, longest| {
            let value = parameters
                .single(name)
                .map_err(AuthorizationClientError::Parameters)?;
            let value = value.ok_or(AuthorizationClientError::Missing(name))?;
            if value.len() <= longest {
                Ok(value)
            } else {
                Err(AuthorizationClientError::TooLong(name))
            }
        };
        Ok(Self {
            client_id: read("client_id", LONGEST_CLIENT_ID)?,
            redirect_uri: read("redirect_uri", LONGEST_REDIRECT_URI)?,
        })
    }

    /// Returns the registered URI that permits this redirect URI.
    ///
    /// # Errors
    /// Returns an error if the client has registered no such URI. Show a page.
    pub(crate) fn check_redirect<'r>(
        &self,
        registered: &'r [String],
    ) -> Result<&'r str, AuthorizationClientError> {
        redirect_uri::find_registered(self.redirect_uri, registered)
            .ok_or(AuthorizationClientError::RedirectNotRegistered)
    }
}

/// The parameters of a request from a known client with a valid redirect URI.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub(crate) struct AuthorizationParams {
    /// The PKCE challenge.
    pub code_challenge: String,
    /// The requested scopes that this server knows.
    pub scopes: ScopeSet,
}

/// The policy of an authorization server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerPolicy<'a> {
    /// The only resource of its tokens.
    pub resource: &'a ResourceIndicator,
    /// All scopes of this server.
    pub scopes: &'a ScopeSet,
    /// The scopes of a request that names none.
    pub default_scopes: &'a ScopeSet,
}

impl AuthorizationParams {
    /// Reads the parameters of the request.
    ///
    /// # Errors
    /// Returns an error if the request cannot be granted. Redirect the user with the error.
    pub(crate) fn read(
        parameters: &Parameters,
        policy: &ServerPolicy<'_>,
    ) -> Result<Self, AuthorizationParamsError> {
        parameters
            .check_no_duplicates()
            .map_err(AuthorizationParamsError::Parameters)?;
        let single = |name| {
            parameters
                .single(name)
                .map_err(AuthorizationParamsError::Parameters)
        };
        if single("response_type")? != Some("code") {
            return Err(AuthorizationParamsError::ResponseType);
        }
        if single("response_mode")?.is_some_and(|mode| mode != "query") {
            return Err(AuthorizationParamsError::ResponseMode);
        }
        if single("state")?.is_some_and(|state| !is_state(state)) {
            return Err(AuthorizationParamsError::State);
        }
        // OAuth 2.1, section 7.5.1: a request without a method would mean `plain`.
        let challenge = single("code_challenge")?.filter(|text| is_challenge(text));
        let code_challenge = match (challenge, single("code_challenge_method")?) {
            (Some(challenge), Some(pkce::METHOD)) => challenge.to_owned(),
            _ => return Err(AuthorizationParamsError::NoPkce),
        };
        check_resource(parameters, policy.resource)
            .map_err(|_| AuthorizationParamsError::OtherResource)?;
        let scopes = match single("scope")? {
            None => policy.default_scopes.clone(),
            Some(text) => known_scopes(text, policy.scopes)?,
        };
        Ok(Self {
            code_challenge,
            scopes,
        })
    }
}

/// Returns the state for the redirect, if it is valid. Errors contain it, too.
#[must_use]
pub(crate) fn state(parameters: &Parameters) -> Option<&str> {
    let state = parameters.single("state").ok().flatten();
    state.filter(|state| is_state(state))
}

/// Returns `true` if the text is visible ASCII and spaces (RFC 6749, appendix A.5).
fn is_state(text: &str) -> bool {
    text.len() <= LONGEST_STATE && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Checks that a request names no resource other than this server's. Clients of 2025-03-26 name none (RFC 8707).
///
/// # Errors
/// Returns an error if it names another resource.
pub(crate) fn check_resource(
    parameters: &Parameters,
    resource: &ResourceIndicator,
) -> Result<(), ResourceMismatch> {
    let mut named = parameters.all("resource");
    if named.all(|name| resource.is_named_by(name)) {
        Ok(())
    } else {
        Err(ResourceMismatch)
    }
}

/// The error of a request for a token of another resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct ResourceMismatch;

impl fmt::Display for ResourceMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this server does not issue tokens for this resource")
    }
}

impl std::error::Error for ResourceMismatch {}

/// Returns the known scopes. Unknown scopes are omitted, and the token response names the granted ones (RFC 6749,
/// section 3.3). If no known scope remains, it returns an error, because the token would be useless.
fn known_scopes(text: &str, supported: &ScopeSet) -> Result<ScopeSet, AuthorizationParamsError> {
    let requested = ScopeSet::parse(text).map_err(|_| AuthorizationParamsError::Scope)?;
    let known = requested.intersection(supported);
    if known.is_empty() && !requested.is_empty() && !supported.is_empty() {
        Err(AuthorizationParamsError::Scope)
    } else {
        Ok(known)
    }
}

fn is_challenge(text: &str) -> bool {
    text.len() == CHALLENGE_LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The reason why a user sees an error page without a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AuthorizationClientError {
    /// The parameters are invalid.
    Parameters(ParametersError),
    /// This parameter is missing.
    Missing(&'static str),
    /// This parameter is too long.
    TooLong(&'static str),
    /// The client has not registered the redirect URI.
    RedirectNotRegistered,
}

impl fmt::Display for AuthorizationClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters(error) => write!(f, "{error}"),
            Self::Missing(name) => write!(f, "{name} is missing"),
            Self::TooLong(name) => write!(f, "{name} is too long"),
            Self::RedirectNotRegistered => {
                f.write_str("the client has not registered this redirect_uri")
            }
        }
    }
}

impl std::error::Error for AuthorizationClientError {}

/// The reason why a user is redirected with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AuthorizationParamsError {
    /// The parameters are invalid.
    Parameters(ParametersError),
    /// The response type is not `code`.
    ResponseType,
    /// The response mode is not `query`.
    ResponseMode,
    /// The state is too long or has invalid characters.
    State,
    /// There is no challenge of method `S256`.
    NoPkce,
    /// The request names another resource.
    OtherResource,
    /// The scopes are malformed or all unknown.
    Scope,
}

impl AuthorizationParamsError {
    /// Returns the error code (RFC 6749, section 4.1.2.1; RFC 8707, section 2).
    #[must_use]
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::ResponseType => "unsupported_response_type",
            Self::OtherResource => "invalid_target",
            Self::Scope => "invalid_scope",
            Self::Parameters(_) | Self::ResponseMode | Self::State | Self::NoPkce => {
                "invalid_request"
            }
        }
    }
}

impl fmt::Display for AuthorizationParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters(error) => write!(f, "{error}"),
            Self::ResponseType => f.write_str("response_type must be code"),
            Self::ResponseMode => f.write_str("response_mode must be query"),
            Self::State => write!(
                f,
                "state must be at most {LONGEST_STATE} visible characters"
            ),
            Self::NoPkce => f.write_str("a code_challenge with the method S256 is required"),
            Self::OtherResource => write!(f, "{ResourceMismatch}"),
            Self::Scope => f.write_str("all requested scopes are unknown"),
        }
    }
}

impl std::error::Error for AuthorizationParamsError {}

#[cfg(test)]
mod tests;
