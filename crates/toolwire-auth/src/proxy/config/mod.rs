//! The configuration of an OAuth proxy.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwire::store::StoreError;
use toolwire_proto::request_state::{KeyRing, StateKey};
use toolwire_proto::scopes::{InvalidScope, ScopeSet};

use crate::fetch::DocumentFetcher;
use crate::proxy::clients::Clients;
use crate::proxy::grants::GrantStore;
use crate::proxy::paths::Paths;
use crate::proxy::sealed_store::{SealedStore, random};
use crate::proxy::sources::{DEFAULT_LIMIT_PER_SOURCE, Sources};
use crate::proxy::store::{MemoryProxyStore, ProxyStore};
use crate::proxy::upstream::{Upstream, UpstreamUser};
use crate::proxy::upstream_client::{UpstreamClient, check_upstream};
use crate::proxy::{OAuthProxy, OwnTokens, ProxyState, UserFilter};
use crate::resource::{ResourceServerConfig, ResourceServerConfigError};
use crate::rules::authorization_server::lifetimes::Lifetimes;
use crate::rules::authorization_server::rotation::{DEFAULT_GRACE, LONGEST_GRACE};
use crate::rules::endpoints::{self, InvalidUrl};
use crate::rules::resource_indicator::ResourceIndicator;

/// The default lifetime of an access token.
const DEFAULT_ACCESS_TOKEN_TTL: Duration = Duration::from_secs(60 * 60);

/// The default duration of a login.
const DEFAULT_SESSION_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The configuration of an OAuth proxy: the protected server, and the client at an identity provider.
///
/// ```no_run
/// use toolwire_auth::{OAuthProxyConfig, Upstream};
/// use toolwire::transport::http::HttpOptions;
///
/// # fn options(secret: String) -> Result<(), Box<dyn std::error::Error>> {
/// let github = Upstream::github("Iv1.8a61f9b3a7aba766", secret);
/// let proxy = OAuthProxyConfig::new("https://mcp.example.com/mcp", github)
///     .with_user_filter(|user| user.claims.get("login").is_some_and(|login| login == "octocat"))
///     .build()?;
/// let options = HttpOptions::new()
///     .with_public_hosts(["mcp.example.com"])
///     .with_authorizer(proxy);
/// # Ok(())
/// # }
/// ```
pub struct OAuthProxyConfig {
    resource: String,
    upstream: Upstream,
    issuer: Option<String>,
    name: Option<String>,
    required_scopes: Vec<String>,
    supported_scopes: Vec<String>,
    redirect_hosts: Vec<String>,
    user_filter: Option<Box<UserFilter>>,
    access_token_ttl: Duration,
    session_ttl: Duration,
    refresh_grace: Duration,
    trusted_proxies: usize,
    limit_per_source: usize,
    shared_store: Option<(Arc<dyn ProxyStore>, KeyRing)>,
    fetcher: DocumentFetcher,
    document_fetcher: DocumentFetcher,
}

impl OAuthProxyConfig {
    /// Creates a configuration for the endpoint at a public URL, with logins at an identity provider.
    #[must_use]
    pub fn new(resource: impl Into<String>, upstream: Upstream) -> Self {
        Self {
            resource: resource.into(),
            upstream,
            issuer: None,
            name: None,
            required_scopes: Vec::new(),
            supported_scopes: Vec::new(),
            redirect_hosts: Vec::new(),
            user_filter: None,
            access_token_ttl: DEFAULT_ACCESS_TOKEN_TTL,
            session_ttl: DEFAULT_SESSION_TTL,
            refresh_grace: Duration::from_secs(DEFAULT_GRACE),
            trusted_proxies: 0,
            limit_per_source: DEFAULT_LIMIT_PER_SOURCE,
            shared_store: None,
            fetcher: DocumentFetcher::new(),
            document_fetcher: DocumentFetcher::new(),
        }
    }

    /// Sets the issuer, whose path is the prefix of the proxy's endpoints. With `https://mcp.example.com/team`, they
    /// are at `/team/authorize`, `/team/token` and so on. Default: the root of the resource's host.
    #[must_use]
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets the display name of the server on pages. Default: the host.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the scopes that every request needs. A client that requests no scopes gets these.
    #[must_use]
    pub fn with_required_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.required_scopes
            .extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets the scopes that clients may request besides the required ones. They are independent of the scopes of the
    /// identity provider.
    #[must_use]
    pub fn with_supported_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.supported_scopes
            .extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Sets the filter that decides which users of the identity provider are admitted. Default: all users. GitHub and
    /// Google have many.
    ///
    /// The filter runs at each login and at each refresh. A user that it no longer admits loses access at the next
    /// refresh, so after [`with_access_token_ttl`](Self::with_access_token_ttl) at the latest. With
    /// [`Upstream::with_user_info`], a refresh passes the provider's current data to the filter. With ID tokens, it
    /// passes the claims of the last ID token: from the login, or from a renewal of the provider's tokens.
    #[must_use]
    pub fn with_user_filter(
        mut self,
        filter: impl Fn(&UpstreamUser) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.user_filter = Some(Box::new(filter));
        self
    }

    /// Accepts only clients whose redirect URIs are on these hosts or on the user's machine.
    #[must_use]
    pub fn with_redirect_hosts<H: Into<String>>(
        mut self,
        hosts: impl IntoIterator<Item = H>,
    ) -> Self {
        self.redirect_hosts
            .extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Sets the lifetime of an access token. Default: 1 h. It never exceeds the lifetime of the provider's token.
    #[must_use]
    pub fn with_access_token_ttl(mut self, ttl: Duration) -> Self {
        self.access_token_ttl = ttl;
        self
    }

    /// Sets the duration of a login. Default: 30 days.
    #[must_use]
    pub fn with_session_ttl(mut self, ttl: Duration) -> Self {
        self.session_ttl = ttl;
        self
    }

    /// Sets how long a used refresh token is accepted again from the same client, which then gets the same next token.
    /// Default: 30 s, at most 5 min.
    ///
    /// So a lost response to a refresh, or two concurrent refreshes, do not end the login. After this time, or after
    /// the next token was used, reuse of a used token ends the login. With a duration of zero, any reuse ends it.
    #[must_use]
    pub fn with_refresh_grace(mut self, grace: Duration) -> Self {
        self.refresh_grace = grace;
        self
    }

    /// Sets the number of reverse proxies in front of the server that append the address of their peer to
    /// `X-Forwarded-For`. Default: 0.
    ///
    /// It makes the limits [per source](Self::with_limit_per_source) effective behind reverse proxies. Do not set a
    /// higher number than there are: clients could then claim any source.
    #[must_use]
    pub fn with_trusted_proxies(mut self, count: usize) -> Self {
        self.trusted_proxies = count;
        self
    }

    /// Sets the maximum number per source of registrations without a token, and of logins in progress. Default: 200 of
    /// each.
    ///
    /// A source is an IPv4 address or an IPv6 network of 64 bits. One more registration removes the oldest of the same
    /// source. One more login is rejected with 503. Without [`with_trusted_proxies`](Self::with_trusted_proxies), a
    /// peer with a non-public address counts as an unknown source, and only the limits of the store apply.
    #[must_use]
    pub fn with_limit_per_source(mut self, limit: usize) -> Self {
        self.limit_per_source = limit;
        self
    }

    /// Stores clients, logins and tokens in a store that other nodes share, sealed with shared keys. Default: the
    /// memory of this process.
    #[must_use]
    pub fn with_shared_store(mut self, store: Arc<dyn ProxyStore>, keys: KeyRing) -> Self {
        self.shared_store = Some((store, keys));
        self
    }

    /// Sets the fetcher for requests to the identity provider.
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: DocumentFetcher) -> Self {
        self.fetcher = fetcher;
        self
    }

    /// Sets the fetcher for client metadata documents. At most 64 KiB of each are read. Their URLs are untrusted, so
    /// the default reaches public addresses only.
    #[must_use]
    pub fn with_document_fetcher(mut self, fetcher: DocumentFetcher) -> Self {
        self.document_fetcher = fetcher;
        self
    }

    /// Builds the proxy.
    ///
    /// # Errors
    /// Returns an error if a URL, scope or parameter is invalid, or if the operating system returns no random bytes for
    /// keys.
    pub fn build(self) -> Result<OAuthProxy, OAuthProxyConfigError> {
        check_upstream(&self.upstream)?;
        let resource =
            ResourceIndicator::parse(&self.resource).map_err(OAuthProxyConfigError::Url)?;
        let origin = endpoints::origin(&self.resource).map_err(OAuthProxyConfigError::Url)?;
        let issuer = self.issuer.unwrap_or_else(|| origin.clone());
        let paths = Paths::new(&issuer, &self.resource)?;
        let default_scopes = scope_set(&self.required_scopes)?;
        let scopes = default_scopes.union(&scope_set(&self.supported_scopes)?);
        let mut resource_config = ResourceServerConfig::new(&*self.resource, [&*issuer])
            .with_required_scopes(self.required_scopes)
            .with_supported_scopes(scopes.iter());
        if let Some(name) = &self.name {
            resource_config = resource_config.with_name(name);
        }
        let upstream_client = UpstreamClient {
            scopes: scope_set(&self.upstream.scopes)?,
            callback: format!("{}{}", paths.origin, paths.callback),
            upstream: self.upstream,
            fetcher: self.fetcher,
            cached: Mutex::default(),
        };
        let (store, keys) = match self.shared_store {
            Some(shared) => shared,
            None => {
                let key = StateKey::new(random().map_err(OAuthProxyConfigError::RandomBytes)?);
                let store: Arc<dyn ProxyStore> = Arc::new(MemoryProxyStore::default());
                (store, KeyRing::new(key))
            }
        };
        if self.access_token_ttl.as_secs() == 0 || self.session_ttl.as_secs() == 0 {
            return Err(OAuthProxyConfigError::LifetimeTooShort);
        }
        let lifetimes = Lifetimes {
            access_token: self.access_token_ttl.as_secs(),
            grant: self.session_ttl.as_secs(),
        };
        let grace = self.refresh_grace.as_secs().min(LONGEST_GRACE);
        let host = origin.split_once("://").map_or(&*origin, |(_, host)| host);
        let state = Arc::new(ProxyState {
            name: self.name.unwrap_or_else(|| host.to_owned()),
            metadata: paths.document(&issuer, &scopes),
            scopes,
            default_scopes,
            redirect_hosts: self.redirect_hosts,
            user_filter: self.user_filter,
            paths,
            sources: Sources {
                trusted_proxies: self.trusted_proxies,
                limit: self.limit_per_source,
            },
            clients: Clients::new(self.document_fetcher, self.session_ttl),
            grants: GrantStore::new(lifetimes, grace, issuer.clone(), self.resource),
            upstream_client,
            store: SealedStore {
                store,
                keys,
                issuer: issuer.clone(),
            },
            resource,
            issuer,
        });
        let resource_config = resource_config.with_verifier(OwnTokens(Arc::clone(&state)));
        Ok(OAuthProxy {
            state,
            resource_server: Arc::new(
                resource_config
                    .build()
                    .map_err(OAuthProxyConfigError::ResourceServer)?,
            ),
        })
    }
}

impl fmt::Debug for OAuthProxyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthProxyConfig")
            .field("resource", &self.resource)
            .field("upstream", &self.upstream)
            .finish_non_exhaustive()
    }
}

fn scope_set(scopes: &[String]) -> Result<ScopeSet, OAuthProxyConfigError> {
    let scopes = ScopeSet::from_list(scopes.iter().map(String::as_str));
    scopes.map_err(OAuthProxyConfigError::Scope)
}

/// The error of an invalid OAuth proxy configuration.
#[derive(Debug)]
#[non_exhaustive]
pub enum OAuthProxyConfigError {
    /// A URL is invalid or not confidential.
    Url(InvalidUrl),
    /// A scope is invalid.
    Scope(InvalidScope),
    /// A parameter for the identity provider is reserved for the proxy.
    Parameter(String),
    /// The lifetime of tokens or logins is less than a second.
    LifetimeTooShort,
    /// The path of the server is the path of a proxy endpoint.
    PathConflict(String),
    /// The resource server configuration is invalid.
    ResourceServer(ResourceServerConfigError),
    /// The operating system returned no random bytes for the keys.
    RandomBytes(StoreError),
}

impl fmt::Display for OAuthProxyConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(invalid) => write!(f, "{invalid}"),
            Self::Scope(invalid) => write!(f, "{invalid}"),
            Self::Parameter(name) => write!(
                f,
                "the parameter {name:?} for the identity provider is reserved for the OAuth proxy"
            ),
            Self::LifetimeTooShort => f.write_str(
                "the lifetimes of tokens and logins of an OAuth proxy must be at least 1 s",
            ),
            Self::PathConflict(path) => write!(
                f,
                "the path {path:?} of the server is the path of an endpoint of the OAuth proxy"
            ),
            Self::ResourceServer(invalid) => write!(f, "{invalid}"),
            Self::RandomBytes(error) => {
                write!(f, "cannot create keys for the OAuth proxy: {error}")
            }
        }
    }
}

impl std::error::Error for OAuthProxyConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Url(invalid) => Some(invalid),
            Self::Scope(invalid) => Some(invalid),
            Self::ResourceServer(invalid) => Some(invalid),
            Self::RandomBytes(error) => Some(error),
            Self::Parameter(_) | Self::LifetimeTooShort | Self::PathConflict(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
