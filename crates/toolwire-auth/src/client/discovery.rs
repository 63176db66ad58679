//! Discovers the authorization server after a rejected request.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use toolwire_proto::features::VersionFeatures as _;
use toolwire_types::ProtocolVersion;

use crate::client::AuthError;
use crate::documents::{AuthorizationServerMetadata, ProtectedResourceMetadata};
use crate::fetch::{DocumentFetcher, FetchError, FetchedDocument};
use crate::rules::challenge::{self, Challenge};
use crate::rules::dpop;
use crate::rules::metadata_rules::{IssuerPolicy, check_identity, check_resource, check_server};
use crate::rules::resource_indicator::ResourceIndicator;
use crate::rules::well_known::{DiscoveryPlan, OriginServer, server_metadata_urls};

/// Returns the URLs at which a client looks for the resource metadata of an endpoint, in this order.
///
/// `challenges` are the `WWW-Authenticate` headers of a rejected request. If one of them names a valid URL, that is the
/// only one. Otherwise these are the well-known URLs of RFC 9728.
///
/// ```
/// use toolwire_auth::client::resource_metadata_urls;
///
/// let challenge = r#"Bearer resource_metadata="https://example.com/metadata""#;
/// let urls = resource_metadata_urls("https://example.com/mcp", [challenge])?;
/// assert_eq!(urls, ["https://example.com/metadata"]);
/// # Ok::<(), toolwire_auth::client::AuthError>(())
/// ```
///
/// # Errors
/// Returns an error if the endpoint is not a URL that tokens may be sent to.
pub fn resource_metadata_urls<'a>(
    endpoint: &str,
    challenges: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<String>, AuthError> {
    let challenges = challenge::parse(challenges);
    let plan = DiscoveryPlan::new(
        endpoint,
        named_metadata(&challenges),
        ProtocolVersion::LATEST,
        false,
    );
    Ok(plan.map_err(AuthError::of)?.resource_metadata)
}

/// Returns the URL of the resource metadata that a challenge names.
fn named_metadata(challenges: &[Challenge]) -> Option<&str> {
    let mut challenges = challenges.iter();
    challenges.find_map(|challenge| challenge.resource_metadata.as_deref())
}

/// The authorization server for a token, and the parameters of the token request.
#[derive(Debug, Clone)]
pub(super) struct DiscoveredServer {
    /// The resource of the token, or `None` in protocol versions without resource indicators.
    pub(super) resource: Option<ResourceIndicator>,
    pub(super) metadata: AuthorizationServerMetadata,
    /// The scopes that the resource metadata names.
    pub(super) scopes_supported: Option<Vec<String>>,
    /// Whether the resource requires tokens that are bound to a key.
    pub(super) requires_dpop: bool,
}

/// The inputs of a discovery.
#[derive(Debug, Clone, Copy)]
pub(super) struct Discovery<'a> {
    pub(super) fetcher: &'a DocumentFetcher,
    pub(super) endpoint: &'a str,
    pub(super) version: ProtocolVersion,
    /// Whether the server's own origin may be used if it has no metadata, in protocol versions that no longer define
    /// this.
    pub(super) allow_origin_server: bool,
    /// Whether the grant redirects the user to the server, which then has to support PKCE.
    pub(super) needs_redirect: bool,
    /// Authorization servers whose metadata states another issuer.
    pub(super) issuer_exceptions: &'a [(String, String)],
}

impl Discovery<'_> {
    /// Discovers the authorization server from the challenges of a rejected request.
    pub(super) async fn discover(
        &self,
        challenges: &[Challenge],
    ) -> Result<DiscoveredServer, AuthError> {
        let plan = DiscoveryPlan::new(
            self.endpoint,
            named_metadata(challenges),
            self.version,
            self.allow_origin_server,
        )
        .map_err(AuthError::of)?;
        if let Some(error) = &plan.invalid_url {
            tracing::warn!(%error, "the metadata URL in the challenge is invalid and is not fetched");
        }
        let mut last_error = None;
        for url in &plan.resource_metadata {
            match self.resource_metadata(url).await {
                Ok(Some(metadata)) => return self.server_of(&metadata, challenges).await,
                Ok(None) => {}
                Err(error) => last_error = Some(error),
            }
        }
        match (plan.origin_server, last_error) {
            (Some(origin), _) => self.use_origin(&origin, challenges).await,
            (None, Some(error)) => Err(AuthError::of(error)),
            (None, None) => Err(AuthError::new(format!(
                "{} does not name its authorization server",
                self.endpoint
            ))
            .with_advice("the server has to publish protected resource metadata (RFC 9728)")),
        }
    }

    /// Fetches the metadata of the resource. Returns `None` if the resource has no metadata.
    async fn resource_metadata(
        &self,
        url: &str,
    ) -> Result<Option<ProtectedResourceMetadata>, FetchError> {
        let response = self.get(url).await?;
        match response.status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Ok(None),
            _ => response.document(url).map(Some),
        }
    }

    async fn server_of(
        &self,
        metadata: &ProtectedResourceMetadata,
        challenges: &[Challenge],
    ) -> Result<DiscoveredServer, AuthError> {
        let checked = check_resource(metadata, self.endpoint).map_err(AuthError::of)?;
        let mut last_error = None;
        // The first usable server is taken. The choice is the client's (RFC 9728, section 7.6).
        for issuer in &checked.authorization_servers {
            match self.server_metadata(issuer).await {
                Ok(server) => {
                    let has_resource = self.version.has_resource_indicators();
                    return Ok(DiscoveredServer {
                        resource: has_resource.then_some(checked.resource),
                        metadata: server,
                        scopes_supported: metadata.scopes_supported.clone(),
                        requires_dpop: dpop::is_required(challenges, Some(metadata)),
                    });
                }
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error
            .unwrap_or_else(|| AuthError::new("the metadata names no authorization server")))
    }

    /// Fetches and checks the metadata of an authorization server.
    pub(super) async fn server_metadata(
        &self,
        issuer: &str,
    ) -> Result<AuthorizationServerMetadata, AuthError> {
        let urls = server_metadata_urls(issuer, self.version).map_err(AuthError::of)?;
        let mut last_error = None;
        for url in &urls {
            let response = match self.get(url).await {
                Ok(response) => response,
                Err(error) => {
                    last_error = Some(error);
                    continue;
                }
            };
            match response.document::<AuthorizationServerMetadata>(url) {
                Ok(metadata) => {
                    self.check_server(&metadata, issuer)?;
                    return Ok(metadata);
                }
                Err(error) => last_error = Some(error),
            }
        }
        let error = AuthError::new(format!("{issuer} publishes no usable metadata"));
        Err(match last_error {
            Some(source) => error.with_source(source),
            None => error,
        })
    }

    fn check_server(
        &self,
        metadata: &AuthorizationServerMetadata,
        issuer: &str,
    ) -> Result<(), AuthError> {
        let policy = IssuerPolicy {
            version: self.version,
            exceptions: self.issuer_exceptions,
        };
        let checked = if self.needs_redirect {
            check_server(metadata, issuer, policy)
        } else {
            check_identity(metadata, issuer, policy)
        };
        checked.map_err(AuthError::of)
    }

    /// Uses an origin as its own authorization server (2025-03-26).
    async fn use_origin(
        &self,
        origin: &OriginServer,
        challenges: &[Challenge],
    ) -> Result<DiscoveredServer, AuthError> {
        let response = self.get(&origin.metadata).await.map_err(AuthError::of)?;
        let server = match response.status {
            StatusCode::NOT_FOUND => {
                let mut server = AuthorizationServerMetadata::new(&*origin.issuer);
                server.authorization_endpoint = Some(origin.authorization_endpoint.clone());
                server.token_endpoint = Some(origin.token_endpoint.clone());
                server.registration_endpoint = Some(origin.registration_endpoint.clone());
                server
            }
            _ => {
                let server: AuthorizationServerMetadata =
                    response.document(&origin.metadata).map_err(AuthError::of)?;
                self.check_server(&server, &origin.issuer)?;
                server
            }
        };
        let has_resource = self.version.has_resource_indicators();
        let resource = has_resource.then(|| ResourceIndicator::of_endpoint(self.endpoint));
        Ok(DiscoveredServer {
            resource: resource.transpose().map_err(AuthError::of)?,
            metadata: server,
            scopes_supported: None,
            requires_dpop: dpop::is_required(challenges, None),
        })
    }

    async fn get(&self, url: &str) -> Result<FetchedDocument, FetchError> {
        let mut headers = HeaderMap::new();
        // Spec 2025-03-26, basic/authorization: discovery requests carry the protocol version.
        if let Ok(version) = HeaderValue::from_str(self.version.as_str()) {
            headers.insert("mcp-protocol-version", version);
        }
        let response = self
            .fetcher
            .exchange(Method::GET, url, headers, Bytes::new());
        response.await
    }
}
