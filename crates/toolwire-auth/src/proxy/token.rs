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
use crate::proxy::clients::NotAuthenticated;
use crate::proxy::grants::{Issued, Redemption, now};
use crate::proxy::renewal::GrantError;
use crate::proxy::responses::{self, ProxyResponse};
use crate::rules::authorization_server::Parameters;
use crate::rules::authorization_server::token::{GrantRequest, PresentedClient, TokenRequestError};

/// The reason why no token is issued.
enum NoToken {
    Rejected(TokenRequestError),
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl From<TokenRequestError> for NoToken {
    fn from(rejected: TokenRequestError) -> Self {
        Self::Rejected(rejected)
    }
}

impl From<StoreError> for NoToken {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

impl From<NotAuthenticated> for NoToken {
    fn from(failure: NotAuthenticated) -> Self {
        match failure {
            NotAuthenticated::Rejected(rejected) => Self::Rejected(rejected),
            NotAuthenticated::Unavailable(error) => error.into(),
        }
    }
}

impl From<GrantError> for NoToken {
    fn from(stale: GrantError) -> Self {
        match stale {
            GrantError::Gone => Self::Rejected(TokenRequestError::InvalidGrant),
            GrantError::Unavailable(error) => Self::Unavailable(error),
        }
    }
}

impl NoToken {
    fn into_response(self, in_header: bool) -> ProxyResponse {
        match self {
            Self::Rejected(rejected) => responses::token_error(rejected, in_header),
            Self::Unavailable(error) => responses::unavailable(&error),
        }
    }
}

/// Handles a token request.
pub(super) async fn token(core: &Arc<ProxyState>, request: &Request<Bytes>) -> ProxyResponse {
    let in_header = request.headers().contains_key(AUTHORIZATION);
    match issue(core, request).await {
        Ok(response) => responses::json(StatusCode::OK, &response),
        Err(failure) => failure.into_response(in_header),
    }
}

async fn issue(core: &Arc<ProxyState>, request: &Request<Bytes>) -> Result<TokenResponse, NoToken> {
    let (client_id, form) = client(core, request).await?;
    let issued = match GrantRequest::read(&form, &core.resource)? {
        GrantRequest::AuthorizationCode {
            code,
            redirect_uri,
            code_verifier,
        } => {
            let redemption = Redemption {
                client_id: &client_id,
                code: &code,
                redirect_uri: &redirect_uri,
                verifier: &code_verifier,
            };
            let redeemed = core.grants.redeem(&core.vault, &redemption, now());
            redeemed.await?.ok_or(TokenRequestError::InvalidGrant)?
        }
        GrantRequest::RefreshToken { token, scope } => {
            refresh(core, &client_id, &token, scope.as_deref()).await?
        }
    };
    // The grant is already consumed, so the client gets its tokens even if this fails.
    let used = core
        .clients
        .mark_used(&core.vault, &client_id, issued.principal);
    if let Err(error) = used.await {
        tracing::warn!(%error, "the registration of a client cannot be prolonged");
    }
    Ok(issued.response)
}

/// Authenticates the client and parses its request.
async fn client(
    core: &ProxyState,
    request: &Request<Bytes>,
) -> Result<(String, Parameters), NoToken> {
    let form = form_of(request).ok_or(TokenRequestError::InvalidRequest)?;
    let headers = request.headers().get_all(AUTHORIZATION).iter();
    let headers: Result<Vec<_>, _> = headers.map(HeaderValue::to_str).collect();
    let headers = headers.map_err(|_| TokenRequestError::InvalidClient)?;
    let presented = PresentedClient::read(&headers, &form)?;
    let client_id = core.clients.authenticate(&core.vault, presented).await?;
    Ok((client_id, form))
}

/// Uses a refresh token (OAuth 2.1, section 4.3.1).
async fn refresh(
    core: &Arc<ProxyState>,
    client_id: &str,
    token: &Secret,
    scope: Option<&str>,
) -> Result<Issued, NoToken> {
    let rejected = NoToken::Rejected(TokenRequestError::InvalidGrant);
    let (grants, vault) = (&core.grants, &core.vault);
    let refreshable = grants.refreshable(vault, client_id, token, now());
    let Some((key, grant)) = refreshable.await? else {
        return Err(rejected);
    };
    let scopes = narrowed(&grant.scopes, scope)?;
    // Steps that can fail temporarily run first, because the token is consumed afterwards.
    core.renewed_and_admitted(key).await?;
    let issued = grants.refresh(vault, client_id, token, &scopes, now());
    issued.await?.ok_or(rejected)
}

/// Returns the requested scopes. A client may request fewer scopes than were granted, never more (RFC 6749, section 6).
fn narrowed(granted: &str, asked: Option<&str>) -> Result<String, TokenRequestError> {
    let Some(asked) = asked else {
        return Ok(granted.to_owned());
    };
    let read = |text| ScopeSet::parse(text).map_err(|_| TokenRequestError::InvalidScope);
    let (granted, asked) = (read(granted)?, read(asked)?);
    if granted.contains_all(&asked) {
        Ok(asked.to_string())
    } else {
        Err(TokenRequestError::InvalidScope)
    }
}

/// Revokes a token. The response does not reveal whether the token was valid or belongs to another client (RFC 7009,
/// section 2.2).
pub(super) async fn revoke(core: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    let in_header = request.headers().contains_key(AUTHORIZATION);
    match revoke_presented(core, request).await {
        Ok(()) => responses::plain(StatusCode::OK, Bytes::new()),
        Err(failure) => failure.into_response(in_header),
    }
}

async fn revoke_presented(core: &ProxyState, request: &Request<Bytes>) -> Result<(), NoToken> {
    let (client_id, form) = client(core, request).await?;
    let token = form.single("token").ok().flatten();
    let token = Secret::from(token.ok_or(TokenRequestError::InvalidRequest)?);
    let giving_back = core
        .grants
        .give_back(&core.vault, &client_id, &token, now());
    Ok(giving_back.await?)
}
