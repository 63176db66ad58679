//! Dynamic client registration (RFC 7591).

use std::fmt;

use crate::documents::{ClientMetadata, ClientRegistration, Secret};
use crate::rules::authorization_server::authorization::LONGEST_REDIRECT_URI;
use crate::rules::endpoints::InvalidUrl;
use crate::rules::metadata_rules::AuthMethod;
use crate::rules::redirect_uri;

/// The maximum number of redirect URIs of a client.
pub(crate) const MAX_REDIRECT_URIS: usize = 10;

/// The maximum total length of a client's redirect URIs, in bytes. Registration is open, and each URI is stored.
pub(crate) const LONGEST_REDIRECT_URIS: usize = 4096;

/// The maximum length of a name, in bytes.
pub(crate) const LONGEST_NAME: usize = 256;

/// The grant types of every client.
const GRANTS: [&str; 2] = ["authorization_code", "refresh_token"];

/// The stored part of a registration: only what is needed to serve the client.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct AcceptedRegistration {
    /// The registered redirect URIs.
    pub redirect_uris: Vec<String>,
    /// The client's name, which is not verified.
    pub name: Option<String>,
    /// The authentication method. `none` for public clients.
    pub method: AuthMethod,
}

impl AcceptedRegistration {
    /// Checks the metadata of a client.
    ///
    /// # Errors
    /// Returns an error if it has no redirect URIs or invalid ones, or requires unsupported features.
    pub(crate) fn check(metadata: &ClientMetadata) -> Result<Self, ClientRegistrationError> {
        let redirect_uris = metadata.redirect_uris.clone().unwrap_or_default();
        if !(1..=MAX_REDIRECT_URIS).contains(&redirect_uris.len()) {
            return Err(ClientRegistrationError::RedirectUriCount);
        }
        let total_length: usize = redirect_uris.iter().map(String::len).sum();
        if total_length > LONGEST_REDIRECT_URIS {
            return Err(ClientRegistrationError::RedirectUriTooLong);
        }
        for uri in &redirect_uris {
            if uri.len() > LONGEST_REDIRECT_URI {
                return Err(ClientRegistrationError::RedirectUriTooLong);
            }
            redirect_uri::check(uri).map_err(ClientRegistrationError::RedirectUri)?;
        }
        let name = metadata.client_name.clone();
        if name.as_ref().is_some_and(|name| name.len() > LONGEST_NAME) {
            return Err(ClientRegistrationError::Metadata("client_name"));
        }
        let lacks = |list: &Option<Vec<String>>, needed: &str| {
            let list = list.as_deref();
            list.is_some_and(|list| !list.iter().any(|name| name == needed))
        };
        if lacks(&metadata.grant_types, "authorization_code") {
            return Err(ClientRegistrationError::Metadata("grant_types"));
        }
        if lacks(&metadata.response_types, "code") {
            return Err(ClientRegistrationError::Metadata("response_types"));
        }
        // RFC 7591, section 2: the default method is `client_secret_basic`.
        let method = metadata.token_endpoint_auth_method.as_deref();
        let method = method.map_or(Some(AuthMethod::ClientSecretBasic), AuthMethod::from_name);
        match method {
            Some(
                method @ (AuthMethod::None
                | AuthMethod::ClientSecretBasic
                | AuthMethod::ClientSecretPost),
            ) => Ok(Self {
                redirect_uris,
                name,
                method,
            }),
            _ => Err(ClientRegistrationError::Metadata(
                "token_endpoint_auth_method",
            )),
        }
    }

    /// Returns the registration response with the accepted values (RFC 7591, section 3.2.1).
    #[must_use]
    pub(crate) fn response(
        &self,
        client_id: &str,
        secret: Option<Secret>,
        now: u64,
    ) -> ClientRegistration {
        let mut metadata = ClientMetadata::new()
            .with_redirect_uris(&self.redirect_uris)
            .with_grant_types(GRANTS)
            .with_response_types(["code"])
            .with_token_endpoint_auth_method(self.method.as_str());
        metadata.client_name.clone_from(&self.name);
        let mut registration = ClientRegistration::new(client_id).with_metadata(metadata);
        registration.client_id_issued_at = Some(now);
        registration.client_secret_expires_at = secret.is_some().then_some(0);
        registration.client_secret = secret;
        registration
    }
}

/// The reason why a client is not registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ClientRegistrationError {
    /// The number of redirect URIs is zero or too high.
    RedirectUriCount,
    /// A redirect URI, or all of them together, are too long.
    RedirectUriTooLong,
    /// A redirect URI is invalid.
    RedirectUri(InvalidUrl),
    /// This member has an unsupported value.
    Metadata(&'static str),
}

impl ClientRegistrationError {
    /// Returns the error code (RFC 7591, section 3.2.2).
    #[must_use]
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::RedirectUriCount | Self::RedirectUriTooLong | Self::RedirectUri(_) => {
                "invalid_redirect_uri"
            }
            Self::Metadata(_) => "invalid_client_metadata",
        }
    }
}

impl fmt::Display for ClientRegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RedirectUriCount => {
                write!(
                    f,
                    "a client must have 1 to {MAX_REDIRECT_URIS} redirect URIs"
                )
            }
            Self::RedirectUriTooLong => write!(
                f,
                "a redirect URI may have at most {LONGEST_REDIRECT_URI} bytes, and all together {LONGEST_REDIRECT_URIS}"
            ),
            Self::RedirectUri(invalid) => write!(f, "{invalid}"),
            Self::Metadata(name) => write!(f, "the value of {name} is not supported"),
        }
    }
}

impl std::error::Error for ClientRegistrationError {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn outcome(changes: Value) -> Result<AcceptedRegistration, ClientRegistrationError> {
        let mut metadata = json!({"redirect_uris": ["http://127.0.0.1/cb"], "client_name": "A"});
        let (Value::Object(members), Value::Object(changes)) = (&mut metadata, changes) else {
            panic!("objects");
        };
        members.extend(changes);
        AcceptedRegistration::check(&serde_json::from_value(metadata).unwrap())
    }

    #[test]
    fn valid_metadata_is_accepted() {
        let check = |method: Value, expected: AuthMethod| {
            let accepted = outcome(json!({"token_endpoint_auth_method": method})).unwrap();
            assert_eq!(accepted.method, expected);
        };
        check(json!("none"), AuthMethod::None);
        check(json!("client_secret_post"), AuthMethod::ClientSecretPost);
        check(json!("client_secret_basic"), AuthMethod::ClientSecretBasic);
        check(Value::Null, AuthMethod::ClientSecretBasic);
        let types = json!({"grant_types": ["authorization_code", "x"], "response_types": ["code"], "logo_uri": "y"});
        assert!(outcome(types).is_ok());
    }

    #[test]
    fn unsupported_metadata_is_rejected_with_its_code() {
        #[track_caller]
        fn check(changes: Value, code: &str) {
            let error = outcome(changes.clone()).unwrap_err();
            assert_eq!(error.code(), code, "{changes}");
        }
        for uris in [
            json!(null),
            json!([]),
            json!(["http://evil.test/cb"]),
            json!(["https://a/cb", "javascript:alert(1)"]),
            json!(["https://a/cb#x"]),
            json!(["https://user@a/cb"]),
            json!(["cursor://a/cb"]),
        ] {
            check(json!({"redirect_uris": uris}), "invalid_redirect_uri");
        }
        for changes in [
            json!({"grant_types": ["client_credentials"]}),
            json!({"response_types": ["token"]}),
            json!({"token_endpoint_auth_method": "private_key_jwt"}),
            json!({"token_endpoint_auth_method": "made_up"}),
        ] {
            check(changes, "invalid_client_metadata");
        }
    }

    #[test]
    fn limits_are_exact() {
        let uris = |count: usize| {
            let uris: Vec<String> = (0..count).map(|at| format!("https://a/{at}")).collect();
            outcome(json!({"redirect_uris": uris})).is_ok()
        };
        assert!(uris(MAX_REDIRECT_URIS));
        assert!(!uris(MAX_REDIRECT_URIS + 1));
        let uri = |length: usize| {
            let uri = format!("https://a/{}", "b".repeat(length - "https://a/".len()));
            outcome(json!({"redirect_uris": [uri]})).is_ok()
        };
        assert!(uri(LONGEST_REDIRECT_URI));
        assert!(!uri(LONGEST_REDIRECT_URI + 1));
        let with_total = |total: usize| {
            let uri = |length: usize| format!("https://a/{}", "b".repeat(length - 10));
            let uris = [uri(819), uri(819), uri(819), uri(819), uri(total - 4 * 819)];
            outcome(json!({"redirect_uris": uris})).is_ok()
        };
        assert!(with_total(LONGEST_REDIRECT_URIS));
        assert!(!with_total(LONGEST_REDIRECT_URIS + 1));
        let name = |length: usize| outcome(json!({"client_name": "n".repeat(length)})).is_ok();
        assert!(name(LONGEST_NAME));
        assert!(!name(LONGEST_NAME + 1));
    }

    #[test]
    fn response_contains_the_accepted_values() {
        let accepted = outcome(json!({"logo_uri": "https://a/logo", "scope": "x"})).unwrap();
        let response = serde_json::to_value(accepted.response("id", Some("s".into()), 7)).unwrap();
        assert_eq!(
            response,
            json!({
                "client_id": "id", "client_secret": "s", "client_id_issued_at": 7, "client_secret_expires_at": 0,
                "redirect_uris": ["http://127.0.0.1/cb"], "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"], "client_name": "A", "token_endpoint_auth_method": "client_secret_basic",
            })
        );
        let public = outcome(json!({"token_endpoint_auth_method": "none"})).unwrap();
        let response = serde_json::to_value(public.response("id", None, 7)).unwrap();
        assert_eq!(response.get("client_secret_expires_at"), None);
    }
}
