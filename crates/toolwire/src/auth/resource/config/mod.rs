//! What a resource server needs to know.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use toolwire_proto::auth::endpoints::{self, InvalidUrl};
use toolwire_proto::auth::jwt_claims::TokenRules;
use toolwire_proto::auth::resource_indicator::ResourceIndicator;
use toolwire_proto::auth::well_known::resource_metadata_url;
use toolwire_proto::scopes::{InvalidScope, ScopeHierarchy, ScopeSet};
use toolwire_types::auth::ProtectedResourceMetadata;

use crate::auth::fetch::DocumentFetcher;
use crate::auth::resource::ResourceServer;
use crate::auth::resource::jwt::JwtVerifier;
use crate::auth::resource::proofs::{self, DpopVerifier};
use crate::auth::resource::verifier::{TokenPurpose, TokenVerifier};
use crate::store::{MemoryNonceStore, NonceStore};

/// Where metadata of resources is found at a root (RFC 9728, section 3).
const ROOT_METADATA: &str = "/.well-known/oauth-protected-resource";

/// Which tokens let somebody in, and what clients are told to get one.
///
/// The tokens are JWTs signed by one of the issuers, unless another [`TokenVerifier`] is given. A token has to be for this
/// resource, by its `aud`; that cannot be switched off.
#[derive(Debug)]
pub struct ResourceServerConfig {
    resource: String,
    other_audiences: Vec<String>,
    issuers: Vec<String>,
    verifier: Option<Box<dyn TokenVerifier>>,
    fetcher: DocumentFetcher,
    required: Vec<String>,
    supported: Vec<String>,
    hierarchy: ScopeHierarchy,
    realm: Option<String>,
    name: Option<String>,
    documentation: Option<String>,
    leeway: Option<u64>,
    access_tokens_only: bool,
    needs_proof: bool,
    spent_proofs: Arc<dyn NonceStore>,
}

impl ResourceServerConfig {
    /// Protects the endpoint at a URL, as clients know it, with tokens of these authorization servers.
    #[must_use]
    pub fn new<S: Into<String>>(
        resource: impl Into<String>,
        issuers: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            resource: resource.into(),
            other_audiences: Vec::new(),
            issuers: issuers.into_iter().map(Into::into).collect(),
            verifier: None,
            fetcher: DocumentFetcher::new(),
            required: Vec::new(),
            supported: Vec::new(),
            hierarchy: ScopeHierarchy::new(),
            realm: None,
            name: None,
            documentation: None,
            leeway: None,
            access_tokens_only: false,
            needs_proof: false,
            spent_proofs: Arc::new(MemoryNonceStore::default()),
        }
    }

    /// Verifies tokens in another way than by the issuers' signatures.
    #[must_use]
    pub fn with_verifier(mut self, verifier: impl TokenVerifier + 'static) -> Self {
        self.verifier = Some(Box::new(verifier));
        self
    }

    /// Fetches metadata and keys in this way.
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: DocumentFetcher) -> Self {
        self.fetcher = fetcher;
        self
    }

    /// Scopes every request needs; single tools, prompts and resources may need more.
    #[must_use]
    pub fn with_required_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.required.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Scopes the metadata names for clients that begin; the required ones if not said otherwise.
    #[must_use]
    pub fn with_supported_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.supported.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Lets broader scopes imply narrower ones.
    #[must_use]
    pub fn with_scope_hierarchy(mut self, hierarchy: ScopeHierarchy) -> Self {
        self.hierarchy = hierarchy;
        self
    }

    /// Accepts tokens for another name of this resource, too: some authorization servers put an id of their own into
    /// `aud`.
    #[must_use]
    pub fn with_audience(mut self, audience: impl Into<String>) -> Self {
        self.other_audiences.push(audience.into());
        self
    }

    /// How many seconds clocks may differ: 60 by default, 300 at most.
    #[must_use]
    pub fn with_leeway(mut self, seconds: u64) -> Self {
        self.leeway = Some(seconds);
        self
    }

    /// Accepts only tokens that call themselves access tokens (`typ` is `at+jwt`, RFC 9068).
    #[must_use]
    pub fn with_access_token_type(mut self) -> Self {
        self.access_tokens_only = true;
        self
    }

    /// Accepts only tokens that are bound to a key, with a proof that the caller has it (DPoP, RFC 9449). Without this,
    /// bearer tokens are good, too; a token that is bound is never good without a proof.
    #[must_use]
    pub fn with_dpop_required(mut self) -> Self {
        self.needs_proof = true;
        self
    }

    /// Where the ids of used proofs are kept, so that none is good twice: in the memory of this process by default.
    /// Nodes that stand for one server share one store.
    #[must_use]
    pub fn with_nonce_store(mut self, store: impl NonceStore + 'static) -> Self {
        self.spent_proofs = Arc::new(store);
        self
    }

    /// What the challenge calls this server.
    #[must_use]
    pub fn with_realm(mut self, realm: impl Into<String>) -> Self {
        self.realm = Some(realm.into());
        self
    }

    /// A name for people, in the metadata.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where developers read about this server, in the metadata.
    #[must_use]
    pub fn with_documentation(mut self, url: impl Into<String>) -> Self {
        self.documentation = Some(url.into());
        self
    }

    /// Makes the resource server.
    ///
    /// # Errors
    /// When there is no authorization server, or a URL or a scope is none.
    pub fn build(self) -> Result<ResourceServer, ResourceServerConfigError> {
        let first = self
            .issuers
            .first()
            .ok_or(ResourceServerConfigError::NoAuthorizationServer)?;
        for issuer in &self.issuers {
            endpoints::check(issuer).map_err(ResourceServerConfigError::Url)?;
        }
        let resource =
            ResourceIndicator::parse(&self.resource).map_err(ResourceServerConfigError::Url)?;
        let metadata_url =
            resource_metadata_url(&self.resource).map_err(ResourceServerConfigError::Url)?;
        let required = scope_set(&self.required)?;
        let supported = match self.supported.is_empty() {
            true => required.clone(),
            false => scope_set(&self.supported)?,
        };
        let mut rules = TokenRules::new(first, resource.clone());
        for issuer in self.issuers.iter().skip(1) {
            rules = rules.with_issuer(issuer);
        }
        for audience in &self.other_audiences {
            rules = rules.with_audience(audience);
        }
        if let Some(seconds) = self.leeway {
            rules = rules.with_leeway(seconds);
        }
        if self.access_tokens_only {
            rules = rules.needing_access_token_type();
        }
        let mut metadata = ProtectedResourceMetadata::new(&*self.resource, &self.issuers);
        metadata.bearer_methods_supported = Some(vec!["header".to_owned()]);
        metadata.dpop_signing_alg_values_supported =
            Some(proofs::algorithms().split(' ').map(str::to_owned).collect());
        metadata.dpop_bound_access_tokens_required = self.needs_proof.then_some(true);
        metadata.resource_name = self.name;
        metadata.resource_documentation = self.documentation;
        if !supported.is_empty() {
            metadata = metadata.with_scopes(supported.iter());
        }
        let metadata = serde_json::to_vec(&metadata).expect("texts by name are JSON");
        let verifier = self
            .verifier
            .unwrap_or_else(|| Box::new(JwtVerifier::new(&self.issuers, &self.fetcher)));
        let (origin, path) = split_at_path(&metadata_url);
        let path = path.to_owned();
        Ok(ResourceServer {
            verifier,
            proofs: DpopVerifier {
                origin: origin.to_owned(),
                resource: self.resource,
                spent: self.spent_proofs,
            },
            needs_proof: self.needs_proof,
            purpose: TokenPurpose {
                resource,
                issuers: self.issuers,
                rules,
            },
            required,
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

/// An absolute URL, cut before its path; the query is left out.
fn split_at_path(url: &str) -> (&str, &str) {
    let url = url.split('?').next().unwrap_or(url);
    let authority = url.find("://").map_or(0, |at| at + 3);
    let path = url.get(authority..).and_then(|rest| rest.find('/'));
    url.split_at(path.map_or(url.len(), |at| authority + at))
}

/// A configuration that protects nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResourceServerConfigError {
    /// Nobody gives out tokens for this server.
    NoAuthorizationServer,
    /// A URL is none that tokens may be sent to.
    Url(InvalidUrl),
    /// A scope is none.
    Scope(InvalidScope),
    /// A tenant of Microsoft Entra ID is not an id.
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
