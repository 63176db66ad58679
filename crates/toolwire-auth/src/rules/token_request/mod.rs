//! Requests to a token endpoint: the form and the `Authorization` header.
//!
//! OAuth 2.1, sections 2.4 and 4; RFC 8707 for `resource`; RFC 7523 for assertions; RFC 8693 for token exchange. This
//! module contains data only. It does not sign assertions or send forms.

mod assertion;
mod client;
#[cfg(test)]
mod tests;

use std::fmt;

use toolwire_proto::scopes::ScopeSet;

use crate::documents::Secret;
use crate::rules::form;
use crate::rules::pkce::Verifier;
use crate::rules::resource_indicator::ResourceIndicator;

pub(crate) use self::assertion::ClientAssertionClaims;
pub(crate) use self::client::ClientAuthentication;

/// The token type of an identity assertion (extension enterprise-managed authorization).
pub(crate) const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The token type of an access token (RFC 8693, section 3).
pub(crate) const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// The grant of a token request.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub(crate) enum Grant<'a> {
    /// The authorization code of a redirect.
    AuthorizationCode {
        /// The code.
        code: &'a Secret,
        /// The redirect URI of the authorization request.
        redirect_uri: &'a str,
        /// The PKCE verifier of the code's challenge.
        verifier: &'a Verifier,
    },
    /// A refresh token.
    RefreshToken(&'a Secret),
    /// Only the client's authentication (extension OAuth client credentials).
    ClientCredentials,
    /// A signed assertion of an enterprise's identity provider or of a workload (RFC 7523).
    JwtBearer(&'a Secret),
    /// The exchange of an identity provider's token for an assertion to an MCP server's authorization server (RFC
    /// 8693).
    ExchangeForAssertion {
        /// The token to exchange.
        subject_token: &'a Secret,
        /// The type of the token.
        subject_token_type: SubjectTokenType,
        /// The issuer of the authorization server that will receive the assertion.
        audience: &'a str,
    },
    /// The exchange of a caller's access token for one that another server accepts (RFC 8693).
    ExchangeAccessToken(&'a Secret),
}

/// A token to revoke (RFC 7009, section 2.1). Revoking a refresh token also ends the tokens that were issued from it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub(crate) enum RevokedToken<'a> {
    /// A refresh token.
    Refresh(&'a Secret),
    /// An access token.
    Access(&'a Secret),
}

/// The type of an exchanged token (RFC 8693, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum SubjectTokenType {
    /// An ID token of OpenID Connect.
    Id,
    /// A refresh token, after a sign-in with SAML.
    Refresh,
    /// An access token.
    Access,
}

impl SubjectTokenType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Id => "urn:ietf:params:oauth:token-type:id_token",
            Self::Refresh => "urn:ietf:params:oauth:token-type:refresh_token",
            Self::Access => ACCESS_TOKEN,
        }
    }
}

/// A request to a token endpoint.
#[derive(Clone)]
pub(crate) struct TokenRequest {
    form: Vec<(&'static str, Secret)>,
    authorization: Option<Secret>,
}

impl TokenRequest {
    /// Creates a request of a client with a grant.
    #[must_use]
    pub(crate) fn new(grant: Grant<'_>, client: ClientAuthentication<'_>) -> Self {
        let mut request = Self {
            form: Vec::new(),
            authorization: client.authorization(),
        };
        match grant {
            Grant::AuthorizationCode {
                code,
                redirect_uri,
                verifier,
            } => {
                request.push("grant_type", "authorization_code");
                request.push("code", code.expose());
                request.push("redirect_uri", redirect_uri);
                request.push("code_verifier", verifier.as_secret().expose());
            }
            Grant::RefreshToken(token) => {
                request.push("grant_type", "refresh_token");
                request.push("refresh_token", token.expose());
            }
            Grant::ClientCredentials => request.push("grant_type", "client_credentials"),
            Grant::JwtBearer(assertion) => {
                request.push("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
                request.push("assertion", assertion.expose());
            }
            Grant::ExchangeForAssertion {
                subject_token,
                subject_token_type,
                audience,
            } => {
                request.push(
                    "grant_type",
                    "urn:ietf:params:oauth:grant-type:token-exchange",
                );
                request.push("requested_token_type", ID_JAG);
                request.push("audience", audience);
                request.push("subject_token", subject_token.expose());
                request.push("subject_token_type", subject_token_type.as_str());
            }
            Grant::ExchangeAccessToken(subject_token) => {
                request.push(
                    "grant_type",
                    "urn:ietf:params:oauth:grant-type:token-exchange",
                );
                request.push("requested_token_type", ACCESS_TOKEN);
                request.push("subject_token", subject_token.expose());
                request.push("subject_token_type", ACCESS_TOKEN);
            }
        }
        request.push_client(client);
        request
    }

    /// Creates a request to a revocation endpoint (RFC 7009).
    #[must_use]
    pub(crate) fn revocation(token: RevokedToken<'_>, client: ClientAuthentication<'_>) -> Self {
        let mut request = Self {
            form: Vec::new(),
            authorization: client.authorization(),
        };
        let (token, hint) = match token {
            RevokedToken::Refresh(token) => (token, "refresh_token"),
            RevokedToken::Access(token) => (token, "access_token"),
        };
        request.push("token", token.expose());
        request.push("token_type_hint", hint);
        request.push_client(client);
        request
    }

    /// Sets the resource of the token, as in the authorization request. Required from 2025-06-18 on.
    #[must_use]
    pub(crate) fn with_resource(mut self, resource: &ResourceIndicator) -> Self {
        self.push("resource", resource.as_str());
        self
    }

    /// Sets the requested scopes. An empty set sets nothing.
    #[must_use]
    pub(crate) fn with_scopes(mut self, scopes: &ScopeSet) -> Self {
        if !scopes.is_empty() {
            self.push("scope", &scopes.to_string());
        }
        self
    }

    fn push_client(&mut self, client: ClientAuthentication<'_>) {
        for (name, value) in client.parameters().into_iter().flatten() {
            self.push(name, value);
        }
    }

    fn push(&mut self, name: &'static str, value: &str) {
        self.form.push((name, Secret::new(value)));
    }

    /// Returns the form body, of type `application/x-www-form-urlencoded`.
    #[must_use]
    pub(crate) fn body(&self) -> Secret {
        Secret::new(form::encode(self.parameters()))
    }

    /// Returns the `Authorization` header, if the client authenticates with one.
    #[must_use]
    pub(crate) fn authorization(&self) -> Option<&Secret> {
        self.authorization.as_ref()
    }

    /// Returns the parameters of the form. Most values are secret.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        self.form
            .iter()
            .map(|(name, value)| (*name, value.expose()))
    }
}

impl fmt::Debug for TokenRequest {
    /// Prints the names of the parameters without their values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.parameters().map(|(name, _)| name).collect();
        f.debug_struct("TokenRequest")
            .field("form", &names)
            .field("authorization", &self.authorization)
            .finish()
    }
}
