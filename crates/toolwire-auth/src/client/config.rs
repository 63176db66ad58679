//! The OAuth configuration of a client.

use std::fmt;
use std::sync::Arc;

use http::Uri;
use toolwire::transport::http_client::UserInteraction;
use toolwire::transport::http_client::{HttpClient, HttpLayer};
use toolwire_proto::scopes::{InvalidScope, ScopeSet};
use toolwire_types::RawJson;

use crate::client::assertion::{AssertionSource, IdentityProvider};
use crate::client::authorized::OAuthHttpClient;
use crate::client::login::Login;
use crate::client::registered_client::RegisteredClient;
use crate::client::signing::SigningKey;
use crate::client::store::{MemoryTokenStore, Records, TokenStore};
use crate::documents::ClientMetadata;
use crate::fetch::DocumentFetcher;

/// The extension that a client declares if it uses its own credentials.
const CLIENT_CREDENTIALS: &str = "io.modelcontextprotocol/oauth-client-credentials";

/// The extension that a client declares if an enterprise's identity provider decides.
const ENTERPRISE_MANAGED: &str = "io.modelcontextprotocol/enterprise-managed-authorization";

/// The way in which a client gets access tokens, for
/// [`ClientBuilder::with_http_layer`](toolwire::ClientBuilder::with_http_layer).
///
/// ```no_run
/// use toolwire::Client;
/// use toolwire_auth::client::{LoopbackLogin, OAuthConfig};
///
/// # async fn connect() -> Result<(), toolwire::Error> {
/// let client = Client::builder("my-app", "1.0.0")
///     .with_http_layer(OAuthConfig::login("My App", LoopbackLogin::new()))
///     .connect("https://example.com/mcp")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[doc(alias = "OAuthClientProvider", alias = "AuthorizationManager")]
pub struct OAuthConfig {
    pub(super) config: OAuthSettings,
}

#[derive(Debug, Clone)]
pub(super) struct OAuthSettings {
    pub(super) grant: GrantKind,
    pub(super) clients: Vec<RegisteredClient>,
    pub(super) document: Option<String>,
    /// The private key for the public key in the client ID document.
    pub(super) document_key: Option<Arc<SigningKey>>,
    pub(super) may_register: bool,
    pub(super) metadata: ClientMetadata,
    pub(super) scopes: Option<ScopeSet>,
    pub(super) store: Arc<dyn TokenStore>,
    /// The store of registrations. `None`: the same one.
    pub(super) registrations: Option<Arc<dyn TokenStore>>,
    pub(super) fetcher: Option<DocumentFetcher>,
    pub(super) http: Option<Arc<dyn HttpClient>>,
    pub(super) allow_origin_server: bool,
    pub(super) always_uses_dpop: bool,
    pub(super) issuer_exceptions: Vec<(String, String)>,
}

/// The grant that is exchanged for a token.
#[derive(Clone)]
pub(super) enum GrantKind {
    /// An authorization code from a user login.
    Code(Arc<dyn Login>),
    /// The client's own credentials.
    ClientCredentials,
    /// An assertion of the platform about this workload.
    Workload(Arc<dyn AssertionSource>),
    /// An assertion of an enterprise's identity provider about its user.
    Enterprise(Arc<IdentityProvider>),
    /// The access token of a caller, which is exchanged.
    Exchange(Arc<dyn AssertionSource>),
    /// No grant. Only stored tokens are used.
    Stored,
}

impl OAuthSettings {
    /// Returns the records of the stores.
    pub(super) fn records(&self) -> Records {
        let registrations = self.registrations.as_ref().unwrap_or(&self.store);
        Records::new(Arc::clone(&self.store), Arc::clone(registrations))
    }
}

impl GrantKind {
    const fn name(&self) -> &'static str {
        match self {
            Self::Code(_) => "Code",
            Self::ClientCredentials => "ClientCredentials",
            Self::Workload(_) => "Workload",
            Self::Enterprise(_) => "Enterprise",
            Self::Exchange(_) => "Exchange",
            Self::Stored => "Stored",
        }
    }

    /// Returns `true` if the grant redirects a user to the authorization server.
    pub(super) const fn needs_redirect(&self) -> bool {
        matches!(self, Self::Code(_))
    }

    /// Returns `true` if a new token is available at any time without a user.
    pub(super) const fn is_unattended(&self) -> bool {
        match self {
            Self::ClientCredentials
            | Self::Workload(_)
            | Self::Enterprise(_)
            | Self::Exchange(_) => true,
            Self::Code(_) | Self::Stored => false,
        }
    }

    const fn extension(&self) -> Option<&'static str> {
        match self {
            Self::Code(_) | Self::Workload(_) | Self::Exchange(_) | Self::Stored => None,
            Self::ClientCredentials => Some(CLIENT_CREDENTIALS),
            Self::Enterprise(_) => Some(ENTERPRISE_MANAGED),
        }
    }
}

impl fmt::Debug for GrantKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OAuthConfig {
    /// Uses a user login. The client registers itself under a display name, unless it has other credentials.
    pub fn login(client_name: impl Into<String>, login: impl Login + 'static) -> Self {
        let metadata = ClientMetadata::new().with_name(client_name);
        let mut oauth = Self::new(GrantKind::Code(Arc::new(login)), metadata);
        oauth.config.may_register = true;
        oauth
    }

    /// Uses the client's own credentials without a user (extension OAuth client credentials).
    pub fn client_credentials(client: impl Into<RegisteredClient>) -> Self {
        Self::new(GrantKind::ClientCredentials, ClientMetadata::new()).with_client(client)
    }

    /// Uses an assertion of the platform about this workload, without a user or a secret (workload identity
    /// federation).
    pub fn workload(
        client: impl Into<RegisteredClient>,
        assertions: impl AssertionSource + 'static,
    ) -> Self {
        let grant = GrantKind::Workload(Arc::new(assertions));
        Self::new(grant, ClientMetadata::new()).with_client(client)
    }

    /// Uses an assertion of an enterprise's identity provider (extension enterprise-managed authorization). `client` is
    /// this client's registration with the authorization server of the MCP servers.
    pub fn enterprise(client: impl Into<RegisteredClient>, provider: IdentityProvider) -> Self {
        let grant = GrantKind::Enterprise(Arc::new(provider));
        Self::new(grant, ClientMetadata::new()).with_client(client)
    }

    /// Exchanges the access token of a caller for one that the MCP server accepts (RFC 8693), for gateways that act on
    /// behalf of their callers. `client` is the registration of the gateway, and `subject` returns the caller's token.
    ///
    /// The caller's token is sent to the authorization server only, never to the MCP server. If the client names its issuer,
    /// no other authorization server gets the token.
    pub fn token_exchange(
        client: impl Into<RegisteredClient>,
        subject: impl AssertionSource + 'static,
    ) -> Self {
        let grant = GrantKind::Exchange(Arc::new(subject));
        Self::new(grant, ClientMetadata::new()).with_client(client)
    }

    /// Uses and refreshes the logins in a store, and never starts a new login. For programs that run unattended after a
    /// user has logged in.
    pub fn from_store(store: impl TokenStore + 'static) -> Self {
        Self::new(GrantKind::Stored, ClientMetadata::new()).with_store(store)
    }

    fn new(grant: GrantKind, metadata: ClientMetadata) -> Self {
        Self {
            config: OAuthSettings {
                grant,
                clients: Vec::new(),
                document: None,
                document_key: None,
                may_register: false,
                metadata,
                scopes: None,
                store: Arc::new(MemoryTokenStore::new()),
                registrations: None,
                fetcher: None,
                http: None,
                allow_origin_server: true,
                always_uses_dpop: false,
                issuer_exceptions: Vec::new(),
            },
        }
    }

    /// Sets pre-registered credentials. They take precedence over other client identities.
    #[must_use]
    pub fn with_client(mut self, client: impl Into<RegisteredClient>) -> Self {
        self.config.clients.push(client.into());
        self
    }

    /// Sets the URL of a client ID metadata document. It is the client id at servers that support such documents.
    #[must_use]
    pub fn with_client_id_document(mut self, url: impl Into<String>) -> Self {
        self.config.document = Some(url.into());
        self
    }

    /// Sets the key that the document names, for authorization servers that require client authentication.
    #[must_use]
    pub fn with_document_key(mut self, key: SigningKey) -> Self {
        self.config.document_key = Some(Arc::new(key));
        self
    }

    /// Disables dynamic client registration, which MCP 2026-07-28 deprecates.
    #[must_use]
    pub fn without_registration(mut self) -> Self {
        self.config.may_register = false;
        self
    }

    /// Sets the metadata for dynamic registration besides the client name. Redirect URIs and grant types are filled in.
    #[must_use]
    #[deprecated(
        note = "MCP deprecates dynamic client registration (PR 2858), and a revision of 28 July 2027 or later may remove it. Use a client ID metadata document instead: `with_client_id_document`"
    )]
    pub fn with_client_metadata(mut self, metadata: ClientMetadata) -> Self {
        let name = self.config.metadata.client_name.take();
        self.config.metadata = metadata;
        self.config.metadata.client_name = self.config.metadata.client_name.or(name);
        self
    }

    /// Requests these scopes, separated by spaces, in addition to the scopes that servers name.
    ///
    /// # Errors
    /// Returns an error if a scope is invalid.
    pub fn with_scopes(mut self, scopes: &str) -> Result<Self, InvalidScope> {
        self.config.scopes = Some(ScopeSet::parse(scopes)?);
        Ok(self)
    }

    /// Sets the store for registrations and tokens. Default: memory.
    #[must_use]
    pub fn with_store(mut self, store: impl TokenStore + 'static) -> Self {
        self.config.store = Arc::new(store);
        self
    }

    /// Sets a store for the registrations alone, for programs with a store for each user. All users then share one
    /// registration at an authorization server. Default: the store of the tokens.
    #[must_use]
    pub fn with_registration_store(mut self, store: impl TokenStore + 'static) -> Self {
        self.config.registrations = Some(Arc::new(store));
        self
    }

    /// Always binds tokens to a key of this client (DPoP), so that a stolen token is unusable. By default, tokens are
    /// bound only for servers that require it.
    #[must_use]
    pub fn with_dpop(mut self) -> Self {
        self.config.always_uses_dpop = true;
        self
    }

    /// Sets the fetcher for metadata and tokens. The default reaches public addresses, and this machine if the MCP
    /// server runs on it.
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: DocumentFetcher) -> Self {
        self.config.fetcher = Some(fetcher);
        self
    }

    /// Sets the HTTP client that [`log_in`](Self::log_in) uses to reach MCP servers. Clients have an HTTP client of
    /// their own.
    #[must_use]
    pub fn with_http_client(mut self, http: impl HttpClient) -> Self {
        self.config.http = Some(Arc::new(http));
        self
    }

    /// Accepts an authorization server whose metadata states the issuer `stated` instead of `expected`. Only for
    /// servers that are known to do so: the check prevents sending tokens to another server.
    #[must_use]
    pub fn with_issuer_exception(
        mut self,
        expected: impl Into<String>,
        stated: impl Into<String>,
    ) -> Self {
        let exception = (expected.into(), stated.into());
        self.config.issuer_exceptions.push(exception);
        self
    }

    /// Rejects servers that do not publish their authorization server. By default, as in 2025-03-26, the origin of such
    /// a server is used as its authorization server.
    #[must_use]
    pub fn without_origin_fallback(mut self) -> Self {
        self.config.allow_origin_server = false;
        self
    }
}

/// Gets access tokens when a server requires them.
impl HttpLayer for OAuthConfig {
    fn layer(
        &self,
        inner: Arc<dyn HttpClient>,
        endpoint: &Uri,
        user: &UserInteraction,
    ) -> Arc<dyn HttpClient> {
        let client = OAuthHttpClient::new(inner, self.clone(), endpoint);
        Arc::new(client.with_user_interaction(user.clone()))
    }

    fn extensions(&self) -> Vec<(String, RawJson)> {
        let id = self.config.grant.extension();
        id.map(|id| (id.to_owned(), RawJson::empty_object()))
            .into_iter()
            .collect()
    }
}
