//! Client ID metadata documents: client ids that are URLs.
//!
//! draft-ietf-oauth-client-id-metadata-document-00, sections 2 to 4; spec 2026-07-28,
//! authorization/client-registration, "Client ID Metadata Documents". For clients that publish such a document, and for
//! authorization servers and proxies that read one.

use std::fmt;

use serde::Deserialize as _;
use toolwire_proto::web_url::WebUrl;

use crate::documents::{ClientIdMetadataDocument, JwkSet};
use crate::rules::endpoints::{InvalidUrl, InvalidUrlKind};
use crate::rules::jwk_rules;
use crate::rules::redirect_uri;

/// The maximum number of redirect URIs of a document.
pub(crate) const MAX_REDIRECT_URIS: usize = 100;

/// Checks that a URL can be a client id.
///
/// # Errors
/// Returns an error if it is not `https`, has no path, or has a fragment or dot segments in its path. A URL with user
/// info is malformed.
pub(crate) fn check_client_id_url(url: &str) -> Result<(), InvalidUrl> {
    let parsed = WebUrl::parse(url)?;
    let kind = if !parsed.is_secure {
        InvalidUrlKind::NotHttps
    } else if parsed.has_fragment {
        InvalidUrlKind::HasFragment
    } else if parsed.trimmed_path().is_empty() {
        InvalidUrlKind::HasNoPath
    } else if parsed.has_dot_segments() {
        InvalidUrlKind::HasDotSegments
    } else {
        return Ok(());
    };
    Err(InvalidUrl::new(url, kind))
}

/// Checks the document of a URL.
///
/// # Errors
/// Returns an error if the URL is not a valid client id, or if the document has another `client_id`, no name, or no
/// valid redirect URIs. The same applies if it contains or requires a secret, because the document is public.
pub(crate) fn check_client_id_document(
    document: &ClientIdMetadataDocument,
    url: &str,
) -> Result<(), ClientDocumentError> {
    check_client_id_url(url).map_err(ClientDocumentError::Url)?;
    if document.client_id != url {
        return Err(ClientDocumentError::OtherClient);
    }
    let metadata = &document.metadata;
    if metadata.client_name.as_deref().is_none_or(str::is_empty) {
        return Err(ClientDocumentError::Missing("client_name"));
    }
    let redirect_uris = metadata.redirect_uris.as_deref().unwrap_or_default();
    if redirect_uris.is_empty() {
        return Err(ClientDocumentError::Missing("redirect_uris"));
    }
    if redirect_uris.len() > MAX_REDIRECT_URIS {
        return Err(ClientDocumentError::TooManyRedirectUris);
    }
    for uri in redirect_uris {
        redirect_uri::check(uri).map_err(ClientDocumentError::Url)?;
    }
    let method = metadata.token_endpoint_auth_method.as_deref();
    if method.is_some_and(|method| method.starts_with("client_secret")) {
        return Err(ClientDocumentError::Secret("token_endpoint_auth_method"));
    }
    for name in ["client_secret", "client_secret_expires_at"] {
        if metadata.extra.contains_key(name) {
            return Err(ClientDocumentError::Secret(name));
        }
    }
    if let Some(jwks) = &metadata.jwks {
        let keys =
            JwkSet::deserialize(jwks).map_err(|_| ClientDocumentError::Missing("jwks.keys"))?;
        if keys.keys.iter().any(jwk_rules::is_secret) {
            return Err(ClientDocumentError::Secret("jwks"));
        }
    }
    Ok(())
}

/// The reason why a client's metadata document is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ClientDocumentError {
    /// Its own URL, or one of its redirect URIs, is invalid.
    Url(InvalidUrl),
    /// Its `client_id` is not its URL.
    OtherClient,
    /// This member is missing.
    Missing(&'static str),
    /// It has more than [`MAX_REDIRECT_URIS`].
    TooManyRedirectUris,
    /// This member contains or requires a secret.
    Secret(&'static str),
}

impl fmt::Display for ClientDocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(_) => f.write_str("the client's document has an invalid URL"),
            Self::OtherClient => {
                f.write_str("the `client_id` of the client's document is not the document's URL")
            }
            Self::Missing(name) => write!(f, "the client's document has no `{name}`"),
            Self::TooManyRedirectUris => write!(
                f,
                "the client's document has more than {MAX_REDIRECT_URIS} redirect URIs"
            ),
            Self::Secret(name) => write!(
                f,
                "the client's document is public, but has a secret in `{name}`"
            ),
        }
    }
}

impl std::error::Error for ClientDocumentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Url(invalid) => Some(invalid),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const URL: &str = "https://app.example.com/oauth/client-metadata.json";

    fn outcome(changes: Value) -> Result<(), ClientDocumentError> {
        let mut document = json!({
            "client_id": URL, "client_name": "Example MCP Client",
            "redirect_uris": ["http://127.0.0.1:3000/callback", "http://localhost:3000/callback"],
            "grant_types": ["authorization_code"], "token_endpoint_auth_method": "none",
        });
        if let (Value::Object(document), Value::Object(changes)) = (&mut document, changes) {
            document.extend(changes);
        }
        let document = serde_json::from_value(document).unwrap();
        check_client_id_document(&document, URL)
    }

    #[test]
    fn example_of_the_specification_is_accepted() {
        assert_eq!(outcome(json!({})), Ok(()));
        assert_eq!(outcome(json!({"token_endpoint_auth_method": null})), Ok(()));
        let keys = json!({"keys": [{"kty": "EC", "crv": "P-256", "x": "a", "y": "b"}]});
        let with_key = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": keys});
        assert_eq!(outcome(with_key), Ok(()));
    }

    #[test]
    fn client_id_is_an_https_url_with_a_path() {
        #[track_caller]
        fn check(url: &str, expected: Option<InvalidUrlKind>) {
            let kind = check_client_id_url(url).err().map(|error| error.kind);
            assert_eq!(kind, expected, "{url}");
        }
        check(URL, None);
        check("https://example.com/client?v=1", None);
        check(
            "http://example.com/client.json",
            Some(InvalidUrlKind::NotHttps),
        );
        check(
            "http://localhost/client.json",
            Some(InvalidUrlKind::NotHttps),
        );
        check("https://example.com", Some(InvalidUrlKind::HasNoPath));
        check("https://example.com/", Some(InvalidUrlKind::HasNoPath));
        check("https://example.com/a#b", Some(InvalidUrlKind::HasFragment));
        check(
            "https://example.com/a/../b",
            Some(InvalidUrlKind::HasDotSegments),
        );
        check(
            "https://example.com/%2e/b",
            Some(InvalidUrlKind::HasDotSegments),
        );
        check(
            "https://user@example.com/a",
            Some(InvalidUrlKind::Malformed),
        );
        check("client-1", Some(InvalidUrlKind::Malformed));
    }

    #[test]
    fn client_id_must_be_the_document_url() {
        for other in [
            "https://app.example.com/oauth/other.json",
            "https://APP.example.com/oauth/client-metadata.json",
            "https://app.example.com:443/oauth/client-metadata.json",
            "https://app.example.com/oauth/client-metadata.json?",
        ] {
            let rejected = outcome(json!({"client_id": other}));
            assert_eq!(rejected, Err(ClientDocumentError::OtherClient), "{other}");
        }
    }

    #[test]
    fn name_and_valid_redirect_uris_are_required() {
        for missing in [json!(null), json!("")] {
            let rejected = outcome(json!({"client_name": missing}));
            assert_eq!(rejected, Err(ClientDocumentError::Missing("client_name")));
        }
        for missing in [json!(null), json!([])] {
            let rejected = outcome(json!({"redirect_uris": missing}));
            assert_eq!(rejected, Err(ClientDocumentError::Missing("redirect_uris")));
        }
        for uri in [
            "http://app.example.com/cb",
            "javascript:alert(1)",
            "https://a/cb#x",
        ] {
            let rejected = outcome(json!({"redirect_uris": ["https://a/cb", uri]}));
            assert!(
                matches!(rejected, Err(ClientDocumentError::Url(_))),
                "{uri}"
            );
        }
        let uris = |count: usize| json!({"redirect_uris": vec!["https://a/cb"; count]});
        assert_eq!(outcome(uris(MAX_REDIRECT_URIS)), Ok(()));
        let rejected = outcome(uris(MAX_REDIRECT_URIS + 1));
        assert_eq!(rejected, Err(ClientDocumentError::TooManyRedirectUris));
    }

    #[test]
    fn secrets_are_rejected() {
        let check = |changes: Value, member: &'static str| {
            assert_eq!(outcome(changes), Err(ClientDocumentError::Secret(member)));
        };
        check(json!({"client_secret": "s"}), "client_secret");
        check(json!({"client_secret": null}), "client_secret");
        check(
            json!({"client_secret_expires_at": 0}),
            "client_secret_expires_at",
        );
        for method in [
            "client_secret_basic",
            "client_secret_post",
            "client_secret_jwt",
        ] {
            let changes = json!({"token_endpoint_auth_method": method});
            check(changes, "token_endpoint_auth_method");
        }
        check(json!({"jwks": {"keys": [{"kty": "EC", "d": "s"}]}}), "jwks");
        check(
            json!({"jwks": {"keys": [{"kty": "oct", "k": "s"}]}}),
            "jwks",
        );
        assert_eq!(
            outcome(json!({"jwks": 5})),
            Err(ClientDocumentError::Missing("jwks.keys"))
        );
    }
}
