//! Registrations that clients ask for (RFC 7591).

use std::fmt;

use toolwire_types::auth::{ClientMetadata, ClientRegistration, Secret};

use crate::auth::authorization_server::authorization::LONGEST_REDIRECT_URI;
use crate::auth::endpoints::InvalidUrl;
use crate::auth::metadata_rules::AuthMethod;
use crate::auth::redirect_uri;

/// How many redirect URIs a client may register.
pub const MAX_REDIRECT_URIS: usize = 10;

/// How long all redirect URIs of a client may be together, in bytes: anybody may register, and each is remembered.
pub const LONGEST_REDIRECT_URIS: usize = 4096;

/// How long a name may be, in bytes.
pub const LONGEST_NAME: usize = 256;

/// The grants that every client is registered for.
const GRANTS: [&str; 2] = ["authorization_code", "refresh_token"];

/// What is kept of a registration: what is needed to serve the client, and nothing it only told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcceptedRegistration {
    /// Where users may be sent back to.
    pub redirect_uris: Vec<String>,
    /// The name, which anybody could have chosen.
    pub name: Option<String>,
    /// How it proves itself: public clients do not.
    pub method: AuthMethod,
}

impl AcceptedRegistration {
    /// Judges what a client says about itself.
    ///
    /// # Errors
    /// When it has no redirect URIs or some that nobody may be sent to, or cannot do what is done here.
    pub fn judge(metadata: &ClientMetadata) -> Result<Self, ClientRegistrationError> {
        let redirect_uris = metadata.redirect_uris.clone().unwrap_or_default();
        if !(1..=MAX_REDIRECT_URIS).contains(&redirect_uris.len()) {
            return Err(ClientRegistrationError::RedirectUriCount);
        }
        let together: usize = redirect_uris.iter().map(String::len).sum();
        if together > LONGEST_REDIRECT_URIS {
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
        // RFC 7591, section 2: who says nothing wants a password in the header.
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

    /// The answer, with everything as it was taken (RFC 7591, section 3.2.1).
    #[must_use]
    pub fn answer(&self, client_id: &str, secret: Option<Secret>, now: u64) -> ClientRegistration {
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

/// Why a client is not registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientRegistrationError {
    /// It has no redirect URIs, or too many.
    RedirectUriCount,
    /// A redirect URI is too long, or all of them together are.
    RedirectUriTooLong,
    /// A redirect URI is none that users may be sent to.
    RedirectUri(InvalidUrl),
    /// This member cannot be as it is.
    Metadata(&'static str),
}

impl ClientRegistrationError {
    /// The code of the error (RFC 7591, section 3.2.2).
    #[must_use]
    pub const fn code(&self) -> &'static str {
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
                write!(f, "a client has 1 to {MAX_REDIRECT_URIS} redirect URIs")
            }
            Self::RedirectUriTooLong => write!(
                f,
                "a redirect URI has at most {LONGEST_REDIRECT_URI} bytes, and all together {LONGEST_REDIRECT_URIS}"
            ),
            Self::RedirectUri(invalid) => write!(f, "{invalid}"),
            Self::Metadata(name) => write!(f, "{name} cannot be registered like this"),
        }
    }
}

impl std::error::Error for ClientRegistrationError {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judged(changes: Value) -> Result<AcceptedRegistration, ClientRegistrationError> {
        let mut metadata = json!({"redirect_uris": ["http://127.0.0.1/cb"], "client_name": "A"});
        let (Value::Object(members), Value::Object(changes)) = (&mut metadata, changes) else {
            panic!("objects");
        };
        members.extend(changes);
        AcceptedRegistration::judge(&serde_json::from_value(metadata).unwrap())
    }

    #[test]
    fn clients_are_registered_as_they_ask() {
        let check = |method: Value, expected: AuthMethod| {
            let accepted = judged(json!({"token_endpoint_auth_method": method})).unwrap();
            assert_eq!(accepted.method, expected);
        };
        check(json!("none"), AuthMethod::None);
        check(json!("client_secret_post"), AuthMethod::ClientSecretPost);
        check(json!("client_secret_basic"), AuthMethod::ClientSecretBasic);
        check(Value::Null, AuthMethod::ClientSecretBasic);
        let types = json!({"grant_types": ["authorization_code", "x"], "response_types": ["code"], "logo_uri": "y"});
        assert!(judged(types).is_ok());
    }

    #[test]
    fn what_cannot_be_served_is_refused_with_its_code() {
        #[track_caller]
        fn check(changes: Value, code: &str) {
            let refused = judged(changes.clone()).unwrap_err();
            assert_eq!(refused.code(), code, "{changes}");
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
    fn every_limit_is_where_it_is_said_to_be() {
        let uris = |count: usize| {
            let uris: Vec<String> = (0..count).map(|at| format!("https://a/{at}")).collect();
            judged(json!({"redirect_uris": uris})).is_ok()
        };
        assert!(uris(MAX_REDIRECT_URIS));
        assert!(!uris(MAX_REDIRECT_URIS + 1));
        let uri = |length: usize| {
            let uri = format!("https://a/{}", "b".repeat(length - "https://a/".len()));
            judged(json!({"redirect_uris": [uri]})).is_ok()
        };
        assert!(uri(LONGEST_REDIRECT_URI));
        assert!(!uri(LONGEST_REDIRECT_URI + 1));
        let together = |total: usize| {
            let uri = |length: usize| format!("https://a/{}", "b".repeat(length - 10));
            let uris = [uri(819), uri(819), uri(819), uri(819), uri(total - 4 * 819)];
            judged(json!({"redirect_uris": uris})).is_ok()
        };
        assert!(together(LONGEST_REDIRECT_URIS));
        assert!(!together(LONGEST_REDIRECT_URIS + 1));
        let name = |length: usize| judged(json!({"client_name": "n".repeat(length)})).is_ok();
        assert!(name(LONGEST_NAME));
        assert!(!name(LONGEST_NAME + 1));
    }

    #[test]
    fn answers_tell_what_was_taken() {
        let accepted = judged(json!({"logo_uri": "https://a/logo", "scope": "x"})).unwrap();
        let answer = serde_json::to_value(accepted.answer("id", Some("s".into()), 7)).unwrap();
        assert_eq!(
            answer,
            json!({
                "client_id": "id", "client_secret": "s", "client_id_issued_at": 7, "client_secret_expires_at": 0,
                "redirect_uris": ["http://127.0.0.1/cb"], "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"], "client_name": "A", "token_endpoint_auth_method": "client_secret_basic",
            })
        );
        let public = judged(json!({"token_endpoint_auth_method": "none"})).unwrap();
        let answer = serde_json::to_value(public.answer("id", None, 7)).unwrap();
        assert_eq!(answer.get("client_secret_expires_at"), None);
    }
}
