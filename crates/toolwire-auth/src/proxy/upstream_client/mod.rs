//! The client of the identity provider: redirects users, redeems codes, and renews tokens.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::Value;
use tokio::time::Instant;
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::ProtocolVersion;

use crate::clock::since_epoch;
use crate::documents::{AuthorizationServerMetadata, OAuthError, Secret, TokenResponse};
use crate::fetch::{DocumentFetcher, FetchError};
use crate::proxy::config::OAuthProxyConfigError;
use crate::proxy::records::UpstreamTokens;
use crate::proxy::upstream::{Upstream, UpstreamUser, UserSource};
use crate::rules::authorization_request::{AuthorizationRequest, is_reserved};
use crate::rules::challenge::TokenScheme;
use crate::rules::endpoints::{self, InvalidUrl};
use crate::rules::id_token;
use crate::rules::metadata_rules::{AuthMethod, ClientCredentials, IssuerPolicy, check_identity};
use crate::rules::pkce::Verifier;
use crate::rules::token_request::{ClientAuthentication, Grant, TokenRequest};
use crate::rules::token_response::{Consequence, GrantedToken, consequence};
use crate::rules::well_known::server_metadata_urls;
use crate::sync::lock;

/// How long the metadata of a provider is cached.
const METADATA_TTL: Duration = Duration::from_secs(60 * 60);

/// The client that sends requests to the identity provider.
pub(super) struct UpstreamClient {
    pub(super) upstream: Upstream,
    pub(super) scopes: ScopeSet,
    pub(super) fetcher: DocumentFetcher,
    /// The redirect URI that is registered at the provider.
    pub(super) callback: String,
    /// The endpoints with the time at which they are discovered again.
    pub(super) cached: Mutex<Option<(Instant, Arc<Endpoints>)>>,
}

/// The endpoints of a provider, and its declared support.
#[derive(Debug)]
pub(super) struct Endpoints {
    authorization: String,
    token: String,
    /// Whether its redirects carry `iss`.
    pub(super) declares_iss: bool,
    auth_method: AuthMethod,
}

/// The result of redeeming a code at the provider.
#[derive(Debug)]
pub(super) struct UpstreamLogin {
    pub(super) user: UpstreamUser,
    pub(super) tokens: UpstreamTokens,
}

/// The result of a refresh at the provider.
#[derive(Debug)]
pub(super) struct Renewed {
    pub(super) tokens: UpstreamTokens,
    /// The user, if the response contains an ID token.
    pub(super) user: Option<UpstreamUser>,
}

impl UpstreamClient {
    /// Returns the endpoints of the provider.
    pub(super) async fn endpoints(&self) -> Result<Arc<Endpoints>, UpstreamError> {
        if let Some(endpoints) = self.cached_endpoints() {
            return Ok(endpoints);
        }
        let endpoints = Arc::new(match &self.upstream.endpoints {
            Some((authorization, token)) => Endpoints {
                authorization: authorization.clone(),
                token: token.clone(),
                declares_iss: false,
                auth_method: self.auth_method(None)?,
            },
            None => self.discover().await?,
        });
        let until = Instant::now() + METADATA_TTL;
        let mut cached = lock(&self.cached);
        *cached = Some((until, Arc::clone(&endpoints)));
        Ok(endpoints)
    }

    fn cached_endpoints(&self) -> Option<Arc<Endpoints>> {
        let cached = lock(&self.cached);
        let (until, endpoints) = cached.as_ref()?;
        (*until > Instant::now()).then(|| Arc::clone(endpoints))
    }

    async fn discover(&self) -> Result<Endpoints, UpstreamError> {
        let issuer = &self.upstream.issuer;
        let version = ProtocolVersion::LATEST;
        let mut last_error = UpstreamError::Unusable("it publishes no metadata");
        for url in server_metadata_urls(issuer, version).map_err(UpstreamError::Url)? {
            let metadata: AuthorizationServerMetadata = match self.fetcher.get(&url).await {
                Ok(metadata) => metadata,
                Err(error) => {
                    last_error = UpstreamError::Fetch(error);
                    continue;
                }
            };
            // PKCE is always used. Some providers support it without declaring it.
            check_identity(&metadata, issuer, IssuerPolicy::new(version))
                .map_err(|_| UpstreamError::Unusable("its metadata is invalid"))?;
            let supported = metadata.token_endpoint_auth_methods_supported.as_deref();
            let auth_method = self.auth_method(supported)?;
            let missing = || UpstreamError::Unusable("its metadata lacks an endpoint");
            return Ok(Endpoints {
                authorization: metadata.authorization_endpoint.ok_or_else(missing)?,
                token: metadata.token_endpoint.ok_or_else(missing)?,
                declares_iss: metadata.authorization_response_iss_parameter_supported == Some(true),
                auth_method,
            });
        }
        Err(last_error)
    }

    fn auth_method(&self, supported: Option<&[String]>) -> Result<AuthMethod, UpstreamError> {
        if self.upstream.secret_in_body {
            return Ok(AuthMethod::ClientSecretPost);
        }
        let credentials = ClientCredentials {
            has_secret: true,
            has_key: false,
        };
        AuthMethod::choose(None, supported, credentials)
            .map_err(|_| UpstreamError::Unusable("it does not support client secrets"))
    }

    /// Returns the URL that a user is redirected to.
    pub(super) fn authorization_url(
        &self,
        endpoints: &Endpoints,
        state: &Secret,
        verifier: &Verifier,
    ) -> Result<String, UpstreamError> {
        let mut request =
            AuthorizationRequest::new(&self.upstream.client_id, &self.callback, state, verifier)
                .with_scopes(&self.scopes);
        for (name, value) in &self.upstream.parameters {
            request = request
                .with_parameter(name, value)
                .map_err(|_| UpstreamError::Unusable("a parameter is set already"))?;
        }
        request
            .url(&endpoints.authorization)
            .map_err(UpstreamError::Url)
    }

    /// Redeems a code and identifies its user.
    pub(super) async fn log_in(
        &self,
        code: &Secret,
        verifier: &Verifier,
    ) -> Result<UpstreamLogin, UpstreamError> {
        let grant = Grant::AuthorizationCode {
            code,
            redirect_uri: &self.callback,
            verifier,
        };
        let response = self.request_tokens(grant).await?;
        let tokens = read_tokens(&response, None)?;
        let user = self.user(&response, &tokens.access_token).await?;
        Ok(UpstreamLogin { user, tokens })
    }

    /// Renews tokens. If the provider returns no new refresh token, the old one stays valid.
    pub(super) async fn renew(&self, refresh_token: &Secret) -> Result<Renewed, UpstreamError> {
        let response = self
            .request_tokens(Grant::RefreshToken(refresh_token))
            .await?;
        let tokens = read_tokens(&response, Some(refresh_token))?;
        let user = match &self.upstream.user {
            UserSource::IdToken if response.id_token.is_some() => {
                // The provider may have revoked the old tokens already, so the new ones are used in any case.
                let user = self.user_of_id_token(&response);
                user.inspect_err(|error| {
                    tracing::warn!(%error, "the ID token of a renewal is ignored");
                })
                .ok()
            }
            UserSource::IdToken | UserSource::Endpoint { .. } => None,
        };
        Ok(Renewed { tokens, user })
    }

    /// Requests the current data of an access token's user. Returns `None` if the provider identifies users only by ID
    /// tokens. Returns [`UpstreamError::Rejected`] if the token is no longer valid.
    pub(super) async fn current_user(
        &self,
        access_token: &Secret,
    ) -> Result<Option<UpstreamUser>, UpstreamError> {
        let UserSource::Endpoint { url, subject } = &self.upstream.user else {
            return Ok(None);
        };
        let user = self.user_info(url, subject, access_token).await;
        user.map(Some).map_err(|error| match error {
            UpstreamError::Fetch(error) if error.status() == Some(StatusCode::UNAUTHORIZED) => {
                UpstreamError::Rejected
            }
            error => error,
        })
    }

    pub(super) fn identifies_users_by_id_token(&self) -> bool {
        matches!(self.upstream.user, UserSource::IdToken)
    }

    async fn request_tokens(&self, grant: Grant<'_>) -> Result<TokenResponse, UpstreamError> {
        let endpoints = self.endpoints().await?;
        let (client_id, client_secret) = (&*self.upstream.client_id, &self.upstream.client_secret);
        let client = match endpoints.auth_method {
            AuthMethod::ClientSecretPost => ClientAuthentication::Post {
                client_id,
                client_secret,
            },
            AuthMethod::None => ClientAuthentication::Public { client_id },
            _ => ClientAuthentication::Basic {
                client_id,
                client_secret,
            },
        };
        let request = TokenRequest::new(grant, client);
        let form = request.body();
        let response = self.fetcher.post_form(
            &endpoints.token,
            &form,
            request.authorization(),
            HeaderMap::new(),
        );
        let response = response.await.map_err(UpstreamError::Fetch)?;
        // GitHub sends error responses with status 200.
        if let Some(rejection) = response.error_document::<OAuthError>() {
            let consequence = consequence(response.status.as_u16(), Some(&rejection));
            tracing::warn!(
                error = %rejection.error.escape_debug(),
                "the identity provider rejected a code or a refresh token"
            );
            return Err(match consequence {
                Consequence::AuthorizeAgain => UpstreamError::Rejected,
                _ => UpstreamError::Unusable("it rejected the token request"),
            });
        }
        response
            .document(&endpoints.token)
            .map_err(UpstreamError::Fetch)
    }

    async fn user(
        &self,
        response: &TokenResponse,
        access_token: &Secret,
    ) -> Result<UpstreamUser, UpstreamError> {
        match &self.upstream.user {
            UserSource::IdToken => self.user_of_id_token(response),
            UserSource::Endpoint { url, subject } => {
                self.user_info(url, subject, access_token).await
            }
        }
    }

    fn user_of_id_token(&self, response: &TokenResponse) -> Result<UpstreamUser, UpstreamError> {
        let token = response.id_token.as_ref().ok_or(NO_USER)?;
        let (issuer, client_id) = (&self.upstream.issuer, &self.upstream.client_id);
        let claims = id_token::read(token, issuer, client_id, since_epoch().as_secs())
            .map_err(UpstreamError::IdToken)?;
        let Ok(Value::Object(claims)) = serde_json::to_value(&claims) else {
            return Err(NO_USER);
        };
        UpstreamUser::read(claims, "sub").ok_or(NO_USER)
    }

    async fn user_info(
        &self,
        url: &str,
        subject: &str,
        access_token: &Secret,
    ) -> Result<UpstreamUser, UpstreamError> {
        let bearer = format!("Bearer {}", access_token.expose());
        let mut value = HeaderValue::try_from(bearer)
            .map_err(|_| UpstreamError::Unusable("its token is not a valid header value"))?;
        value.set_sensitive(true);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
        let response = self
            .fetcher
            .exchange(Method::GET, url, headers, Bytes::new());
        let response = response.await.map_err(UpstreamError::Fetch)?;
        let claims = response.document(url).map_err(UpstreamError::Fetch)?;
        UpstreamUser::read(claims, subject).ok_or(NO_USER)
    }
}

const NO_USER: UpstreamError = UpstreamError::Unusable("it does not identify the user");

fn read_tokens(
    response: &TokenResponse,
    refresh_token: Option<&Secret>,
) -> Result<UpstreamTokens, UpstreamError> {
    let now = since_epoch().as_secs();
    let granted = GrantedToken::read(response, None, now)
        .map_err(|_| UpstreamError::Unusable("its token response is invalid"))?;
    if granted.scheme != TokenScheme::Bearer {
        return Err(UpstreamError::Unusable("its token is bound to a key"));
    }
    Ok(UpstreamTokens {
        access_token: response.access_token.clone(),
        refresh_token: response.refresh_token.as_ref().or(refresh_token).cloned(),
        expires_at: granted.expires_at,
    })
}

/// Checks the configuration of the provider.
pub(super) fn check_upstream(upstream: &Upstream) -> Result<(), OAuthProxyConfigError> {
    let check = |url: &str| endpoints::check(url).map_err(OAuthProxyConfigError::Url);
    check(&upstream.issuer)?;
    if let Some((authorization, token)) = &upstream.endpoints {
        check(authorization)?;
        check(token)?;
    }
    if let UserSource::Endpoint { url, .. } = &upstream.user {
        check(url)?;
    }
    for (name, _) in &upstream.parameters {
        if is_reserved(name) {
            return Err(OAuthProxyConfigError::Parameter(name.clone()));
        }
    }
    Ok(())
}

impl fmt::Debug for UpstreamClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamClient")
            .field("upstream", &self.upstream)
            .field("callback", &self.callback)
            .finish_non_exhaustive()
    }
}

/// The reason why a request to the identity provider failed. It is for the log. Clients get no details.
#[derive(Debug)]
pub(super) enum UpstreamError {
    /// The code or refresh token is no longer valid or was revoked.
    Rejected,
    Url(InvalidUrl),
    Fetch(FetchError),
    IdToken(id_token::IdTokenError),
    Unusable(&'static str),
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request to the identity provider failed: ")?;
        match self {
            Self::Rejected => f.write_str("it revoked its tokens"),
            Self::Url(invalid) => write!(f, "{invalid}"),
            Self::Fetch(error) => write!(f, "{error}"),
            Self::IdToken(error) => write!(f, "{error}"),
            Self::Unusable(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for UpstreamError {}

#[cfg(test)]
mod tests;
