//! The token endpoint (OAuth 2.1, section 3.2) and the revocation endpoint (RFC 7009).

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, StatusCode};
use toolwire::store::StoreError;
use toolwire_proto::scopes::ScopeSet;

use crate::documents::{Secret, TokenResponse};
use crate::proxy::ProxyState;
use crate::proxy::authorize::form_of;
use crate::proxy::clients::{AuthenticatedClient, ClientAuthError};
use crate::proxy::grants::{Issued, Redemption, now};
use crate::proxy::renewal::GrantError;
use crate::proxy::responses::{self, ProxyResponse};
use crate::rules::authorization_server::Parameters;
use crate::rules::authorization_server::token::{GrantRequest, PresentedClient, TokenRequestError};

/// The reason why no token is issued.
enum TokenEndpointError {
    Rejected(TokenRequestError),
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl From<TokenRequestError> for TokenEndpointError {
    fn from(rejected: TokenRequestError) -> Self {
        Self::Rejected(rejected)
    }
}

impl From<StoreError> for TokenEndpointError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

impl From<ClientAuthError> for TokenEndpointError {
    fn from(failure: ClientAuthError) -> Self {
        match failure {
            ClientAuthError::Rejected(rejected) => Self::Rejected(rejected),
            ClientAuthError::Unavailable(error) => error.into(),
        }
    }
}

impl From<GrantError> for TokenEndpointError {
    fn from(error: GrantError) -> Self {
        match error {
            GrantError::Gone => Self::Rejected(TokenRequestError::InvalidGrant),
            GrantError::Unavailable(error) => Self::Unavailable(error),
        }
    }
}

impl TokenEndpointError {
    fn into_response(self, in_header: bool) -> ProxyResponse {
        match self {
            Self::Rejected(rejected) => responses::token_error(rejected, in_header),
            Self::Unavailable(error) => responses::unavailable(&error),
        }
    }
}

/// Handles a token request.
pub(super) async fn token(proxy: &Arc<ProxyState>, request: &Request<Bytes>) -> ProxyResponse {
    let in_header = request.headers().contains_key(AUTHORIZATION);
    match issue(proxy, request).await {
        Ok(response) => responses::json(StatusCode::OK, &response),
        Err(failure) => failure.into_response(in_header),
    }
}

async fn issue(
    proxy: &Arc<ProxyState>,
    request: &Request<Bytes>,
) -> Result<TokenResponse, TokenEndpointError> {
    let (client, form) = authenticate_client(proxy, request).await?;
    let issued = match GrantRequest::read(&form, &proxy.resource)? {
        GrantRequest::AuthorizationCode {
            code,
            redirect_uri,
            code_verifier,
        } => {
            let redemption = Redemption {
                client_id: &client.id,
                code: &code,
                redirect_uri: &redirect_uri,
                verifier: &code_verifier,
            };
            let redeemed = proxy.grants.redeem(&proxy.store, &redemption, now());
            redeemed.await?.ok_or(TokenRequestError::InvalidGrant)?
        }
        GrantRequest::RefreshToken { token, scope } => {
            refresh(proxy, &client.id, &token, scope.as_deref()).await?
        }
    };
    // The grant is already consumed, so the client gets its tokens even if this fails.
    let marked = proxy
        .clients
        .mark_used(&proxy.store, client, issued.principal, now());
    if let Err(error) = marked.await {
        tracing::warn!(%error, "the registration of a client cannot be prolonged");
    }
    Ok(issued.response)
}

/// Authenticates the client and parses its request.
async fn authenticate_client(
    proxy: &ProxyState,
    request: &Request<Bytes>,
) -> Result<(AuthenticatedClient, Parameters), TokenEndpointError> {
    let form = form_of(request).ok_or(TokenRequestError::InvalidRequest)?;
    let headers = request.headers().get_all(AUTHORIZATION).iter();
    let headers: Result<Vec<_>, _> = headers.map(HeaderValue::to_str).collect();
    let headers = headers.map_err(|_| TokenRequestError::InvalidClient)?;
    let presented = PresentedClient::read(&headers, &form)?;
    let client = proxy.clients.authenticate(&proxy.store, presented).await?;
    Ok((client, form))
}

/// Uses a refresh token (OAuth 2.1, section 4.3.1).
async fn refresh(
    proxy: &Arc<ProxyState>,
    client_id: &str,
    token: &Secret,
    scope: Option<&str>,
) -> Result<Issued, TokenEndpointError> {
    let rejected = TokenEndpointError::Rejected(TokenRequestError::InvalidGrant);
    let (grants, store) = (&proxy.grants, &proxy.store);
    let refreshable = grants.refreshable(store, client_id, token, now());
    let Some((key, grant, read)) = refreshable.await? else {
        return Err(rejected);
    };
    let scopes = narrowed_scopes(&grant.scopes, scope)?;
    let unchanged = if proxy.has_steps_before_refresh(&grant) {
        // Steps that can fail temporarily run first, because the token is consumed afterwards.
        proxy.renew_and_readmit(key).await?;
        None
    } else {
        Some((grant, read))
    };
    let issued = grants.refresh(store, client_id, token, &scopes, now(), unchanged);
    issued.await?.ok_or(rejected)
}

/// Returns the requested scopes. A client may request fewer scopes than were granted, never more (RFC 6749, section 6).
fn narrowed_scopes(granted: &str, requested: Option<&str>) -> Result<String, TokenRequestError> {
    let Some(requested) = requested else {
        return Ok(granted.to_owned());
    };
    let parse = |text| ScopeSet::parse(text).map_err(|_| TokenRequestError::InvalidScope);
    let (granted, requested) = (parse(granted)?, parse(requested)?);
    if granted.contains_all(&requested) {
        Ok(requested.to_string())
    } else {
        Err(TokenRequestError::InvalidScope)
    }
}

/// Revokes a token. The response does not reveal whether the token was valid or belongs to another client (RFC 7009,
/// section 2.2).
pub(super) async fn revoke(proxy: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    let in_header = request.headers().contains_key(AUTHORIZATION);
    match revoke_presented(proxy, request).await {
        Ok(()) => responses::plain(StatusCode::OK, Bytes::new()),
        Err(failure) => failure.into_response(in_header),
    }
}

async fn revoke_presented(
    proxy: &ProxyState,
    request: &Request<Bytes>,
) -> Result<(), TokenEndpointError> {
    let (client, form) = authenticate_client(proxy, request).await?;
    let token = form.single("token").ok().flatten();
    let token = Secret::from(token.ok_or(TokenRequestError::InvalidRequest)?);
    let revocation = proxy
        .grants
        .revoke_token(&proxy.store, &client.id, &token, now());
    Ok(revocation.await?)
}
