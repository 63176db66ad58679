//! The URLs of metadata documents, as ordered lists to try.
//!
//! Spec 2026-07-28, authorization/authorization-server-discovery; 2025-03-26, basic/authorization, "Server Metadata
//! Discovery". A client usually knows the protocol version before authorization. Otherwise, it uses the newest one.

use toolwire_proto::features::VersionFeatures as _;
use toolwire_proto::web_url::WebUrl;
use toolwire_types::ProtocolVersion;

use crate::rules::endpoints::{self, InvalidUrl, InvalidUrlKind};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// The plan for discovering the authorization server of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct DiscoveryPlan {
    /// The possible URLs of the resource metadata. The first document that exists is used.
    pub resource_metadata: Vec<String>,
    /// The server to use without such metadata. `None` if that is not permitted.
    pub origin_server: Option<OriginServer>,
    /// The invalid URL of the challenge. The default URLs are used instead.
    pub invalid_url: Option<InvalidUrl>,
}

impl DiscoveryPlan {
    /// Creates the plan for an endpoint after a challenge. `named` is the metadata URL of the challenge, if any.
    ///
    /// A valid named URL is the only one to try. Otherwise, the default URLs follow, the one of the endpoint's path
    /// first. In 2025-03-26 and before, the server's origin is its own authorization server. In later versions, this
    /// applies only if `allow_origin_server` is set.
    ///
    /// # Errors
    /// Returns an error if the endpoint is not a URL that tokens may be sent to.
    pub(crate) fn new(
        endpoint: &str,
        named: Option<&str>,
        version: ProtocolVersion,
        allow_origin_server: bool,
    ) -> Result<Self, InvalidUrl> {
        endpoints::check(endpoint)?;
        let url = WebUrl::parse(endpoint)?;
        let origin_server = OriginServer::of(&url);
        if !version.has_resource_metadata() {
            return Ok(Self {
                resource_metadata: Vec::new(),
                origin_server: Some(origin_server),
                invalid_url: None,
            });
        }
        let named = named.map(|named| endpoints::check_named_by(named, endpoint).map(|()| named));
        let (resource_metadata, invalid_url) = match named {
            Some(Ok(named)) => (vec![named.to_owned()], None),
            Some(Err(error)) => (default_urls(&url), Some(error)),
            None => (default_urls(&url), None),
        };
        Ok(Self {
            resource_metadata,
            origin_server: allow_origin_server.then_some(origin_server),
            invalid_url,
        })
    }
}

/// An origin that is its own authorization server, by the rules of 2025-03-26.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct OriginServer {
    /// The origin, which is also the issuer.
    pub issuer: String,
    /// The URL of its metadata, which is optional.
    pub metadata: String,
    /// The authorization endpoint without metadata.
    pub authorization_endpoint: String,
    /// The token endpoint without metadata.
    pub token_endpoint: String,
    /// The registration endpoint without metadata.
    pub registration_endpoint: String,
}

impl OriginServer {
    fn of(endpoint: &WebUrl<'_>) -> Self {
        let origin = endpoint.written_origin();
        Self {
            metadata: format!("{origin}{OAUTH}"),
            authorization_endpoint: format!("{origin}/authorize"),
            token_endpoint: format!("{origin}/token"),
            registration_endpoint: format!("{origin}/register"),
            issuer: origin,
        }
    }
}

/// Returns the URL of a server's own resource metadata, which its challenges name (RFC 9728, section 3.1).
///
/// # Errors
/// Returns an error if the resource is not a URL that tokens may be sent to.
pub(crate) fn resource_metadata_url(resource: &str) -> Result<String, InvalidUrl> {
    endpoints::check(resource)?;
    let url = WebUrl::parse(resource)?;
    Ok(insert_well_known(&url, RESOURCE, url.path))
}

/// Returns the URL of an authorization server's own metadata (RFC 8414, section 3).
///
/// # Errors
/// Returns the errors of [`server_metadata_urls`].
pub(crate) fn server_metadata_url(issuer: &str) -> Result<String, InvalidUrl> {
    let url = issuer_url(issuer)?;
    Ok(format!(
        "{}{OAUTH}{}",
        url.written_origin(),
        url.trimmed_path()
    ))
}

/// Returns the possible URLs of an authorization server's metadata, in the order to try.
///
/// Versions before 2025-11-25 define only the first URL.
///
/// # Errors
/// Returns an error if the issuer is not confidential, or has a query, a fragment or dot segments in its path (RFC
/// 8414, section 2).
pub(crate) fn server_metadata_urls(
    issuer: &str,
    version: ProtocolVersion,
) -> Result<Vec<String>, InvalidUrl> {
    let url = issuer_url(issuer)?;
    let (origin, path) = (url.written_origin(), url.trimmed_path());
    let mut urls = vec![format!("{origin}{OAUTH}{path}")];
    if version.has_openid_discovery() {
        urls.push(format!("{origin}{OPENID}{path}"));
        if !path.is_empty() {
            urls.push(format!("{origin}{path}{OPENID}"));
        }
    }
    Ok(urls)
}

fn issuer_url(issuer: &str) -> Result<WebUrl<'_>, InvalidUrl> {
    endpoints::check(issuer)?;
    let url = WebUrl::parse(issuer)?;
    if url.query.is_some() {
        return Err(InvalidUrl::new(issuer, InvalidUrlKind::HasQuery));
    }
    if url.has_dot_segments() {
        return Err(InvalidUrl::new(issuer, InvalidUrlKind::HasDotSegments));
    }
    Ok(url)
}

/// Returns the metadata URLs of the endpoint's path, with and without a trailing slash, then that of the origin.
fn default_urls(endpoint: &WebUrl<'_>) -> Vec<String> {
    let mut urls = vec![
        insert_well_known(endpoint, RESOURCE, endpoint.path),
        insert_well_known(endpoint, RESOURCE, endpoint.trimmed_path()),
        format!("{}{RESOURCE}", endpoint.written_origin()),
    ];
    urls.dedup();
    urls
}

/// Inserts the well-known part between the host and the path. A path that is only a slash counts as empty.
fn insert_well_known(url: &WebUrl<'_>, well_known: &str, path: &str) -> String {
    let path = if path == "/" { "" } else { path };
    let query = url.query.map(|query| format!("?{query}"));
    format!(
        "{}{well_known}{path}{}",
        url.written_origin(),
        query.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    use ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

    fn plan(endpoint: &str, named: Option<&str>) -> DiscoveryPlan {
        DiscoveryPlan::new(endpoint, named, V2026_07_28, false).unwrap()
    }

    #[test]
    fn resource_metadata_urls_are_path_then_root() {
        #[track_caller]
        fn check(endpoint: &str, expected: &[&str]) {
            assert_eq!(plan(endpoint, None).resource_metadata, expected);
        }
        check(
            "https://example.com/public/mcp",
            &[
                "https://example.com/.well-known/oauth-protected-resource/public/mcp",
                "https://example.com/.well-known/oauth-protected-resource",
            ],
        );
        for root in ["https://example.com", "https://example.com/"] {
            check(
                root,
                &["https://example.com/.well-known/oauth-protected-resource"],
            );
        }
        check(
            "http://localhost:3000/mcp/",
            &[
                "http://localhost:3000/.well-known/oauth-protected-resource/mcp/",
                "http://localhost:3000/.well-known/oauth-protected-resource/mcp",
                "http://localhost:3000/.well-known/oauth-protected-resource",
            ],
        );
        check(
            "https://example.com/mcp?tenant=1",
            &[
                "https://example.com/.well-known/oauth-protected-resource/mcp?tenant=1",
                "https://example.com/.well-known/oauth-protected-resource",
            ],
        );
    }

    #[test]
    fn named_url_is_the_only_one_to_try() {
        let named = "https://other.example.com/custom/metadata.json";
        let plan = plan("https://example.com/mcp", Some(named));
        assert_eq!(plan.resource_metadata, [named]);
        assert_eq!(plan.invalid_url, None);
    }

    #[test]
    fn invalid_named_url_is_replaced_by_the_default_urls() {
        for named in [
            "http://example.com/metadata",
            "http://127.0.0.1/metadata",
            "file:///etc/passwd",
            "",
        ] {
            let plan = plan("https://example.com/mcp", Some(named));
            assert_eq!(plan.resource_metadata.len(), 2, "{named}");
            assert!(plan.invalid_url.is_some(), "{named}");
        }
    }

    #[test]
    fn origin_server_is_used_in_old_versions_or_if_permitted() {
        let origin_server = |version, allow| {
            DiscoveryPlan::new("https://Example.com:8443/v1/mcp?a", None, version, allow).unwrap()
        };
        for version in [V2024_11_05, V2025_03_26] {
            let plan = origin_server(version, false);
            assert!(plan.resource_metadata.is_empty());
            let server = plan.origin_server.unwrap();
            let expected = "https://Example.com:8443";
            assert_eq!(server.issuer, expected);
            assert_eq!(
                [
                    server.metadata,
                    server.authorization_endpoint,
                    server.token_endpoint,
                    server.registration_endpoint
                ],
                [
                    format!("{expected}/.well-known/oauth-authorization-server"),
                    format!("{expected}/authorize"),
                    format!("{expected}/token"),
                    format!("{expected}/register"),
                ]
            );
        }
        for version in [V2025_06_18, V2025_11_25, V2026_07_28] {
            assert_eq!(origin_server(version, false).origin_server, None);
            let allowed = origin_server(version, true);
            assert!(allowed.origin_server.is_some());
            assert!(!allowed.resource_metadata.is_empty());
        }
    }

    #[test]
    fn server_metadata_urls_follow_the_specification() {
        #[track_caller]
        fn check(issuer: &str, version: ProtocolVersion, expected: &[&str]) {
            assert_eq!(server_metadata_urls(issuer, version).unwrap(), expected);
        }
        let tenant = [
            "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
            "https://auth.example.com/.well-known/openid-configuration/tenant1",
            "https://auth.example.com/tenant1/.well-known/openid-configuration",
        ];
        let root = [
            "https://auth.example.com/.well-known/oauth-authorization-server",
            "https://auth.example.com/.well-known/openid-configuration",
        ];
        for version in [V2025_11_25, V2026_07_28] {
            check("https://auth.example.com/tenant1", version, &tenant);
            check("https://auth.example.com/tenant1/", version, &tenant);
            check("https://auth.example.com", version, &root);
            check("https://auth.example.com/", version, &root);
        }
        check(
            "https://auth.example.com/tenant1",
            V2025_06_18,
            &tenant[..1],
        );
        check("https://auth.example.com", V2025_03_26, &root[..1]);
    }

    #[test]
    fn invalid_issuers_are_rejected() {
        #[track_caller]
        fn check(issuer: &str, expected: InvalidUrlKind) {
            let error = server_metadata_urls(issuer, V2026_07_28).unwrap_err();
            assert_eq!(error.kind, expected, "{issuer}");
        }
        check("http://auth.example.com", InvalidUrlKind::NotSecure);
        check("https://auth.example.com?a", InvalidUrlKind::HasQuery);
        check("https://auth.example.com#a", InvalidUrlKind::HasFragment);
        check(
            "https://auth.example.com/a/../b",
            InvalidUrlKind::HasDotSegments,
        );
        check("auth.example.com", InvalidUrlKind::Malformed);
        assert!(DiscoveryPlan::new("http://example.com/mcp", None, V2026_07_28, true).is_err());
    }

    #[test]
    fn server_metadata_url_is_the_first_to_try() {
        for issuer in [
            "https://a",
            "https://a/",
            "https://a/b",
            "https://a:8443/b/",
        ] {
            let published = server_metadata_url(issuer).unwrap();
            let urls = server_metadata_urls(issuer, V2025_03_26).unwrap();
            assert_eq!(urls, [published]);
        }
        assert!(server_metadata_url("https://a?b").is_err());
    }

    #[test]
    fn resource_metadata_url_is_the_first_to_try() {
        for resource in [
            "https://a",
            "https://a/",
            "https://a/mcp",
            "https://a/mcp/",
            "https://a/b?c",
        ] {
            let published = resource_metadata_url(resource).unwrap();
            assert_eq!(
                plan(resource, None).resource_metadata.first(),
                Some(&published)
            );
        }
    }
}
