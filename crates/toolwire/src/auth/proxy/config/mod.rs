//! What an OAuth proxy needs to know.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwire_proto::auth::authorization_server::lifetimes::Lifetimes;
use toolwire_proto::auth::authorization_server::rotation::{DEFAULT_GRACE, LONGEST_GRACE};
use toolwire_proto::auth::endpoints::{self, InvalidUrl};
use toolwire_proto::auth::resource_indicator::ResourceIndicator;
use toolwire_proto::request_state::{KeyRing, StateKey};
use toolwire_proto::scopes::{InvalidScope, ScopeSet};

use crate::auth::fetch::DocumentFetcher;
use crate::auth::proxy::clients::Clients;
use crate::auth::proxy::grants::GrantStore;
use crate::auth::proxy::paths::Paths;
use crate::auth::proxy::sealed_store::{SealedStore, random};
use crate::auth::proxy::sources::{PER_SOURCE, Sources};
use crate::auth::proxy::upstream::{Upstream, UpstreamUser};
use crate::auth::proxy::upstream_client::{UpstreamClient, check_upstream};
use crate::auth::proxy::{OAuthProxy, OwnTokens, ProxyState, UserFilter};
use crate::auth::resource::{ResourceServerConfig, ResourceServerConfigError};
use crate::store::{MemoryProxyStore, ProxyStore, StoreError};

/// How long an access token lasts, unless told otherwise.
const ACCESS_TOKEN_TIME: Duration = Duration::from_secs(60 * 60);

/// How long a user stays logged in, unless told otherwise.
const GRANT_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Which server is protected, and by which client at which identity provider.
///
/// ```no_run
/// use toolwire::auth::{OAuthProxyConfig, Upstream};
/// use toolwire::transport::http::HttpOptions;
///
/// # fn options(secret: String) -> Result<(), Box<dyn std::error::Error>> {
/// let github = Upstream::github("Iv1.8a61f9b3a7aba766", secret);
/// let proxy = OAuthProxyConfig::new("https://mcp.example.com/mcp", github)
///     .admitting(|user| user.claims.get("login").is_some_and(|login| login == "octocat"))
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
    required: Vec<String>,
    supported: Vec<String>,
    redirect_hosts: Vec<String>,
    admission: Option<Box<UserFilter>>,
    access_token: Duration,
    grant: Duration,
    grace: Duration,
    trusted_proxies: usize,
    per_source: usize,
    shared: Option<(Arc<dyn ProxyStore>, KeyRing)>,
    fetcher: DocumentFetcher,
    document_fetcher: DocumentFetcher,
}

impl OAuthProxyConfig {
    /// Protects the endpoint at a URL, as clients know it, with logins at an identity provider.
    #[must_use]
    pub fn new(resource: impl Into<String>, upstream: Upstream) -> Self {
        Self {
            resource: resource.into(),
            upstream,
            issuer: None,
            name: None,
            required: Vec::new(),
            supported: Vec::new(),
            redirect_hosts: Vec::new(),
            admission: None,
            access_token: ACCESS_TOKEN_TIME,
            grant: GRANT_TIME,
            grace: Duration::from_secs(DEFAULT_GRACE),
            trusted_proxies: 0,
            per_source: PER_SOURCE,
            shared: None,
            fetcher: DocumentFetcher::new(),
            document_fetcher: DocumentFetcher::new(),
        }
    }

    /// Where the endpoints of the proxy are, if not at the root of the resource's host: `https://mcp.example.com/team`
    /// puts them at `/team/authorize`, `/team/token` and so on.
    #[must_use]
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// What users are told the server is called; its host if not said.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Scopes of this server that every request needs, and that clients get which ask for none.
    #[must_use]
    pub fn with_required_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.required.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Scopes of this server that clients may ask for, besides the required ones. They have nothing to do with those of
    /// the identity provider.
    #[must_use]
    pub fn with_supported_scopes<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.supported.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Decides which users of the identity provider may come in: all of them, if not said. GitHub and Google have many.
    ///
    /// The filter is asked at each login and at each refresh. A user that it no longer admits loses access at the next
    /// refresh, so after [`with_access_token_ttl`](Self::with_access_token_ttl) at the latest. At a refresh it gets what
    /// the provider says then, where users are recognised by [`Upstream::with_user_info`]; by ID tokens, what the last one
    /// said: that of the login, or that of a renewal of the provider's tokens.
    #[must_use]
    pub fn with_user_filter(
        mut self,
        admits: impl Fn(&UpstreamUser) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.admission = Some(Box::new(admits));
        self
    }

    /// Serves only clients that users come back to at these hosts, or on their own machines.
    #[must_use]
    pub fn with_redirect_hosts<H: Into<String>>(
        mut self,
        hosts: impl IntoIterator<Item = H>,
    ) -> Self {
        self.redirect_hosts
            .extend(hosts.into_iter().map(Into::into));
        self
    }

    /// How long an access token lasts: an hour by default, and never longer than the provider's.
    #[must_use]
    pub fn with_access_token_ttl(mut self, time: Duration) -> Self {
        self.access_token = time;
        self
    }

    /// How long a user stays logged in: 30 days by default.
    #[must_use]
    pub fn with_session_ttl(mut self, time: Duration) -> Self {
        self.grant = time;
        self
    }

    /// Sets how long a used refresh token is accepted again from the same client, which then gets the same next token.
    /// Default: 30 s, at most 5 minutes.
    ///
    /// So a refresh whose response was lost, and two refreshes at once, do not end the login. After this time, or when the
    /// next token was used, a used token ends it. With a duration of zero each use but the first does.
    #[must_use]
    pub fn with_refresh_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the number of reverse proxies in front of the server that append the address of their peer to
    /// `X-Forwarded-For`. Default: 0.
    ///
    /// With it the bounds [per source](Self::with_limit_per_source) also hold behind reverse proxies. Do not set more than
    /// there are: clients could then name any source.
    #[must_use]
    pub fn with_trusted_proxies(mut self, count: usize) -> Self {
        self.trusted_proxies = count;
        self
    }

    /// Sets how many registrations without a token, and how many logins in progress, one source may have, of each. Default:
    /// 200.
    ///
    /// A source is an IPv4 address or an IPv6 network of 64 bits. One more registration removes the oldest of the same
    /// source; one more login is rejected with 503. Without [`with_trusted_proxies`](Self::with_trusted_proxies), a peer
    /// with an address that is not public counts as an unknown source, and only the bounds of the store apply.
    #[must_use]
    pub fn with_limit_per_source(mut self, limit: usize) -> Self {
        self.per_source = limit;
        self
    }

    /// Remembers clients, logins and tokens in a store that other nodes share, sealed with keys that they share, too.
    /// By default they are in the memory of this process.
    #[must_use]
    pub fn with_shared_store(mut self, store: Arc<dyn ProxyStore>, keys: KeyRing) -> Self {
        self.shared = Some((store, keys));
        self
    }

    /// Speaks to the identity provider in this way.
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: DocumentFetcher) -> Self {
        self.fetcher = fetcher;
        self
    }

    /// Fetches the documents about clients in this way; of each at most 64 KiB are read. Anybody may name their URLs, so
    /// the default reaches public addresses only.
    #[must_use]
    pub fn with_document_fetcher(mut self, fetcher: DocumentFetcher) -> Self {
        self.document_fetcher = fetcher;
        self
    }

    /// Makes the proxy.
    ///
    /// # Errors
    /// When a URL, a scope or a parameter is none that can be used, or the system gives no random bytes for keys.
    pub fn build(self) -> Result<OAuthProxy, OAuthProxyConfigError> {
        check_upstream(&self.upstream)?;
        let resource =
            ResourceIndicator::parse(&self.resource).map_err(OAuthProxyConfigError::Url)?;
        let origin = endpoints::origin(&self.resource).map_err(OAuthProxyConfigError::Url)?;
        let issuer = self.issuer.unwrap_or_else(|| origin.clone());
        let paths = Paths::new(&issuer, &self.resource)?;
        let default_scopes = scope_set(&self.required)?;
        let scopes = default_scopes.union(&scope_set(&self.supported)?);
        let mut guard = ResourceServerConfig::new(&*self.resource, [&*issuer])
            .with_required_scopes(self.required)
            .with_supported_scopes(scopes.iter());
        if let Some(name) = &self.name {
            guard = guard.with_name(name);
        }
        let leg = UpstreamClient {
            scopes: scope_set(&self.upstream.scopes)?,
            callback: format!("{}{}", paths.origin, paths.callback),
            upstream: self.upstream,
            fetcher: self.fetcher,
            found: Mutex::default(),
        };
        let (store, keys) = match self.shared {
            Some(shared) => shared,
            None => {
                let key = StateKey::new(random().map_err(OAuthProxyConfigError::Keys)?);
                let store: Arc<dyn ProxyStore> = Arc::new(MemoryProxyStore::default());
                (store, KeyRing::new(key))
            }
        };
        if self.access_token.as_secs() == 0 || self.grant.as_secs() == 0 {
            return Err(OAuthProxyConfigError::NoTime);
        }
        let lifetimes = Lifetimes {
            access_token: self.access_token.as_secs(),
            grant: self.grant.as_secs(),
        };
        let grace = self.grace.as_secs().min(LONGEST_GRACE);
        let host = origin.split_once("://").map_or(&*origin, |(_, host)| host);
        let core = Arc::new(ProxyState {
            name: self.name.unwrap_or_else(|| host.to_owned()),
            metadata: paths.document(&issuer, &scopes),
            scopes,
            default_scopes,
            redirect_hosts: self.redirect_hosts,
            admission: self.admission,
            paths,
            sources: Sources {
                trusted_proxies: self.trusted_proxies,
                limit: self.per_source,
            },
            clients: Clients::new(self.document_fetcher, self.grant),
            grants: GrantStore::new(lifetimes, grace, issuer.clone(), self.resource),
            leg,
            vault: SealedStore {
                store,
                keys,
                issuer: issuer.clone(),
            },
            resource,
            issuer,
        });
        let guard = guard.with_verifier(OwnTokens(Arc::clone(&core)));
        Ok(OAuthProxy {
            core,
            guard: Arc::new(guard.build().map_err(OAuthProxyConfigError::Guard)?),
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

/// A configuration that no proxy can be made of.
#[derive(Debug)]
#[non_exhaustive]
pub enum OAuthProxyConfigError {
    /// A URL is none that tokens may be sent to.
    Url(InvalidUrl),
    /// A scope is none.
    Scope(InvalidScope),
    /// A parameter for the identity provider is set by the proxy itself.
    Parameter(String),
    /// Tokens or logins would last less than a second.
    NoTime,
    /// The server is at a path that the proxy needs.
    ResourceInTheWay(String),
    /// The server cannot be guarded.
    Guard(ResourceServerConfigError),
    /// There are no random bytes for the keys.
    Keys(StoreError),
}

impl fmt::Display for OAuthProxyConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(invalid) => write!(f, "{invalid}"),
            Self::Scope(invalid) => write!(f, "{invalid}"),
            Self::Parameter(name) => write!(
                f,
                "the OAuth proxy itself sets the parameter {name:?} of what it sends to the identity provider"
            ),
            Self::NoTime => {
                f.write_str("tokens and logins of an OAuth proxy last a second at least")
            }
            Self::ResourceInTheWay(path) => write!(
                f,
                "the server is at {path:?}, where an endpoint of the OAuth proxy has to be"
            ),
            Self::Guard(invalid) => write!(f, "{invalid}"),
            Self::Keys(error) => write!(f, "there are no keys for the OAuth proxy: {error}"),
        }
    }
}

impl std::error::Error for OAuthProxyConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Url(invalid) => Some(invalid),
            Self::Scope(invalid) => Some(invalid),
            Self::Guard(invalid) => Some(invalid),
            Self::Keys(error) => Some(error),
            Self::Parameter(_) | Self::NoTime | Self::ResourceInTheWay(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
