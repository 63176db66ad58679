//! Requests to the token endpoint and the revocation endpoint (OAuth 2.1, sections 2.4, 3.2 and 4; RFC 7009).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::documents::Secret;
use crate::rules::authorization_server::authorization::check_resource;
use crate::rules::authorization_server::parameters::Parameters;
use crate::rules::form;
use crate::rules::resource_indicator::ResourceIndicator;

/// The grant of a token request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum GrantRequest {
    /// An authorization code.
    AuthorizationCode {
        /// The code.
        code: Secret,
        /// The redirect URI of the authorization request.
        redirect_uri: String,
        /// The PKCE verifier of the challenge.
        code_verifier: Secret,
    },
    /// A refresh token.
    RefreshToken {
        /// The token.
        token: Secret,
        /// The requested scopes, if they are fewer.
        scope: Option<String>,
    },
}

impl GrantRequest {
    /// Parses a request for tokens of one resource.
    ///
    /// # Errors
    /// Returns an error if a parameter is missing or duplicate, the grant type is unsupported, or the request names
    /// another resource.
    pub(crate) fn read(
        parameters: &Parameters,
        resource: &ResourceIndicator,
    ) -> Result<Self, TokenRequestError> {
        parameters
            .check_no_duplicates()
            .map_err(|_| TokenRequestError::InvalidRequest)?;
        check_resource(parameters, resource).map_err(|_| TokenRequestError::InvalidTarget)?;
        let optional = |name| {
            let value = parameters.single(name);
            value.map_err(|_| TokenRequestError::InvalidRequest)
        };
        let required = |name| optional(name)?.ok_or(TokenRequestError::InvalidRequest);
        match required("grant_type")? {
            "authorization_code" => Ok(Self::AuthorizationCode {
                code: required("code")?.into(),
                redirect_uri: required("redirect_uri")?.to_owned(),
                code_verifier: required("code_verifier")?.into(),
            }),
            "refresh_token" => Ok(Self::RefreshToken {
                token: required("refresh_token")?.into(),
                scope: optional("scope")?.map(str::to_owned),
            }),
            _ => Err(TokenRequestError::UnsupportedGrantType),
        }
    }
}

/// The client id of a request and its proof.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct PresentedClient {
    /// The client id.
    pub client_id: String,
    /// The client secret.
    pub secret: Option<Secret>,
    /// Whether both were in the header. An error response then names the scheme (RFC 6749, section 5.2).
    pub in_header: bool,
}

impl PresentedClient {
    /// Reads the client from the `Authorization` headers and the form.
    ///
    /// # Errors
    /// Returns an error if there is no client, or if the request uses two authentication methods.
    pub(crate) fn read(
        headers: &[&str],
        parameters: &Parameters,
    ) -> Result<Self, TokenRequestError> {
        let optional = |name| {
            let value = parameters.single(name);
            value.map_err(|_| TokenRequestError::InvalidRequest)
        };
        let (id, secret) = (optional("client_id")?, optional("client_secret")?);
        match headers {
            [] => Ok(Self {
                client_id: id.ok_or(TokenRequestError::InvalidRequest)?.to_owned(),
                secret: secret.map(Secret::from),
                in_header: false,
            }),
            [header] => {
                let (client_id, secret_in_header) =
                    read_basic(header).ok_or(TokenRequestError::InvalidClient)?;
                // OAuth 2.1, section 2.4: one authentication method per request.
                if secret.is_some() || id.is_some_and(|id| id != client_id) {
                    return Err(TokenRequestError::InvalidRequest);
                }
                Ok(Self {
                    client_id,
                    secret: Some(secret_in_header),
                    in_header: true,
                })
            }
            _ => Err(TokenRequestError::InvalidRequest),
        }
    }
}

/// Parses id and secret of a `Basic` header, each form-encoded (RFC 6749, section 2.3.1).
fn read_basic(header: &str) -> Option<(String, Secret)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let pair = STANDARD.decode(encoded.trim_matches(' ')).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (id, secret) = pair.split_once(':')?;
    Some((form::decode_part(id)?, form::decode_part(secret)?.into()))
}

/// The reason why a client gets no token (RFC 6749, section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum TokenRequestError {
    /// A parameter is missing, duplicate or malformed.
    InvalidRequest,
    /// The client is unknown, or its authentication failed.
    InvalidClient,
    /// The code or refresh token is invalid.
    InvalidGrant,
    /// The grant type is not supported.
    UnsupportedGrantType,
    /// The requested scopes exceed the granted ones.
    InvalidScope,
    /// The request names another resource (RFC 8707, section 2).
    InvalidTarget,
}

impl TokenRequestError {
    /// Returns the error code.
    #[must_use]
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
        }
    }

    /// Returns the HTTP status.
    #[must_use]
    pub(crate) const fn status(self) -> u16 {
        match self {
            Self::InvalidClient => 401,
            _ => 400,
        }
    }
}

impl fmt::Display for TokenRequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidRequest => "a parameter is missing, duplicate or malformed",
            Self::InvalidClient => "the client is unknown or its authentication failed",
            Self::InvalidGrant => "the code or refresh token is invalid",
            Self::UnsupportedGrantType => "grant_type must be authorization_code or refresh_token",
            Self::InvalidScope => "the requested scopes exceed the granted scopes",
            Self::InvalidTarget => "this server does not issue tokens for this resource",
        })
    }
}

impl std::error::Error for TokenRequestError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::token_request::ClientAuthentication;

    fn parameters(text: &str) -> Parameters {
        Parameters::read(text).unwrap()
    }

    fn read(text: &str) -> Result<GrantRequest, TokenRequestError> {
        let resource = ResourceIndicator::parse("https://mcp.example.com/mcp").unwrap();
        GrantRequest::read(&parameters(text), &resource)
    }

    #[test]
    fn both_grant_types_are_parsed() {
        let code = read("grant_type=authorization_code&code=c&redirect_uri=r&code_verifier=v");
        let expected = GrantRequest::AuthorizationCode {
            code: "c".into(),
            redirect_uri: "r".to_owned(),
            code_verifier: "v".into(),
        };
        assert_eq!(code, Ok(expected));
        let refresh = read(
            "grant_type=refresh_token&refresh_token=t&scope=a&resource=https://mcp.example.com/mcp",
        );
        let expected = GrantRequest::RefreshToken {
            token: "t".into(),
            scope: Some("a".to_owned()),
        };
        assert_eq!(refresh, Ok(expected));
    }

    #[test]
    fn invalid_token_requests_are_rejected() {
        let check = |text: &str, expected: TokenRequestError| {
            assert_eq!(read(text), Err(expected), "{text}");
        };
        let invalid = TokenRequestError::InvalidRequest;
        check("", invalid);
        check(
            "grant_type=authorization_code&code=c&redirect_uri=r",
            invalid,
        );
        check(
            "grant_type=authorization_code&code=c&code_verifier=v",
            invalid,
        );
        check(
            "grant_type=authorization_code&redirect_uri=r&code_verifier=v",
            invalid,
        );
        check("grant_type=refresh_token", invalid);
        check(
            "grant_type=refresh_token&refresh_token=t&refresh_token=u",
            invalid,
        );
        for grant in ["password", "client_credentials", "implicit"] {
            let text = format!("grant_type={grant}");
            check(&text, TokenRequestError::UnsupportedGrantType);
        }
        check(
            "grant_type=refresh_token&refresh_token=t&resource=https://other.example.com",
            TokenRequestError::InvalidTarget,
        );
    }

    #[test]
    fn client_uses_one_authentication_method() {
        let read = |headers: &[&str], text: &str| PresentedClient::read(headers, &parameters(text));
        let public = read(&[], "client_id=c").unwrap();
        assert_eq!((public.client_id.as_str(), public.secret), ("c", None));
        let post = read(&[], "client_id=c&client_secret=s").unwrap();
        assert_eq!(post.secret, Some("s".into()));

        let secret = Secret::new("s:t ü");
        let client = ClientAuthentication::Basic {
            client_id: "https://a/b",
            client_secret: &secret,
        };
        let header = client.authorization().unwrap();
        let basic = read(&[header.expose()], "client_id=https://a/b").unwrap();
        assert_eq!(basic.client_id, "https://a/b");
        assert_eq!(basic.secret, Some(secret));
        assert!(basic.in_header);

        let error = |headers: &[&str], text: &str| read(headers, text).unwrap_err();
        let invalid = TokenRequestError::InvalidRequest;
        assert_eq!(error(&[], ""), invalid);
        assert_eq!(error(&[], "client_id=c&client_id=d"), invalid);
        assert_eq!(error(&[header.expose()], "client_id=other"), invalid);
        assert_eq!(error(&[header.expose()], "client_secret=s"), invalid);
        assert_eq!(error(&[header.expose(), "Basic YTpi"], ""), invalid);
        for header in ["Basic", "Basic %", "Basic YQ==", "Bearer abc", ""] {
            let error = error(&[header], "client_id=c");
            assert_eq!(error, TokenRequestError::InvalidClient, "{header}");
        }
    }
}
