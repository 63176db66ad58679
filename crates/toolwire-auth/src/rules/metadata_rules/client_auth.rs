//! The authentication of a client at the token endpoint.

use std::fmt;

use toolwire_proto::http::truncated_for_display;

/// A method of authentication at the token endpoint (RFC 7591, section 2; OpenID Connect Core, section 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub(crate) enum AuthMethod {
    /// Only the id is sent: a public client.
    None,
    /// Id and secret in the `Authorization` header.
    ClientSecretBasic,
    /// Id and secret in the body.
    ClientSecretPost,
    /// An assertion that is signed with the client's key.
    PrivateKeyJwt,
}

/// The credentials of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientCredentials {
    /// Whether the client has a secret.
    pub has_secret: bool,
    /// Whether the client has a key that the server knows.
    pub has_key: bool,
}

impl AuthMethod {
    /// The methods in order of preference, strongest first. A secret in the header is preferred (RFC 6749, section
    /// 2.3.1).
    const PREFERRED: [Self; 4] = [
        Self::PrivateKeyJwt,
        Self::ClientSecretBasic,
        Self::ClientSecretPost,
        Self::None,
    ];

    /// Returns the method name in metadata.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// Parses a method name.
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let mut methods = Self::PREFERRED.into_iter();
        methods.find(|method| method.as_str() == name)
    }

    fn is_possible_with(self, credentials: ClientCredentials) -> bool {
        match self {
            Self::None => true,
            Self::ClientSecretBasic | Self::ClientSecretPost => credentials.has_secret,
            Self::PrivateKeyJwt => credentials.has_key,
        }
    }

    /// Chooses the method: the one that the client is registered with, otherwise the strongest supported one.
    ///
    /// `supported` is `token_endpoint_auth_methods_supported`. If it is absent, the server supports
    /// `client_secret_basic` (RFC 8414, section 2). A client without credentials is public, regardless of the list,
    /// because many servers with public clients do not declare `none`.
    ///
    /// # Errors
    /// Returns an error if the client cannot use the registered method, or none of the supported ones.
    pub(crate) fn choose(
        registered: Option<&str>,
        supported: Option<&[String]>,
        credentials: ClientCredentials,
    ) -> Result<Self, AuthMethodError> {
        if let Some(name) = registered {
            return Self::from_name(name)
                .filter(|method| method.is_possible_with(credentials))
                .ok_or_else(|| AuthMethodError {
                    offered: vec![name.to_owned()],
                });
        }
        if credentials == ClientCredentials::default() {
            return Ok(Self::None);
        }
        Self::PREFERRED
            .into_iter()
            .find(|method| method.is_listed_in(supported) && method.is_possible_with(credentials))
            .ok_or_else(|| AuthMethodError {
                offered: supported.unwrap_or_default().to_vec(),
            })
    }

    /// Returns the method for registration: public if the server permits it, because a secret on a user's machine is
    /// not confidential.
    #[must_use]
    pub(crate) fn for_registration(supported: Option<&[String]>, has_key: bool) -> Self {
        let mut preferred = [
            (Self::PrivateKeyJwt, has_key),
            (Self::None, true),
            (Self::ClientSecretBasic, true),
            (Self::ClientSecretPost, true),
        ]
        .into_iter();
        preferred
            .find(|(method, is_possible)| *is_possible && method.is_listed_in(supported))
            .map_or(Self::None, |(method, _)| method)
    }

    fn is_listed_in(self, supported: Option<&[String]>) -> bool {
        match supported {
            Some(names) => names.iter().any(|name| name == self.as_str()),
            None => self == Self::ClientSecretBasic,
        }
    }
}

/// The error if client and server have no common authentication method.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct AuthMethodError {
    /// The methods of the server or the registration.
    pub offered: Vec<String>,
}

impl fmt::Display for AuthMethodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offered = match self.offered.as_slice() {
            [] => "client_secret_basic".to_owned(),
            names => truncated_for_display(&names.join(", "))
                .escape_debug()
                .to_string(),
        };
        write!(
            f,
            "the client has no credentials for the authentication methods of the token endpoint: {offered}"
        )
    }
}

impl std::error::Error for AuthMethodError {}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: ClientCredentials = ClientCredentials {
        has_secret: false,
        has_key: false,
    };
    const SECRET: ClientCredentials = ClientCredentials {
        has_secret: true,
        has_key: false,
    };
    const KEY: ClientCredentials = ClientCredentials {
        has_secret: false,
        has_key: true,
    };
    const BOTH: ClientCredentials = ClientCredentials {
        has_secret: true,
        has_key: true,
    };

    fn list(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn registered_method_is_used() {
        let check = |registered: &str, credentials, expected: Option<AuthMethod>| {
            let supported = list("client_secret_post");
            let chosen = AuthMethod::choose(Some(registered), Some(&supported), credentials);
            assert_eq!(chosen.ok(), expected, "{registered}");
        };
        check("none", SECRET, Some(AuthMethod::None));
        check(
            "client_secret_basic",
            SECRET,
            Some(AuthMethod::ClientSecretBasic),
        );
        check(
            "client_secret_post",
            SECRET,
            Some(AuthMethod::ClientSecretPost),
        );
        check("private_key_jwt", KEY, Some(AuthMethod::PrivateKeyJwt));
        check("client_secret_basic", KEY, None);
        check("private_key_jwt", SECRET, None);
        check("client_secret_jwt", BOTH, None);
        check("tls_client_auth", BOTH, None);
    }

    #[test]
    fn strongest_supported_method_is_used() {
        let check = |supported: Option<&str>, credentials, expected: Option<AuthMethod>| {
            let supported = supported.map(list);
            let chosen = AuthMethod::choose(None, supported.as_deref(), credentials);
            assert_eq!(chosen.ok(), expected, "{supported:?}");
        };
        let all = Some("none client_secret_post client_secret_basic private_key_jwt");
        check(all, NOTHING, Some(AuthMethod::None));
        check(all, SECRET, Some(AuthMethod::ClientSecretBasic));
        check(all, BOTH, Some(AuthMethod::PrivateKeyJwt));
        check(
            Some("client_secret_post none"),
            SECRET,
            Some(AuthMethod::ClientSecretPost),
        );
        check(Some("none"), SECRET, Some(AuthMethod::None));
        check(Some("client_secret_basic"), NOTHING, Some(AuthMethod::None));
        check(Some("client_secret_basic"), KEY, None);
        check(Some("private_key_jwt"), SECRET, None);
        check(Some("made_up"), BOTH, None);
        check(None, NOTHING, Some(AuthMethod::None));
        check(None, SECRET, Some(AuthMethod::ClientSecretBasic));
        check(None, KEY, None);
    }

    #[test]
    fn clients_register_as_public_if_supported() {
        let check = |supported: Option<&str>, has_key, expected| {
            let supported = supported.map(list);
            assert_eq!(
                AuthMethod::for_registration(supported.as_deref(), has_key),
                expected
            );
        };
        check(Some("client_secret_basic none"), false, AuthMethod::None);
        check(
            Some("private_key_jwt none"),
            true,
            AuthMethod::PrivateKeyJwt,
        );
        check(
            Some("client_secret_post"),
            false,
            AuthMethod::ClientSecretPost,
        );
        check(
            Some("client_secret_post client_secret_basic"),
            true,
            AuthMethod::ClientSecretBasic,
        );
        check(Some("private_key_jwt"), false, AuthMethod::None);
        check(None, false, AuthMethod::ClientSecretBasic);
    }

    #[test]
    fn error_names_the_offered_methods() {
        let supported = list("private_key_jwt tls_client_auth");
        let error = AuthMethod::choose(None, Some(&supported), SECRET).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("private_key_jwt, tls_client_auth"),
            "{error}"
        );
    }
}
