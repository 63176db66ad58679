//! The configuration of a resource server.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use toolwire::store::{MemoryNonceStore, NonceStore};
use toolwire_proto::scopes::{InvalidScope, ScopeSet};

use crate::documents::ProtectedResourceMetadata;
use crate::fetch::DocumentFetcher;
use crate::resource::ResourceServer;
use crate::resource::jwt::JwtVerifier;
use crate::resource::proofs::{self, DpopVerifier};
use crate::resource::verifier::{TokenPurpose, TokenVerifier};
use crate::rules::endpoints::{self, InvalidUrl};
use crate::rules::jwt_claims::TokenRules;
use crate::rules::resource_indicator::ResourceIndicator;
use crate::rules::scopes::ScopeHierarchy;
use crate::rules::well_known::resource_metadata_url;

/// The path of protected resource metadata at the root (RFC 9728, section 3).
const ROOT_METADATA: &str = "/.well-known/oauth-protected-resource";

/// The configuration of a resource server: the accepted tokens, and the metadata for clients.
///
/// Tokens are JWTs that one of the issuers signed, unless another [`TokenVerifier`] is set. The `aud` of a token has to
/// name this resource. This check cannot be disabled.
#[derive(Debug)]
#[doc(alias = "AuthSettings")]
pub struct ResourceServerConfig {
    resource: String,
    other_audiences: Vec<String>,
    issuers: Vec<String>,
    /// Issuers whose tokens are accepted, but which the metadata does not name to clients.
    unlisted_issuers: Vec<String>,
    verifier: Option<Box<dyn TokenVerifier>>,
    fetcher: DocumentFetcher,
    required_scopes: Vec<String>,
    supported_scopes: Vec<String>,
    hierarchy: ScopeHierarchy,
    realm: Option<String>,
    name: Option<String>,
    documentation: Option<String>,
    leeway: Option<u64>,
    access_tokens_only: bool,
    requires_dpop: bool,
    used_proofs: Arc<dyn NonceStore>,
}

impl ResourceServerConfig {
    /// Creates a configuration for the endpoint at a public URL, with tokens of these authorization servers.
    #[must_use]
    pub fn new<S: Into<String>>(
        resource: impl Into<String>,
        issuers: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            resource: resource.into(),
            other_audiences: Vec::new(),
            issuers: issuers.into_iter().map(Into::into).collect(),
            unlisted_issuers: Vec::new(),
            verifier: None,
            fetcher: DocumentFetcher::new(),
            required_scopes: Vec::new(),
            supported_scopes: Vec::new(),
            hierarchy: ScopeHierarchy::new(),
            realm: None,
            name: None,
            documentation: None,
            leeway: None,
            access_tokens_only: false,
            requires_dpop: false,
            used_proofs: Arc::new(MemoryNonceStore::default()),
        }
    }

    /// Sets a verifier instead of the signature check with the issuers' keys.
    #[must_use]
    pub fn with_verifier(mut self, verifier: impl TokenVerifier + 'static) -> Self {
        self.verifier = Some(Box::new(verifier));
        self
    }

    /// Sets the fetcher for metadata and keys.
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: DocumentFetcher) -> Self {
        self.fetcher = fetcher;
        self
    }

    /// Sets the scopes that every request needs. Tools, prompts and resources may need further scopes.
    #[must_use]
    pub fn with_required_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.required_scopes
            .extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets the scopes in the metadata, which clients request initially. Default: the required scopes.
    #[must_use]
    pub fn with_supported_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.supported_scopes
            .extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets the hierarchy in which broader scopes imply narrower ones.
    #[must_use]
    pub fn with_scope_hierarchy(mut self, hierarchy: ScopeHierarchy) -> Self {
        self.hierarchy = hierarchy;
        self
    }

    /// Accepts tokens for another audience as well. Some authorization servers put an id of their own into `aud`.
    #[must_use]
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        self.other_audiences.push(audience.into());
        self
    }

    /// Accepts tokens of an issuer that is not an authorization server for clients.
    pub(super) fn with_unlisted_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.unlisted_issuers.push(issuer.into());
        self
    }

    /// Sets the permitted clock difference in seconds. Default: 60 s, at most 300 s.
    #[must_use]
    pub fn with_leeway(mut self, seconds: u64) -> Self {
        self.leeway = Some(seconds);
        self
    }

    /// Accepts only tokens that declare the access token type (`typ` is `at+jwt`, RFC 9068).
    #[must_use]
    pub fn with_access_token_type(mut self) -> Self {
        self.access_tokens_only = true;
        self
    }

    /// Accepts only tokens that are bound to a key, with a proof of possession (DPoP, RFC 9449). By default, bearer
    /// tokens are also accepted. A bound token is never accepted without a proof.
    #[must_use]
    pub fn with_dpop_required(mut self) -> Self {
        self.requires_dpop = true;
        self
    }

    /// Sets the store for the ids of used proofs, so that each proof is accepted once. Default: the memory of this
    /// process. Nodes of one service share one store.
    #[must_use]
    pub fn with_nonce_store(mut self, store: impl NonceStore + 'static) -> Self {
        self.used_proofs = Arc::new(store);
        self
    }

    /// Sets the `realm` of the challenge.
    #[must_use]
    pub fn with_realm(mut self, realm: impl Into<String>) -> Self {
        self.realm = Some(realm.into());
        self
    }

    /// Sets the display name in the metadata.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the URL of the developer documentation in the metadata.
    #[must_use]
    pub fn with_documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Builds the resource server.
    ///
    /// # Errors
    /// Returns an error if there is no authorization server, or if a URL or scope is invalid.
    pub fn build(self) -> Result<ResourceServer, ResourceServerConfigError> {
        let first = self
            .issuers
            .first()
            .ok_or(ResourceServerConfigError::NoAuthorizationServer)?;
        for issuer in self.issuers.iter().chain(&self.unlisted_issuers) {
            endpoints::check(issuer).map_err(ResourceServerConfigError::Url)?;
        }
        let resource =
            ResourceIndicator::parse(&self.resource).map_err(ResourceServerConfigError::Url)?;
        let metadata_url =
            resource_metadata_url(&self.resource).map_err(ResourceServerConfigError::Url)?;
        let required_scopes = scope_set(&self.required_scopes)?;
        let supported_scopes = if self.supported_scopes.is_empty() {
            required_scopes.clone()
        } else {
            scope_set(&self.supported_scopes)?
        };
        let mut rules = TokenRules::new(first, resource.clone());
        let other_issuers = self.issuers.iter().skip(1);
        for issuer in other_issuers.chain(&self.unlisted_issuers) {
            rules = rules.with_issuer(issuer);
        }
        for audience in &self.other_audiences {
            rules = rules.with_audience(audience);
        }
        if let Some(seconds) = self.leeway {
            rules = rules.with_leeway(seconds);
        }
        if self.access_tokens_only {
            rules = rules.with_access_token_type_required();
        }
        let mut metadata = ProtectedResourceMetadata::new(&*self.resource, &self.issuers);
        metadata.bearer_methods_supported = Some(vec!["header".to_owned()]);
        metadata.dpop_signing_alg_values_supported =
            Some(proofs::algorithms().split(' ').map(str::to_owned).collect());
        metadata.dpop_bound_access_tokens_required = self.requires_dpop.then_some(true);
        metadata.resource_name = self.name;
        metadata.resource_documentation = self.documentation;
        if !supported_scopes.is_empty() {
            metadata = metadata.with_scopes(supported_scopes.iter());
        }
        let metadata = serde_json::to_vec(&metadata).expect("the metadata serializes to JSON");
        let issuers = [self.issuers, self.unlisted_issuers].concat();
        let verifier = self
            .verifier
            .unwrap_or_else(|| Box::new(JwtVerifier::new(&issuers, &self.fetcher)));
        let (origin, path) = split_at_path(&metadata_url);
        let path = path.to_owned();
        Ok(ResourceServer {
            verifier,
            dpop_verifier: DpopVerifier {
                origin: origin.to_owned(),
                resource: self.resource,
                used: self.used_proofs,
            },
            requires_dpop: self.requires_dpop,
            purpose: TokenPurpose {
                resource,
                issuers,
                rules,
            },
            required_scopes,
            hierarchy: self.hierarchy,
            realm: self.realm,
            metadata: Bytes::from(metadata),
            metadata_url,
            metadata_paths: [path, ROOT_METADATA.to_owned()],
        })
    }
}

fn scope_set(scopes: &[String]) -> Result<ScopeSet, ResourceServerConfigError> {
    let scopes = ScopeSet::from_list(scopes.iter().map(String::as_str));
    scopes.map_err(ResourceServerConfigError::Scope)
}

/// Splits an absolute URL before its path. The query is dropped.
fn split_at_path(url: &str) -> (&str, &str) {
    let url = url.split('?').next().unwrap_or(url);
    let authority = url.find("://").map_or(0, |at| at + 3);
    let path = url.get(authority..).and_then(|rest| rest.find('/'));
    url.split_at(path.map_or(url.len(), |at| authority + at))
}

/// The error of an invalid resource server configuration.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResourceServerConfigError {
    /// The configuration names no authorization server.
    NoAuthorizationServer,
    /// A URL is invalid or not confidential.
    Url(InvalidUrl),
    /// A scope is invalid.
    Scope(InvalidScope),
    /// A tenant of Microsoft Entra ID is not a tenant id.
    Tenant(String),
}

impl fmt::Display for ResourceServerConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAuthorizationServer => {
                f.write_str("a protected server needs at least one authorization server")
            }
            Self::Url(invalid) => write!(f, "{invalid}"),
            Self::Scope(invalid) => write!(f, "{invalid}"),
            Self::Tenant(tenant) => {
                write!(f, "{tenant:?} is not the id of a tenant, which is a UUID")
            }
        }
    }
}

impl std::error::Error for ResourceServerConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoAuthorizationServer | Self::Tenant(_) => None,
            Self::Url(invalid) => Some(invalid),
            Self::Scope(invalid) => Some(invalid),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
