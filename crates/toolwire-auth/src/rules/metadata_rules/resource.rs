//! Checks the metadata of a protected resource, for clients.

use std::fmt;

use toolwire_proto::http::truncated_for_display;

use crate::documents::ProtectedResourceMetadata;
use crate::rules::endpoints::{self, InvalidUrl};
use crate::rules::resource_indicator::ResourceIndicator;

/// The checked metadata of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct CheckedResource {
    /// The resource of token requests, spelled as in the metadata.
    pub resource: ResourceIndicator,
    /// The valid issuers, in the order of the metadata; at least one.
    pub authorization_servers: Vec<String>,
}

/// Checks that metadata describes an endpoint and names an authorization server.
///
/// The resource has to be the endpoint or a parent of it. Otherwise, an attacker could make the client request tokens
/// for other servers (RFC 9728, sections 3.3 and 7.3). The spelling is preserved, because authorization servers may
/// compare it exactly.
///
/// # Errors
/// Returns an error if the document describes another resource, or names no permitted authorization server (spec
/// 2026-07-28, authorization/authorization-server-discovery, "Authorization Server Location").
pub(crate) fn check_resource(
    metadata: &ProtectedResourceMetadata,
    endpoint: &str,
) -> Result<CheckedResource, ResourceMetadataError> {
    let resource =
        ResourceIndicator::parse(&metadata.resource).map_err(ResourceMetadataError::Url)?;
    if !resource.contains(endpoint) {
        return Err(ResourceMetadataError::OtherResource(truncated_for_display(
            &metadata.resource,
        )));
    }
    let mut authorization_servers = Vec::new();
    let mut error = ResourceMetadataError::NoAuthorizationServer;
    for issuer in metadata.authorization_servers.iter().flatten() {
        match endpoints::check_named_by(issuer, endpoint) {
            Ok(()) => authorization_servers.push(issuer.clone()),
            Err(invalid) => error = ResourceMetadataError::Url(invalid),
        }
    }
    if authorization_servers.is_empty() {
        return Err(error);
    }
    Ok(CheckedResource {
        resource,
        authorization_servers,
    })
}

/// The reason why the metadata of a resource is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ResourceMetadataError {
    /// One of its URLs is invalid.
    Url(InvalidUrl),
    /// It describes this other resource.
    OtherResource(String),
    /// It names no authorization server.
    NoAuthorizationServer,
}

impl fmt::Display for ResourceMetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(_) => f.write_str("the metadata of the resource has an invalid URL"),
            Self::OtherResource(resource) => write!(
                f,
                "the metadata describes the resource `{resource}`, which is not the requested server"
            ),
            Self::NoAuthorizationServer => {
                f.write_str("the metadata of the resource names no authorization server")
            }
        }
    }
}

impl std::error::Error for ResourceMetadataError {
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

    fn outcome(resource: &str, issuers: &[&str]) -> Result<String, ResourceMetadataError> {
        let metadata = ProtectedResourceMetadata::new(resource, issuers.iter().copied());
        check_resource(&metadata, ENDPOINT).map(|checked| checked.resource.to_string())
    }

    #[test]
    fn resource_is_the_endpoint_or_a_parent_in_its_own_spelling() {
        for resource in [
            ENDPOINT,
            "https://mcp.example.com",
            "https://mcp.example.com/",
            "https://MCP.example.com:443/v1",
        ] {
            let outcome = outcome(resource, &["https://auth.example.com"]);
            assert_eq!(outcome.as_deref(), Ok(resource));
        }
    }

    #[test]
    fn metadata_of_another_resource_is_rejected() {
        for resource in [
            "https://evil.example.com/mcp",
            "https://mcp.example.com/v1/mcp/deeper",
            "https://mcp.example.com/v1/m",
            "http://mcp.example.com/v1/mcp",
        ] {
            let error = outcome(resource, &["https://auth.example.com"]).unwrap_err();
            assert_eq!(
                error,
                ResourceMetadataError::OtherResource(resource.to_owned())
            );
        }
        let fragment = outcome("https://mcp.example.com/#a", &["https://auth.example.com"]);
        assert!(matches!(fragment, Err(ResourceMetadataError::Url(_))));
    }

    #[test]
    fn permitted_authorization_server_is_required() {
        assert_eq!(
            outcome(ENDPOINT, &[]),
            Err(ResourceMetadataError::NoAuthorizationServer)
        );
        let mut metadata = ProtectedResourceMetadata::new(ENDPOINT, [""; 0]);
        metadata.authorization_servers = None;
        let error = check_resource(&metadata, ENDPOINT);
        assert_eq!(error, Err(ResourceMetadataError::NoAuthorizationServer));
        for issuer in [
            "http://auth.example.com",
            "http://127.0.0.1:1",
            "javascript:alert(1)",
        ] {
            let error = outcome(ENDPOINT, &[issuer]);
            assert!(
                matches!(error, Err(ResourceMetadataError::Url(_))),
                "{issuer}"
            );
            let other = "https://auth.example.com";
            let metadata = ProtectedResourceMetadata::new(ENDPOINT, [issuer, other]);
            let checked = check_resource(&metadata, ENDPOINT).unwrap();
            assert_eq!(checked.authorization_servers, [other]);
        }
        let local = ProtectedResourceMetadata::new("http://localhost:1", ["http://localhost:2"]);
        assert!(check_resource(&local, "http://localhost:1/mcp").is_ok());
    }
}
