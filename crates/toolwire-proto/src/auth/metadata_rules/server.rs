//! The metadata of an authorization server, as a client judges it.

use std::fmt;

use toolwire_types::ProtocolVersion;
use toolwire_types::auth::AuthorizationServerMetadata;

use crate::auth::endpoints::{self, InvalidUrl};
use crate::auth::pkce;
use crate::features::VersionFeatures as _;
use crate::http::shown;

/// How the `issuer` of a document is compared with the one that was asked for.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a new member would weaken the comparison"
)]
pub struct IssuerPolicy<'a> {
    /// The revision: from 2026-07-28 on the two are identical; before, a slash at the end may differ.
    pub version: ProtocolVersion,
    /// Issuers that are known to call themselves by another name: the one asked for, and the one to accept instead.
    pub exceptions: &'a [(String, String)],
}

impl IssuerPolicy<'_> {
    /// The rule of a revision, without exceptions.
    #[must_use]
    pub const fn new(version: ProtocolVersion) -> Self {
        Self {
            version,
            exceptions: &[],
        }
    }

    fn accepts(&self, asked: &str, found: &str) -> bool {
        let without_slash = |text: &'_ str| text.strip_suffix('/').unwrap_or(text).len();
        let is_same = if self.version.needs_identical_issuer() {
            asked == found
        } else {
            asked.get(..without_slash(asked)) == found.get(..without_slash(found))
        };
        is_same
            || self
                .exceptions
                .iter()
                .any(|(from, to)| from == asked && to == found)
    }
}

/// Checks metadata that was fetched for an issuer, before any of its endpoints is used for the code flow.
///
/// Remember the document's `issuer` with the request: redirects are compared with it, character by character.
///
/// # Errors
/// When the document is another issuer's (RFC 8414, section 3.3), does not announce PKCE with `S256` (spec 2026-07-28,
/// authorization/security-considerations, "Authorization Code Protection"), lacks an endpoint that the code flow needs,
/// or has one that must not be called.
pub fn check_server(
    metadata: &AuthorizationServerMetadata,
    asked: &str,
    policy: IssuerPolicy<'_>,
) -> Result<(), ServerRefused> {
    check_identity(metadata, asked, policy)?;
    if metadata.authorization_endpoint.is_none() {
        return Err(ServerRefused::NoEndpoint("authorization_endpoint"));
    }
    let methods = metadata.code_challenge_methods_supported.as_deref();
    match methods {
        None => Err(ServerRefused::NoPkce),
        Some(methods) if methods.iter().any(|method| method == pkce::METHOD) => Ok(()),
        Some(_) => Err(ServerRefused::NoS256),
    }
}

/// Checks metadata for grants without a redirect, which need neither an authorization endpoint nor PKCE.
///
/// # Errors
/// As [`check_server`], without what only the code flow needs.
pub fn check_identity(
    metadata: &AuthorizationServerMetadata,
    asked: &str,
    policy: IssuerPolicy<'_>,
) -> Result<(), ServerRefused> {
    check_name(metadata, asked, policy)?;
    if metadata.token_endpoint.is_none() {
        return Err(ServerRefused::NoEndpoint("token_endpoint"));
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
        endpoints::check_named_by(url, asked).map_err(ServerRefused::Url)?;
    }
    Ok(())
}

/// Where the keys of an issuer are, for a resource server: it needs nothing else of the metadata, so nothing else is judged.
///
/// # Errors
/// When the document is another issuer's, names no keys, or names a URL that must not be called.
pub fn keys_url<'m>(
    metadata: &'m AuthorizationServerMetadata,
    asked: &str,
    policy: IssuerPolicy<'_>,
) -> Result<&'m str, ServerRefused> {
    check_name(metadata, asked, policy)?;
    let url = metadata.jwks_uri.as_deref();
    let url = url.ok_or(ServerRefused::NoEndpoint("jwks_uri"))?;
    endpoints::check_named_by(url, asked).map_err(ServerRefused::Url)?;
    Ok(url)
}

/// RFC 8414, section 3.3.
fn check_name(
    metadata: &AuthorizationServerMetadata,
    asked: &str,
    policy: IssuerPolicy<'_>,
) -> Result<(), ServerRefused> {
    match policy.accepts(asked, &metadata.issuer) {
        true => Ok(()),
        false => Err(ServerRefused::OtherIssuer(shown(&metadata.issuer))),
    }
}

/// The profile of grants by which a server takes the assertions of an enterprise's identity provider.
const ID_JAG_PROFILE: &str = "urn:ietf:params:oauth:grant-profile:id-jag";

/// Whether a server takes the assertions of an enterprise's identity provider in the place of a user's consent
/// (extension enterprise-managed authorization, section 6).
#[must_use]
pub fn takes_identity_assertions(metadata: &AuthorizationServerMetadata) -> bool {
    let profiles = metadata
        .authorization_grant_profiles_supported
        .iter()
        .flatten();
    profiles
        .into_iter()
        .any(|profile| profile == ID_JAG_PROFILE)
}

/// Why the metadata of an authorization server is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerRefused {
    /// It is the document of another issuer, this one.
    OtherIssuer(String),
    /// It lacks an endpoint.
    NoEndpoint(&'static str),
    /// One of its URLs must not be called.
    Url(InvalidUrl),
    /// It does not announce PKCE.
    NoPkce,
    /// It announces PKCE, but not the method that is safe.
    NoS256,
}

impl fmt::Display for ServerRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherIssuer(issuer) => write!(
                f,
                "the authorization server's metadata is that of `{}`, which is not the issuer that was asked",
                issuer.escape_debug()
            ),
            Self::NoEndpoint(name) => {
                write!(f, "the authorization server's metadata has no `{name}`")
            }
            Self::Url(_) => {
                f.write_str("the authorization server's metadata has a URL that cannot be used")
            }
            Self::NoPkce => f.write_str(
                "the authorization server does not announce PKCE (`code_challenge_methods_supported`)",
            ),
            Self::NoS256 => {
                f.write_str("the authorization server does not announce the PKCE method S256")
            }
        }
    }
}

impl std::error::Error for ServerRefused {
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

    fn judged(metadata: &AuthorizationServerMetadata) -> Result<(), ServerRefused> {
        check_server(metadata, ISSUER, IssuerPolicy::new(V2026_07_28))
    }

    #[test]
    fn a_whole_document_is_believed() {
        assert_eq!(judged(&metadata()), Ok(()));
    }

    #[test]
    fn the_issuer_is_the_one_that_was_asked() {
        let check = |asked: &str, found: &str, version, expected: bool| {
            let mut metadata = metadata();
            metadata.issuer = found.to_owned();
            let judged = check_server(&metadata, asked, IssuerPolicy::new(version));
            assert_eq!(judged.is_ok(), expected, "{asked} {found} {version}");
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
    fn an_exception_is_for_one_issuer_and_one_name() {
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
    fn identity_assertions_are_announced() {
        let check = |profiles: Option<&[&str]>, expected: bool| {
            let mut metadata = metadata();
            let owned = |profiles: &[&str]| profiles.iter().map(ToString::to_string).collect();
            metadata.authorization_grant_profiles_supported = profiles.map(owned);
            assert_eq!(
                takes_identity_assertions(&metadata),
                expected,
                "{profiles:?}"
            );
        };
        check(None, false);
        check(Some(&["other"]), false);
        check(
            Some(&["other", "urn:ietf:params:oauth:grant-profile:id-jag"]),
            true,
        );
    }

    #[test]
    fn pkce_with_s256_is_announced() {
        let mut metadata = metadata();
        metadata.code_challenge_methods_supported = None;
        assert_eq!(judged(&metadata), Err(ServerRefused::NoPkce));
        for methods in [&[][..], &["plain"], &["s256"]] {
            let metadata = metadata
                .clone()
                .with_code_challenge_methods(methods.iter().copied());
            assert_eq!(judged(&metadata), Err(ServerRefused::NoS256));
        }
        let identity = check_identity(&metadata, ISSUER, IssuerPolicy::new(V2026_07_28));
        assert_eq!(identity, Ok(()));
    }

    #[test]
    fn endpoints_are_there_and_may_be_called() {
        let mut without = metadata();
        without.token_endpoint = None;
        assert_eq!(
            judged(&without),
            Err(ServerRefused::NoEndpoint("token_endpoint"))
        );
        let mut without = metadata();
        without.authorization_endpoint = None;
        let expected = ServerRefused::NoEndpoint("authorization_endpoint");
        assert_eq!(judged(&without), Err(expected));

        let url = || Some("http://auth.example.com/".to_owned());
        let with: [fn(&mut AuthorizationServerMetadata) -> &mut Option<String>; 6] = [
            |metadata| &mut metadata.authorization_endpoint,
            |metadata| &mut metadata.token_endpoint,
            |metadata| &mut metadata.registration_endpoint,
            |metadata| &mut metadata.introspection_endpoint,
            |metadata| &mut metadata.revocation_endpoint,
            |metadata| &mut metadata.jwks_uri,
        ];
        for slot in with {
            let mut metadata = metadata();
            *slot(&mut metadata) = url();
            assert!(matches!(judged(&metadata), Err(ServerRefused::Url(_))));
        }
        let script = metadata().with_authorization_endpoint("javascript:alert(1)");
        assert!(matches!(judged(&script), Err(ServerRefused::Url(_))));
        let local = metadata().with_token_endpoint("http://127.0.0.1/token");
        assert!(matches!(judged(&local), Err(ServerRefused::Url(_))));
    }

    #[test]
    fn a_resource_server_needs_the_name_and_the_keys() {
        let policy = IssuerPolicy::new(V2026_07_28);
        let judged = |metadata: &AuthorizationServerMetadata| {
            keys_url(metadata, ISSUER, policy).map(str::to_owned)
        };
        let mut bare = AuthorizationServerMetadata::new(ISSUER);
        let missing = ServerRefused::NoEndpoint("jwks_uri");
        assert_eq!(judged(&bare), Err(missing));
        let url = format!("{ISSUER}/keys");
        bare.jwks_uri = Some(url.clone());
        assert_eq!(judged(&bare), Ok(url.clone()));
        // What it does not use may be as it likes.
        bare.registration_endpoint = Some("http://auth.example.com/".to_owned());
        assert_eq!(judged(&bare), Ok(url));
        for bad in [
            "http://auth.example.com/keys",
            "http://127.0.0.1/keys",
            "file:///keys",
        ] {
            bare.jwks_uri = Some(bad.to_owned());
            assert!(matches!(judged(&bare), Err(ServerRefused::Url(_))), "{bad}");
        }
        bare.issuer = "https://other.example".to_owned();
        assert!(matches!(judged(&bare), Err(ServerRefused::OtherIssuer(_))));
    }
}
