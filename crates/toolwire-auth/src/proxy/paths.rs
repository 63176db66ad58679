//! The paths of the proxy's endpoints, and the metadata document with their URLs (RFC 8414).

use bytes::Bytes;
use toolwire_proto::scopes::ScopeSet;

use crate::documents::AuthorizationServerMetadata;
use crate::proxy::ProxyRoute;
use crate::proxy::config::OAuthProxyConfigError;
use crate::rules::endpoints;
use crate::rules::pkce;
use crate::rules::well_known::server_metadata_url;

/// The paths of all endpoints.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) origin: String,
    authorize: String,
    pub(super) consent: String,
    pub(super) callback: String,
    token: String,
    register: String,
    revoke: String,
    /// The paths of the authorization server metadata: the path of the issuer, and the path for clients that use the
    /// resource as the issuer.
    pub(super) metadata: Vec<String>,
}

impl Paths {
    pub(super) fn new(issuer: &str, resource: &str) -> Result<Self, OAuthProxyConfigError> {
        let path_of = |url: &str, origin: &str| {
            let path = url.strip_prefix(origin).unwrap_or_default();
            path.split('?').next().unwrap_or_default().to_owned()
        };
        let origin = endpoints::origin(issuer).map_err(OAuthProxyConfigError::Url)?;
        let metadata_url = server_metadata_url(issuer).map_err(OAuthProxyConfigError::Url)?;
        let prefix = path_of(issuer, &origin);
        let prefix = prefix.trim_end_matches('/');
        let resource_path = path_of(resource, &origin);
        let mut metadata = vec![path_of(&metadata_url, &origin)];
        // Clients of 2025-03-26 use the root, others use the path of the resource.
        if prefix.is_empty() && !matches!(&*resource_path, "" | "/") {
            metadata.push(format!(
                "{}{resource_path}",
                path_of(&metadata_url, &origin)
            ));
        }
        let paths = Self {
            authorize: format!("{prefix}/authorize"),
            consent: format!("{prefix}/consent"),
            callback: format!("{prefix}/callback"),
            token: format!("{prefix}/token"),
            register: format!("{prefix}/register"),
            revoke: format!("{prefix}/revoke"),
            origin,
            metadata,
        };
        match paths.route(&resource_path) {
            None => Ok(paths),
            Some(_) => Err(OAuthProxyConfigError::PathConflict(resource_path)),
        }
    }

    pub(super) fn route(&self, path: &str) -> Option<ProxyRoute> {
        let routes = [
            (&self.authorize, ProxyRoute::Authorize),
            (&self.consent, ProxyRoute::Consent),
            (&self.callback, ProxyRoute::Callback),
            (&self.token, ProxyRoute::Token),
            (&self.register, ProxyRoute::Register),
            (&self.revoke, ProxyRoute::Revoke),
        ];
        let mut routes = routes.into_iter();
        let (_, route) = routes.find(|(own_path, _)| *own_path == path)?;
        Some(route)
    }

    /// Returns the metadata of the authorization server (RFC 8414).
    pub(super) fn document(&self, issuer: &str, scopes: &ScopeSet) -> Bytes {
        let texts = |texts: &[&str]| Some(texts.iter().map(ToString::to_string).collect());
        let url = |path: &str| format!("{}{path}", self.origin);
        let mut metadata = AuthorizationServerMetadata::new(issuer)
            .with_authorization_endpoint(url(&self.authorize))
            .with_token_endpoint(url(&self.token))
            .with_registration_endpoint(url(&self.register))
            .with_code_challenge_methods([pkce::METHOD])
            .with_token_endpoint_auth_methods([
                "none",
                "client_secret_basic",
                "client_secret_post",
            ]);
        metadata.revocation_endpoint = Some(url(&self.revoke));
        metadata.response_types_supported = texts(&["code"]);
        metadata.grant_types_supported = texts(&["authorization_code", "refresh_token"]);
        metadata.authorization_response_iss_parameter_supported = Some(true);
        metadata.client_id_metadata_document_supported = Some(true);
        if !scopes.is_empty() {
            metadata.scopes_supported = Some(scopes.iter().map(str::to_owned).collect());
        }
        let document = serde_json::to_vec(&metadata).expect("the metadata serializes to JSON");
        Bytes::from(document)
    }
}
