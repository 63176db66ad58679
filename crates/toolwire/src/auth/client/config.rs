//! What a client needs to know to be let in.

use std::fmt;
use std::sync::Arc;

use toolwire_proto::scopes::{InvalidScope, ScopeSet};
use toolwire_types::auth::ClientMetadata;

use crate::auth::client::assertion::{AssertionSource, IdentityProvider};
use crate::auth::client::authorized::OAuthHttpClient;
use crate::auth::client::login::Login;
use crate::auth::client::registered_client::RegisteredClient;
use crate::auth::client::signing::SigningKey;
use crate::auth::client::store::{MemoryTokenStore, TokenStore};
use crate::auth::fetch::DocumentFetcher;
use crate::client::ClientBuilder;
use crate::client::http::HttpClient;

/// The extension that a client names when it uses its own credentials.
const CLIENT_CREDENTIALS: &str = "io.modelcontextprotocol/oauth-client-credentials";

/// The extension that a client names when its enterprise decides.
const ENTERPRISE_MANAGED: &str = "io.modelcontextprotocol/enterprise-managed-authorization";

/// How a client gets access tokens, given to
/// [`ClientBuilder::with_oauth`](crate::ClientBuilder::with_oauth).
///
/// ```no_run
/// use toolwire::Client;
/// use toolwire::auth::client::{LoopbackLogin, OAuthConfig};
///
/// # async fn connect() -> Result<(), toolwire::Error> {
/// let client = Client::builder("my-app", "1.0.0")
///     .with_oauth(OAuthConfig::login("My App", LoopbackLogin::new()))
///     .connect("https://example.com/mcp")
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct OAuthConfig {
    pub(super) config: OAuthSettings,
}

#[derive(Debug, Clone)]
pub(super) struct OAuthSettings {
    pub(super) grant: GrantKind,
    pub(super) clients: Vec<RegisteredClient>,
    pub(super) document: Option<String>,
    /// The key of the client that the document is about.
    pub(super) document_key: Option<Arc<SigningKey>>,
    pub(super) may_register: bool,
    pub(super) metadata: ClientMetadata,
    pub(super) scopes: Option<ScopeSet>,
    pub(super) store: Arc<dyn TokenStore>,
    pub(super) fetcher: Option<DocumentFetcher>,
    pub(super) http: Option<Arc<dyn HttpClient>>,
    pub(super) allow_origin_server: bool,
    pub(super) always_proves: bool,
    pub(super) issuer_exceptions: Vec<(String, String)>,
}

/// What is exchanged for a token.
#[derive(Clone)]
pub(super) enum GrantKind {
    /// A code that a user brings.
    Code(Arc<dyn Login>),
    /// The client's own credentials.
    ClientCredentials,
    /// What the platform says about this workload.
    Workload(Arc<dyn AssertionSource>),
    /// What an enterprise's identity provider says about its user.
    Enterprise(Arc<IdentityProvider>),
    /// Nothing: what is stored has to do.
    Stored,
}

impl GrantKind {
    const fn name(&self) -> &'static str {
        match self {
            Self::Code(_) => "Code",
            Self::ClientCredentials => "ClientCredentials",
            Self::Workload(_) => "Workload",
            Self::Enterprise(_) => "Enterprise",
            Self::Stored => "Stored",
        }
    }

    /// Whether a user is sent to the authorization server.
    pub(super) const fn needs_redirect(&self) -> bool {
        matches!(self, Self::Code(_))
    }

    /// Whether a new token can be had at any time, without a user.
    pub(super) const fn is_unattended(&self) -> bool {
        match self {
            Self::ClientCredentials | Self::Workload(_) | Self::Enterprise(_) => true,
            Self::Code(_) | Self::Stored => false,
        }
    }

    const fn extension(&self) -> Option<&'static str> {
        match self {
            Self::Code(_) | Self::Workload(_) | Self::Stored => None,
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
    /// Lets a user log in. The client registers itself under a name for people, unless it is known by other means.
    pub fn login(client_name: impl Into<String>, login: impl Login + 'static) -> Self {
        let metadata = ClientMetadata::new().with_name(client_name);
        let mut oauth = Self::new(GrantKind::Code(Arc::new(login)), metadata);
        oauth.config.may_register = true;
        oauth
    }

    /// Uses the client's own credentials, without any user (extension OAuth client credentials).
    pub fn client_credentials(client: impl Into<RegisteredClient>) -> Self {
        Self::new(GrantKind::ClientCredentials, ClientMetadata::new()).with_client(client)
    }

    /// Shows what the platform says about this workload, without any user or password (workload identity federation).
    pub fn workload(
        client: impl Into<RegisteredClient>,
        assertions: impl AssertionSource + 'static,
    ) -> Self {
        let grant = GrantKind::Workload(Arc::new(assertions));
        Self::new(grant, ClientMetadata::new()).with_client(client)
    }

    /// Lets an enterprise's identity provider decide for its user (extension enterprise-managed authorization). `client` is
    /// how the servers' own authorization server knows this client.
    pub fn enterprise(client: impl Into<RegisteredClient>, provider: IdentityProvider) -> Self {
        let grant = GrantKind::Enterprise(Arc::new(provider));
        Self::new(grant, ClientMetadata::new()).with_client(client)
    }

    /// Uses the logins in a store, and refreshes them, but never asks anybody for a new one: for programs that run
    /// unattended after somebody has logged in.
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
                fetcher: None,
                http: None,
                allow_origin_server: true,
                always_proves: false,
                issuer_exceptions: Vec::new(),
            },
        }
    }

    /// Credentials that were registered beforehand. They come before any other way to be known.
    #[must_use]
    pub fn with_client(mut self, client: impl Into<RegisteredClient>) -> Self {
        self.config.clients.push(client.into());
        self
    }

    /// The URL of a document about this client, which is its id where servers read such documents.
    #[must_use]
    pub fn with_client_id_document(mut self, url: impl Into<String>) -> Self {
        self.config.document = Some(url.into());
        self
    }

    /// The key that the document names, for authorization servers that want the client to prove itself.
    #[must_use]
    pub fn with_document_key(mut self, key: SigningKey) -> Self {
        self.config.document_key = Some(Arc::new(key));
        self
    }

    /// Never registers by itself.
    #[must_use]
    pub fn without_registration(mut self) -> Self {
        self.config.may_register = false;
        self
    }

    /// What the client says about itself when it registers, beside its name; redirects and grants are filled in.
    #[must_use]
    pub fn with_client_metadata(mut self, metadata: ClientMetadata) -> Self {
        let name = self.config.metadata.client_name.take();
        self.config.metadata = metadata;
        self.config.metadata.client_name = self.config.metadata.client_name.or(name);
        self
    }

    /// Asks for these scopes beside those that servers name, separated by spaces.
    ///
    /// # Errors
    /// When one of them is none.
    pub fn with_scopes(mut self, scopes: &str) -> Result<Self, InvalidScope> {
        self.config.scopes = Some(ScopeSet::parse(scopes)?);
        Ok(self)
    }

    /// Keeps registrations and tokens there; in memory if not said otherwise.
    #[must_use]
    pub fn with_store(mut self, store: impl TokenStore + 'static) -> Self {
        self.config.store = Arc::new(store);
        self
    }

    /// Always binds tokens to a key of this client (DPoP), so that they are worth nothing to a thief. Otherwise that is
    /// done for servers that want it.
    #[must_use]
    pub fn with_dpop(mut self) -> Self {
        self.config.always_proves = true;
        self
    }

    /// Fetches metadata and tokens in this way. By default public addresses are reached, and this machine when the MCP
    /// server is on it.
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: DocumentFetcher) -> Self {
        self.config.fetcher = Some(fetcher);
        self
    }

    /// Reaches MCP servers in this way when a login asks what they want; see [`log_in`](Self::log_in). Clients have a stack of
    /// their own.
    #[must_use]
    pub fn with_http_client(mut self, http: impl HttpClient) -> Self {
        self.config.http = Some(Arc::new(http));
        self
    }

    /// Accepts that one authorization server calls itself by another name than the one it was found under. Only for those
    /// that are known to do so: the comparison keeps tokens from being sent to somebody else.
    #[must_use]
    pub fn with_issuer_exception(
        mut self,
        named: impl Into<String>,
        calls_itself: impl Into<String>,
    ) -> Self {
        let exception = (named.into(), calls_itself.into());
        self.config.issuer_exceptions.push(exception);
        self
    }

    /// Believes no server that does not publish who gives out its tokens. Otherwise, as in 2025-03-26, such a server's own
    /// origin is asked.
    #[must_use]
    pub fn without_origin_fallback(mut self) -> Self {
        self.config.allow_origin_server = false;
        self
    }
}

impl ClientBuilder {
    /// Gets access tokens by itself when a server wants them; see [`OAuthConfig`].
    pub fn with_oauth(mut self, oauth: OAuthConfig) -> Self {
        let extension = oauth.config.grant.extension();
        self.http.layer = Some(Arc::new(move |inner, endpoint, wait| {
            let http = OAuthHttpClient::new(inner, oauth.clone(), endpoint);
            Arc::new(http.with_login_wait(wait.clone()))
        }));
        match extension {
            Some(id) => self.with_extension(id, toolwire_types::RawJson::empty_object()),
            None => self,
        }
    }
}
