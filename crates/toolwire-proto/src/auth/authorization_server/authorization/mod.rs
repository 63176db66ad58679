//! Requests to the authorization endpoint (OAuth 2.1, section 4.1.1).
//!
//! The order matters. Who asks and where the user would be sent is settled first: as long as it is not, a refusal is a
//! page and never a redirect, or the endpoint would send users wherever anybody likes (OAuth 2.1, section 4.1.2.1).

use std::fmt;

use crate::auth::authorization_server::parameters::{Parameters, ParametersRefused};
use crate::auth::resource_indicator::ResourceIndicator;
use crate::auth::{pkce, redirect_uri};
use crate::scopes::ScopeSet;

/// The longest client id that is looked up, in bytes.
pub const LONGEST_CLIENT_ID: usize = 2048;

/// The longest redirect URI that users are sent to, in bytes.
pub const LONGEST_REDIRECT_URI: usize = 1024;

/// The longest `state` that is given back, in bytes.
pub const LONGEST_STATE: usize = 4096;

/// How long a challenge of the method `S256` is.
const CHALLENGE_LENGTH: usize = 43;

/// Who asks, before anything about it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthorizationClient<'a> {
    /// The id of the client.
    pub client_id: &'a str,
    /// Where the user is to be sent back to; nobody has checked it yet.
    pub redirect_uri: &'a str,
}

impl<'a> AuthorizationClient<'a> {
    /// Reads who asks.
    ///
    /// # Errors
    /// When either is missing, doubled or too long. Show a page: there is nowhere to send the user.
    pub fn read(parameters: &'a Parameters) -> Result<Self, AuthorizationClientError> {
        let read = |name, longest| {
            let value = parameters
                .single(name)
                .map_err(AuthorizationClientError::Parameters)?;
            let value = value.ok_or(AuthorizationClientError::Missing(name))?;
            match value.len() <= longest {
                true => Ok(value),
                false => Err(AuthorizationClientError::TooLong(name)),
            }
        };
        Ok(Self {
            client_id: read("client_id", LONGEST_CLIENT_ID)?,
            redirect_uri: read("redirect_uri", LONGEST_REDIRECT_URI)?,
        })
    }

    /// The registered URI that the user may be sent back to by this one.
    ///
    /// # Errors
    /// When the client has registered no such URI. Show a page.
    pub fn check_redirect<'r>(
        &self,
        registered: &'r [String],
    ) -> Result<&'r str, AuthorizationClientError> {
        redirect_uri::registered(self.redirect_uri, registered)
            .ok_or(AuthorizationClientError::RedirectNotRegistered)
    }
}

/// What a known client asks for, with a redirect URI that is its own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AuthorizationParams {
    /// What the token has to be bound to (PKCE).
    pub code_challenge: String,
    /// The scopes, as far as this server knows them.
    pub scopes: ScopeSet,
}

/// What an authorization server gives out.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a new member would skip its check"
)]
pub struct ServerPolicy<'a> {
    /// The one resource that tokens are for.
    pub resource: &'a ResourceIndicator,
    /// All scopes; a request that names none gets `default_scopes`.
    pub scopes: &'a ScopeSet,
    /// The scopes of a request that names none.
    pub default_scopes: &'a ScopeSet,
}

impl AuthorizationParams {
    /// Reads what is asked for.
    ///
    /// # Errors
    /// When it cannot be had. Send the user back with the error.
    pub fn read(
        parameters: &Parameters,
        offer: &ServerPolicy<'_>,
    ) -> Result<Self, AuthorizationParamsError> {
        parameters
            .check_each_once()
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
        check_resource(parameters, offer.resource)
            .map_err(|_| AuthorizationParamsError::OtherResource)?;
        let scopes = match single("scope")? {
            None => offer.default_scopes.clone(),
            Some(text) => known_scopes(text, offer.scopes)?,
        };
        Ok(Self {
            code_challenge,
            scopes,
        })
    }
}

/// The state to give back, as far as it can be: errors carry it, too.
#[must_use]
pub fn state(parameters: &Parameters) -> Option<&str> {
    let state = parameters.single("state").ok().flatten();
    state.filter(|state| is_state(state))
}

/// Visible ASCII and spaces (RFC 6749, appendix A.5).
fn is_state(text: &str) -> bool {
    text.len() <= LONGEST_STATE && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Checks that a request names no other resource than this server's. Clients of 2025-03-26 name none (RFC 8707).
///
/// # Errors
/// When it names another one.
pub fn check_resource(
    parameters: &Parameters,
    own: &ResourceIndicator,
) -> Result<(), OtherResource> {
    let mut named = parameters.all("resource");
    match named.all(|resource| own.is_named_by(resource)) {
        true => Ok(()),
        false => Err(OtherResource),
    }
}

/// A token for another server is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherResource;

impl fmt::Display for OtherResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tokens for this resource are not given out here")
    }
}

impl std::error::Error for OtherResource {}

/// Scopes nobody knows are left out, and the token's answer says so (RFC 6749, section 3.3); if nothing is left, the
/// client would get a token of no use.
fn known_scopes(text: &str, offered: &ScopeSet) -> Result<ScopeSet, AuthorizationParamsError> {
    let asked = ScopeSet::parse(text).map_err(|_| AuthorizationParamsError::Scope)?;
    let known = asked.intersection(offered);
    match known.is_empty() && !asked.is_empty() && !offered.is_empty() {
        true => Err(AuthorizationParamsError::Scope),
        false => Ok(known),
    }
}

fn is_challenge(text: &str) -> bool {
    text.len() == CHALLENGE_LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Why a user is shown a page and sent nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorizationClientError {
    /// The parameters cannot be used.
    Parameters(ParametersRefused),
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
            Self::Parameters(refused) => write!(f, "{refused}"),
            Self::Missing(name) => write!(f, "{name} is missing"),
            Self::TooLong(name) => write!(f, "{name} is too long"),
            Self::RedirectNotRegistered => {
                f.write_str("the client has not registered this redirect_uri")
            }
        }
    }
}

impl std::error::Error for AuthorizationClientError {}

/// Why a user is sent back with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorizationParamsError {
    /// The parameters cannot be used.
    Parameters(ParametersRefused),
    /// Something else than a code is wanted.
    ResponseType,
    /// The answer is wanted in another way than by the query.
    ResponseMode,
    /// The state is too long, or has characters that states do not have.
    State,
    /// There is no challenge of the method `S256`.
    NoPkce,
    /// A token for another server is wanted.
    OtherResource,
    /// The scopes are malformed, or all of them unknown.
    Scope,
}

impl AuthorizationParamsError {
    /// The code of the error (RFC 6749, section 4.1.2.1; RFC 8707, section 2).
    #[must_use]
    pub const fn code(self) -> &'static str {
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
            Self::Parameters(refused) => write!(f, "{refused}"),
            Self::ResponseType => f.write_str("response_type must be code"),
            Self::ResponseMode => f.write_str("response_mode must be query"),
            Self::State => write!(
                f,
                "state must be at most {LONGEST_STATE} visible characters"
            ),
            Self::NoPkce => f.write_str("a code_challenge with the method S256 is needed"),
            Self::OtherResource => write!(f, "{OtherResource}"),
            Self::Scope => f.write_str("none of these scopes is known here"),
        }
    }
}

impl std::error::Error for AuthorizationParamsError {}

#[cfg(test)]
mod tests;
