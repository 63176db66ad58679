//! Checks the metadata of an authorization server, for clients.

use std::fmt;

use toolwire_proto::features::VersionFeatures as _;
use toolwire_proto::http::truncated_for_display;
use toolwire_types::ProtocolVersion;

use crate::documents::AuthorizationServerMetadata;
use crate::rules::endpoints::{self, InvalidUrl};
use crate::rules::pkce;

/// The rule for comparing the `issuer` of a document with the requested issuer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IssuerPolicy<'a> {
    /// The protocol version. From 2026-07-28 on, the two must be identical. Before, a trailing slash may differ.
    pub version: ProtocolVersion,
    /// Issuers whose metadata states another issuer: the requested issuer, and the accepted one.
    pub exceptions: &'a [(String, String)],
}

impl IssuerPolicy<'_> {
    /// Creates the rule of a protocol version, without exceptions.
    #[must_use]
    pub(crate) const fn new(version: ProtocolVersion) -> Self {
        Self {
            version,
            exceptions: &[],
        }
    }

    fn accepts(&self, requested: &str, stated: &str) -> bool {
        let without_slash = |text: &'_ str| text.strip_suffix('/').unwrap_or(text).len();
        let is_same = if self.version.needs_identical_issuer() {
            requested == stated
        } else {
            requested.get(..without_slash(requested)) == stated.get(..without_slash(stated))
        };
        is_same
            || self
                .exceptions
                .iter()
                .any(|(expected, accepted)| expected == requested && accepted == stated)
    }
}

/// Checks the metadata of an issuer before its endpoints are used for the code flow.
///
/// Store the document's `issuer` with the request: redirects are compared with it exactly.
///
/// # Errors
/// Returns an error if the document is of another issuer (RFC 8414, section 3.3), or does not declare PKCE with `S256`
/// (spec 2026-07-28, authorization/security-considerations, "Authorization Code Protection"). The same applies if an
/// endpoint of the code flow is missing or not permitted.
pub(crate) fn check_server(
    metadata: &AuthorizationServerMetadata,
    requested: &str,
    policy: IssuerPolicy<'_>,
) -> Result<(), ServerMetadataError> {
    check_identity(metadata, requested, policy)?;
    if metadata.authorization_endpoint.is_none() {
        return Err(ServerMetadataError::NoEndpoint("authorization_endpoint"));
    }
    let methods = metadata.code_challenge_methods_supported.as_deref();
    match methods {
        None => Err(ServerMetadataError::NoPkce),
        Some(methods) if methods.iter().any(|method| method == pkce::METHOD) => Ok(()),
        Some(_) => Err(ServerMetadataError::NoS256),
    }
}

/// Checks metadata for grants without a redirect, which need neither an authorization endpoint nor PKCE.
///
/// # Errors
/// Returns the errors of [`check_server`], except those of the code flow.
pub(crate) fn check_identity(
    metadata: &AuthorizationServerMetadata,
    requested: &str,
    policy: IssuerPolicy<'_>,
) -> Result<(), ServerMetadataError> {
    check_issuer(metadata, requested, policy)?;
    if metadata.token_endpoint.is_none() {
        return Err(ServerMetadataError::NoEndpoint("token_endpoint"));
    }
    let urls = [
        &metadata.authorization_endpoint,
        &metadata.token_endpoint,
        &metadata.registration_endpoint,
        &metadata.introspection_endpoint,
        &metadata.revocation_endpoint,
        &metadata.jwks_uri,
    ];
    for url in urls.into_iter().flatten() {
        endpoints::check_named_by(url, requested).map_err(ServerMetadataError::Url)?;
    }
    Ok(())
}

/// Returns the URL of an issuer's keys, for a resource server. Other members of the metadata are not checked.
///
/// # Errors
/// Returns an error if the document is of another issuer, names no keys, or names a URL that is not permitted.
pub(crate) fn keys_url<'m>(
    metadata: &'m AuthorizationServerMetadata,
    requested: &str,
    policy: IssuerPolicy<'_>,
) -> Result<&'m str, ServerMetadataError> {
    check_issuer(metadata, requested, policy)?;
    let url = metadata.jwks_uri.as_deref();
    let url = url.ok_or(ServerMetadataError::NoEndpoint("jwks_uri"))?;
    endpoints::check_named_by(url, requested).map_err(ServerMetadataError::Url)?;
    Ok(url)
}

/// Checks the issuer (RFC 8414, section 3.3).
fn check_issuer(
    metadata: &AuthorizationServerMetadata,
    requested: &str,
    policy: IssuerPolicy<'_>,
) -> Result<(), ServerMetadataError> {
    if policy.accepts(requested, &metadata.issuer) {
        Ok(())
    } else {
        Err(ServerMetadataError::OtherIssuer(truncated_for_display(
            &metadata.issuer,
        )))
    }
}

/// The reason why the metadata of an authorization server is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ServerMetadataError {
    /// It is the document of this other issuer.
    OtherIssuer(String),
    /// This endpoint is missing.
    NoEndpoint(&'static str),
    /// One of its URLs is not permitted.
    Url(InvalidUrl),
    /// It does not declare PKCE.
    NoPkce,
    /// It declares PKCE without the method `S256`.
    NoS256,
}

impl fmt::Display for ServerMetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherIssuer(issuer) => write!(
                f,
                "the metadata states the issuer `{}`, which is not the requested issuer",
                issuer.escape_debug()
            ),
            Self::NoEndpoint(name) => {
                write!(f, "the metadata of the authorization server has no `{name}`")
            }
            Self::Url(_) => {
                f.write_str("the metadata of the authorization server has an invalid URL")
            }
            Self::NoPkce => f.write_str(
                "the authorization server does not declare PKCE (`code_challenge_methods_supported`)",
            ),
            Self::NoS256 => {
                f.write_str("the authorization server does not declare the PKCE method S256")
            }
        }
    }
}

impl std::error::Error for ServerMetadataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Url(invalid) => Some(invalid),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use ProtocolVersion::{V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

    const ISSUER: &str = "https://auth.example.com/tenant";

    fn metadata() -> AuthorizationServerMetadata {
        AuthorizationServerMetadata::new(ISSUER)
            .with_authorization_endpoint("https://auth.example.com/authorize")
            .with_token_endpoint("https://token.example.com/token")
            .with_code_challenge_methods(["plain", "S256"])
    }

    fn outcome(metadata: &AuthorizationServerMetadata) -> Result<(), ServerMetadataError> {
        check_server(metadata, ISSUER, IssuerPolicy::new(V2026_07_28))
    }

    #[test]
    fn valid_document_is_accepted() {
        assert_eq!(outcome(&metadata()), Ok(()));
    }

    #[test]
    fn issuer_must_be_the_requested_one() {
        let check = |requested: &str, stated: &str, version, expected: bool| {
            let mut metadata = metadata();
            metadata.issuer = stated.to_owned();
            let outcome = check_server(&metadata, requested, IssuerPolicy::new(version));
            assert_eq!(outcome.is_ok(), expected, "{requested} {stated} {version}");
        };
        for version in [V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28] {
            check("https://a.example", "https://a.example", version, true);
            check("https://a.example", "https://b.example", version, false);
            check("https://a.example", "https://A.example", version, false);
            check("https://a.example", "https://a.example:443", version, false);
            check("https://a.example/t", "https://a.example/u", version, false);
            check("https://a.example/t", "https://a.example", version, false);
            check("https://a.example", "", version, false);
            let slash_may_differ = version != V2026_07_28;
            check(
                "https://a.example",
                "https://a.example/",
                version,
                slash_may_differ,
            );
            check(
                "https://a.example/t/",
                "https://a.example/t",
                version,
                slash_may_differ,
            );
            check("https://a.example//", "https://a.example", version, false);
        }
    }

    #[test]
    fn exception_covers_one_pair_of_issuers() {
        let exceptions = [(ISSUER.to_owned(), "https://other.example".to_owned())];
        let policy = IssuerPolicy {
            version: V2026_07_28,
            exceptions: &exceptions,
        };
        let mut metadata = metadata();
        metadata.issuer = "https://other.example".to_owned();
        assert_eq!(check_server(&metadata, ISSUER, policy), Ok(()));
        assert!(check_server(&metadata, "https://auth.example.com", policy).is_err());
        metadata.issuer = "https://third.example".to_owned();
        assert!(check_server(&metadata, ISSUER, policy).is_err());
    }

    #[test]
    fn pkce_with_s256_is_required() {
        let mut metadata = metadata();
        metadata.code_challenge_methods_supported = None;
        assert_eq!(outcome(&metadata), Err(ServerMetadataError::NoPkce));
        for methods in [&[][..], &["plain"], &["s256"]] {
            let metadata = metadata
                .clone()
                .with_code_challenge_methods(methods.iter().copied());
            assert_eq!(outcome(&metadata), Err(ServerMetadataError::NoS256));
        }
        let identity = check_identity(&metadata, ISSUER, IssuerPolicy::new(V2026_07_28));
        assert_eq!(identity, Ok(()));
    }

    #[test]
    fn permitted_endpoints_are_required() {
        let mut without = metadata();
        without.token_endpoint = None;
        assert_eq!(
            outcome(&without),
            Err(ServerMetadataError::NoEndpoint("token_endpoint"))
        );
        let mut without = metadata();
        without.authorization_endpoint = None;
        let expected = ServerMetadataError::NoEndpoint("authorization_endpoint");
        assert_eq!(outcome(&without), Err(expected));

        let url = || Some("http://auth.example.com/".to_owned());
        let with: [fn(&mut AuthorizationServerMetadata) -> &mut Option<String>; 6] = [
            |metadata| &mut metadata.authorization_endpoint,
            |metadata| &mut metadata.token_endpoint,
            |metadata| &mut metadata.registration_endpoint,
            |metadata| &mut metadata.introspection_endpoint,
            |metadata| &mut metadata.revocation_endpoint,
            |metadata| &mut metadata.jwks_uri,
        ];
        for field in with {
            let mut metadata = metadata();
            *field(&mut metadata) = url();
            assert!(matches!(
                outcome(&metadata),
                Err(ServerMetadataError::Url(_))
            ));
        }
        let script = metadata().with_authorization_endpoint("javascript:alert(1)");
        assert!(matches!(outcome(&script), Err(ServerMetadataError::Url(_))));
        let local = metadata().with_token_endpoint("http://127.0.0.1/token");
        assert!(matches!(outcome(&local), Err(ServerMetadataError::Url(_))));
    }

    #[test]
    fn keys_url_needs_only_issuer_and_keys() {
        let policy = IssuerPolicy::new(V2026_07_28);
        let outcome = |metadata: &AuthorizationServerMetadata| {
            keys_url(metadata, ISSUER, policy).map(str::to_owned)
        };
        let mut bare = AuthorizationServerMetadata::new(ISSUER);
        let missing = ServerMetadataError::NoEndpoint("jwks_uri");
        assert_eq!(outcome(&bare), Err(missing));
        let url = format!("{ISSUER}/keys");
        bare.jwks_uri = Some(url.clone());
        assert_eq!(outcome(&bare), Ok(url.clone()));
        // Unused members are not checked.
        bare.registration_endpoint = Some("http://auth.example.com/".to_owned());
        assert_eq!(outcome(&bare), Ok(url));
        for bad in [
            "http://auth.example.com/keys",
            "http://127.0.0.1/keys",
            "file:///keys",
        ] {
            bare.jwks_uri = Some(bad.to_owned());
            assert!(
                matches!(outcome(&bare), Err(ServerMetadataError::Url(_))),
                "{bad}"
            );
        }
        bare.issuer = "https://other.example".to_owned();
        assert!(matches!(
            outcome(&bare),
            Err(ServerMetadataError::OtherIssuer(_))
        ));
    }
}
