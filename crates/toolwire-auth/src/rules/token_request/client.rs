//! Client authentication at a token endpoint (OAuth 2.1, section 2.4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::documents::Secret;
use crate::rules::form;

/// The client and its authentication.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub(crate) enum ClientAuthentication<'a> {
    /// A public client: `none`.
    Public {
        /// The client's id.
        client_id: &'a str,
    },
    /// A secret in the header: `client_secret_basic`.
    Basic {
        /// The client's id.
        client_id: &'a str,
        /// The client secret.
        client_secret: &'a Secret,
    },
    /// A secret in the body: `client_secret_post`.
    Post {
        /// The client's id.
        client_id: &'a str,
        /// The client secret.
        client_secret: &'a Secret,
    },
    /// A signed assertion, which also identifies the client: `private_key_jwt` (RFC 7523, section 2.2).
    Assertion(&'a Secret),
}

impl<'a> ClientAuthentication<'a> {
    /// Returns the `Authorization` header, if the method uses it.
    #[must_use]
    pub(crate) fn authorization(self) -> Option<Secret> {
        let Self::Basic {
            client_id,
            client_secret,
        } = self
        else {
            return None;
        };
        // RFC 6749, section 2.3.1: both are form-encoded first, so that the colon between them is the only one.
        let mut pair = String::new();
        form::encode_into(&mut pair, client_id);
        pair.push(':');
        form::encode_into(&mut pair, client_secret.expose());
        Some(Secret::new(format!("Basic {}", STANDARD.encode(pair))))
    }

    pub(super) fn parameters(self) -> [Option<(&'static str, &'a str)>; 2] {
        match self {
            Self::Public { client_id } => [Some(("client_id", client_id)), None],
            Self::Basic { .. } => [None, None],
            Self::Post {
                client_id,
                client_secret,
            } => [
                Some(("client_id", client_id)),
                Some(("client_secret", client_secret.expose())),
            ],
            Self::Assertion(assertion) => [
                Some((
                    "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                )),
                Some(("client_assertion", assertion.expose())),
            ],
        }
    }
}
