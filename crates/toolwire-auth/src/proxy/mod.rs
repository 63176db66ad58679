//! An authorization server for MCP clients in front of an identity provider without dynamic registration.
//!
//! MCP clients register here, users consent here, and tokens are issued and verified here. The identity provider only
//! identifies the user. Its tokens stay in the proxy, and the proxy's tokens are never sent to it.
//!
//! ```text
//!  MCP client            browser                     OAuth proxy                      identity provider
//!   POST /register ---------------------------------->
//!                    GET /authorize ------------------> checks client, redirect, PKCE
//!                    <-- consent page (sealed form) ---
//!                    POST /consent -------------------> stores the login and sets its cookie
//!                    <-- 303 ----------------------------------------------------------> login
//!                    GET /callback -------------------> checks the browser, redeems the code, identifies the user
//!                    <-- 303 to the client, with a code
//!   POST /token ------------------------------------> tokens of this server
//! ```

mod authorize;
mod browser;
mod callback;
mod clients;
mod config;
mod documents;
mod grants;
mod page;
mod paths;
mod readmission;
mod records;
mod register;
mod renewal;
mod responses;
mod sealed_store;
mod sources;
pub mod store;
mod token;
mod tokens;
mod upstream;
mod upstream_client;
pub mod user_page;

pub use config::{OAuthProxyConfig, OAuthProxyConfigError};
pub use upstream::{Upstream, UpstreamUser};

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use sealed_store::SealedStore;
use toolwire::store::StoreError;
use toolwire::transport::http::{AuthorizationError, Authorizer, PublicRoute};
use toolwire::{BoxFuture, TokenInfo};
use toolwire_proto::scopes::ScopeSet;
use upstream_client::UpstreamClient;

use self::clients::Clients;
use self::grants::{GRANT_CLAIM, GrantStore, now};
use self::paths::Paths;
use self::records::{GrantRecord, RecordDigest};
use self::renewal::GrantError;
use self::sources::Sources;
use crate::documents::{AccessTokenClaims, Secret};
use crate::resource::{ResourceServer, TokenError, TokenPurpose, TokenVerifier};
use crate::rules::authorization_server::LONGEST_PARAMETERS;
use crate::rules::authorization_server::authorization::ServerPolicy;
use crate::rules::redirect_uri::Destination;
use crate::rules::resource_indicator::ResourceIndicator;

/// The maximum size of a registration, in bytes.
const LARGEST_REGISTRATION: usize = 64 * 1024;

/// An authorization server in front of an identity provider, and the authorizer of the MCP server. Built by an
/// [`OAuthProxyConfig`]. Clones share their state.
///
/// Pass it to [`HttpOptions::with_authorizer`](toolwire::transport::http::HttpOptions::with_authorizer). Handlers that
/// act for the user at the provider get a clone.
#[derive(Debug, Clone)]
pub struct OAuthProxy {
    state: Arc<ProxyState>,
    resource_server: Arc<ResourceServer>,
}

/// The filter that decides which users are admitted.
type UserFilter = dyn Fn(&UpstreamUser) -> bool + Send + Sync;

/// The state that all endpoints share.
struct ProxyState {
    issuer: String,
    /// The display name of the server.
    name: String,
    resource: ResourceIndicator,
    scopes: ScopeSet,
    default_scopes: ScopeSet,
    /// The permitted hosts of redirect URIs besides the user's machine. All hosts are permitted if empty.
    redirect_hosts: Vec<String>,
    user_filter: Option<Box<UserFilter>>,
    sources: Sources,
    paths: Paths,
    metadata: Bytes,
    clients: Clients,
    grants: GrantStore,
    upstream_client: UpstreamClient,
    store: SealedStore,
}

impl ProxyState {
    fn policy(&self) -> ServerPolicy<'_> {
        ServerPolicy {
            resource: &self.resource,
            scopes: &self.scopes,
            default_scopes: &self.default_scopes,
        }
    }

    /// Returns `true` if users may be redirected to a destination.
    fn permits_redirect_to(&self, destination: &Destination) -> bool {
        let is_listed = |host: &String| host.eq_ignore_ascii_case(&destination.host);
        destination.is_this_machine
            || self.redirect_hosts.is_empty()
            || self.redirect_hosts.iter().any(is_listed)
    }

    fn admits(&self, user: &UpstreamUser) -> bool {
        self.user_filter.as_ref().is_none_or(|filter| filter(user))
    }

    /// Returns the grant with a valid token of the identity provider. Runs in a separate task, so that a dropped call
    /// does not lose tokens that the provider is issuing.
    async fn renewed_grant(
        self: &Arc<Self>,
        grant: RecordDigest,
    ) -> Result<GrantRecord, GrantError> {
        let state = Arc::clone(self);
        let task = tokio::spawn(async move {
            state
                .grants
                .renewed_grant(&state.store, &state.upstream_client, &grant)
                .await
        });
        let renewed = task.await;
        renewed.map_err(|error| GrantError::Unavailable(Box::new(error)))?
    }

    /// Returns `true` if a grant has to be renewed, or its user admitted again, before its refresh token is used.
    fn has_steps_before_refresh(&self, grant: &GrantRecord) -> bool {
        self.user_filter.is_some() || renewal::is_due(grant)
    }

    /// Renews the token of the identity provider if necessary, and checks that the user is still admitted.
    async fn renew_and_readmit(self: &Arc<Self>, key: RecordDigest) -> Result<(), GrantError> {
        let grant = self.renewed_grant(key).await?;
        self.readmit(&key, grant).await
    }
}

impl fmt::Debug for ProxyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyState")
            .field("issuer", &self.issuer)
            .field("upstream_client", &self.upstream_client)
            .field("grants", &self.grants)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl OAuthProxy {
    /// Returns the redirect URI to register at the identity provider.
    #[must_use]
    pub fn callback_url(&self) -> &str {
        &self.state.upstream_client.callback
    }

    /// Returns the issuer of the tokens, which identifies this authorization server to clients.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.state.issuer
    }

    /// Checks that the store of the proxy can be used now, for a probe or an alarm.
    ///
    /// # Errors
    /// Returns the error of the store.
    pub async fn check_store(&self) -> Result<(), StoreError> {
        self.state.store.check().await
    }

    /// Returns the identity provider's token for the user of a request. It is renewed if necessary.
    ///
    /// ```no_run
    /// # use toolwire_auth::{OAuthProxy, UpstreamTokenError};
    /// # use toolwire::RequestContext;
    /// # async fn handler(proxy: &OAuthProxy, ctx: &RequestContext) -> Result<(), UpstreamTokenError> {
    /// let token = proxy.upstream_token(ctx.auth()).await?;
    /// let header = format!("Bearer {}", token.expose());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if this proxy did not issue the caller's token, if the user's grant was revoked, or if the
    /// provider is unavailable.
    ///
    /// # Cancellation
    /// Dropping the future is safe: a started renewal completes, and the next caller gets its token.
    pub async fn upstream_token(&self, token: &TokenInfo) -> Result<Secret, UpstreamTokenError> {
        let grant = grant_of(token).ok_or(UpstreamTokenError::NotGranted)?;
        match self.state.renewed_grant(grant).await {
            Ok(grant) => Ok(grant.upstream.access_token),
            Err(GrantError::Gone) => Err(UpstreamTokenError::NotGranted),
            Err(GrantError::Unavailable(error)) => Err(UpstreamTokenError::Unavailable(error)),
        }
    }
}

fn grant_of(token: &TokenInfo) -> Option<RecordDigest> {
    let claim = token.valid.then(|| token.claims.get(GRANT_CLAIM))??;
    let bytes = URL_SAFE_NO_PAD.decode(claim.as_str()?).ok()?;
    bytes.try_into().ok()
}

/// The reason why no token of the identity provider is available.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpstreamTokenError {
    /// The caller has no token of this proxy, or the user's grant was revoked. The user has to log in again.
    NotGranted,
    /// The provider or the store is temporarily unavailable.
    Unavailable(Box<dyn StdError + Send + Sync>),
}

impl fmt::Display for UpstreamTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotGranted => "the user has no valid grant and has to log in again",
            Self::Unavailable(_) => "the identity provider is temporarily unavailable",
        })
    }
}

impl StdError for UpstreamTokenError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::NotGranted => None,
            Self::Unavailable(source) => Some(&**source),
        }
    }
}

/// A verifier for the tokens of a proxy.
#[derive(Debug)]
struct OwnTokens(Arc<ProxyState>);

impl TokenVerifier for OwnTokens {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        _: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        Box::pin(async {
            match self.0.grants.claims(&self.0.store, token, now()).await {
                Ok(Some(claims)) => Ok(claims),
                Ok(None) => Err(TokenError::Invalid("the token is unknown".to_owned())),
                Err(error) => Err(TokenError::Unavailable(Box::new(error))),
            }
        })
    }
}

/// The routes of the proxy's endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyRoute {
    Authorize,
    Consent,
    Callback,
    Token,
    Register,
    Revoke,
}

impl Authorizer for OAuthProxy {
    fn authorize<'a>(
        &'a self,
        head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        self.resource_server.authorize(head)
    }

    fn insufficient_scope(&self, needed: &ScopeSet, token: &TokenInfo) -> AuthorizationError {
        self.resource_server.insufficient_scope(needed, token)
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        let is_metadata = self
            .state
            .paths
            .metadata
            .iter()
            .any(|own_path| own_path == path);
        if is_metadata {
            Some(self.state.metadata.clone())
        } else {
            self.resource_server.document(path)
        }
    }

    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        Some(match self.state.paths.route(path)? {
            ProxyRoute::Authorize | ProxyRoute::Callback => PublicRoute::get(),
            ProxyRoute::Consent => PublicRoute::post(LONGEST_PARAMETERS),
            ProxyRoute::Token | ProxyRoute::Revoke => {
                PublicRoute::post(LONGEST_PARAMETERS).with_cors()
            }
            ProxyRoute::Register => PublicRoute::post(LARGEST_REGISTRATION).with_cors(),
        })
    }

    fn serve_public(&self, request: Request<Bytes>) -> BoxFuture<'_, Response<Bytes>> {
        Box::pin(async move {
            let state = &self.state;
            match state.paths.route(request.uri().path()) {
                Some(ProxyRoute::Authorize) => authorize::authorize(state, &request).await,
                Some(ProxyRoute::Consent) => authorize::consent(state, &request).await,
                Some(ProxyRoute::Callback) => callback::callback(state, &request).await,
                Some(ProxyRoute::Token) => token::token(state, &request).await,
                Some(ProxyRoute::Register) => register::register(state, &request).await,
                Some(ProxyRoute::Revoke) => token::revoke(state, &request).await,
                None => responses::plain(http::StatusCode::NOT_FOUND, Bytes::new()),
            }
        })
    }
}
