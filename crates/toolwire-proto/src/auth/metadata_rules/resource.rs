//! The metadata of a protected resource, as a client judges it.

use std::fmt;

use toolwire_types::auth::ProtectedResourceMetadata;

use crate::auth::endpoints::{self, InvalidUrl};
use crate::auth::resource_indicator::ResourceIndicator;
use crate::http::shown;

/// What the metadata of a resource says, as far as it is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedResource {
    /// What tokens are asked for, spelled as in the metadata.
    pub resource: ResourceIndicator,
    /// The issuers that may be asked, in the order of the metadata; at least one.
    pub authorization_servers: Vec<String>,
}

/// Checks that metadata is about an endpoint and names an authorization server.
///
/// The resource is the endpoint or a parent of it, or else somebody could make us ask for tokens that open other doors
/// (RFC 9728, sections 3.3 and 7.3). Its spelling is kept, since authorization servers compare it as they like.
///
/// # Errors
/// When the document is about something else, or names no authorization server that may be called (spec 2026-07-28,
/// authorization/authorization-server-discovery, "Authorization Server Location").
pub fn check_resource(
    metadata: &ProtectedResourceMetadata,
    endpoint: &str,
) -> Result<CheckedResource, ResourceRefused> {
    let resource = ResourceIndicator::parse(&metadata.resource).map_err(ResourceRefused::Url)?;
    if !resource.contains(endpoint) {
        return Err(ResourceRefused::OtherResource(shown(&metadata.resource)));
    }
    let mut authorization_servers = Vec::new();
    let mut refused = ResourceRefused::NoAuthorizationServer;
    for issuer in metadata.authorization_servers.iter().flatten() {
        match endpoints::check_named_by(issuer, endpoint) {
            Ok(()) => authorization_servers.push(issuer.clone()),
            Err(invalid) => refused = ResourceRefused::Url(invalid),
        }
    }
    if authorization_servers.is_empty() {
        return Err(refused);
    }
    Ok(CheckedResource {
        resource,
        authorization_servers,
    })
}

/// Why the metadata of a resource is not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceRefused {
    /// One of its URLs cannot be used.
    Url(InvalidUrl),
    /// It is about another resource, this one.
    OtherResource(String),
    /// It names no authorization server.
    NoAuthorizationServer,
}

impl fmt::Display for ResourceRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(_) => f.write_str("the resource's metadata has a URL that cannot be used"),
            Self::OtherResource(resource) => write!(
                f,
                "the resource's metadata is about `{resource}`, which is not the server that was asked"
            ),
            Self::NoAuthorizationServer => {
                f.write_str("the resource's metadata names no authorization server")
            }
        }
    }
}

impl std::error::Error for ResourceRefused {
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

    const ENDPOINT: &str = "https://mcp.example.com/v1/mcp";

    fn judged(resource: &str, issuers: &[&str]) -> Result<String, ResourceRefused> {
        let metadata = ProtectedResourceMetadata::new(resource, issuers.iter().copied());
        check_resource(&metadata, ENDPOINT).map(|checked| checked.resource.to_string())
    }

    #[test]
    fn the_resource_is_the_endpoint_or_a_parent_and_keeps_its_spelling() {
        for resource in [
            ENDPOINT,
            "https://mcp.example.com",
            "https://mcp.example.com/",
            "https://MCP.example.com:443/v1",
        ] {
            let judged = judged(resource, &["https://auth.example.com"]);
            assert_eq!(judged.as_deref(), Ok(resource));
        }
    }

    #[test]
    fn metadata_of_others_is_refused() {
        for resource in [
            "https://evil.example.com/mcp",
            "https://mcp.example.com/v1/mcp/deeper",
            "https://mcp.example.com/v1/m",
            "http://mcp.example.com/v1/mcp",
        ] {
            let refused = judged(resource, &["https://auth.example.com"]).unwrap_err();
            assert_eq!(refused, ResourceRefused::OtherResource(resource.to_owned()));
        }
        let fragment = judged("https://mcp.example.com/#a", &["https://auth.example.com"]);
        assert!(matches!(fragment, Err(ResourceRefused::Url(_))));
    }

    #[test]
    fn an_authorization_server_is_named_and_may_be_called() {
        assert_eq!(
            judged(ENDPOINT, &[]),
            Err(ResourceRefused::NoAuthorizationServer)
        );
        let mut metadata = ProtectedResourceMetadata::new(ENDPOINT, [""; 0]);
        metadata.authorization_servers = None;
        let refused = check_resource(&metadata, ENDPOINT);
        assert_eq!(refused, Err(ResourceRefused::NoAuthorizationServer));
        for issuer in [
            "http://auth.example.com",
            "http://127.0.0.1:1",
            "javascript:alert(1)",
        ] {
            let refused = judged(ENDPOINT, &[issuer]);
            assert!(matches!(refused, Err(ResourceRefused::Url(_))), "{issuer}");
            let other = "https://auth.example.com";
            let metadata = ProtectedResourceMetadata::new(ENDPOINT, [issuer, other]);
            let checked = check_resource(&metadata, ENDPOINT).unwrap();
            assert_eq!(checked.authorization_servers, [other]);
        }
        let local = ProtectedResourceMetadata::new("http://localhost:1", ["http://localhost:2"]);
        assert!(check_resource(&local, "http://localhost:1/mcp").is_ok());
    }
}
