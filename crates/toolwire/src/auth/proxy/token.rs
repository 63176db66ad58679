//! The token endpoint (OAuth 2.1, section 3.2) and the one that takes tokens back (RFC 7009).

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, StatusCode};
use toolwire_proto::auth::authorization_server::Parameters;
use toolwire_proto::auth::authorization_server::token::{
    GrantRequest, PresentedClient, TokenRequestError,
};
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::auth::{Secret, TokenResponse};

use crate::auth::proxy::ProxyState;
use crate::auth::proxy::authorize::form_of;
use crate::auth::proxy::clients::NotAuthenticated;
use crate::auth::proxy::grants::{Issued, Redemption, now};
use crate::auth::proxy::renewal::GrantError;
use crate::auth::proxy::responses::{self, ProxyResponse};
use crate::store::StoreError;

/// Why there is no token.
enum NoToken {
    Refused(TokenRequestError),
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl From<TokenRequestError> for NoToken {
    fn from(refused: TokenRequestError) -> Self {
        Self::Refused(refused)
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
            NotAuthenticated::Refused(refused) => Self::Refused(refused),
            NotAuthenticated::Unavailable(error) => error.into(),
        }
    }
}

impl From<GrantError> for NoToken {
    fn from(stale: GrantError) -> Self {
        match stale {
            GrantError::Gone => Self::Refused(TokenRequestError::InvalidGrant),
            GrantError::Unavailable(error) => Self::Unavailable(error),
        }
    }
}

impl NoToken {
    fn answer(self, in_header: bool) -> ProxyResponse {
        match self {
            Self::Refused(refused) => responses::token_refused(refused, in_header),
            Self::Unavailable(error) => responses::unavailable(&error),
        }
    }
}

/// Gives out tokens.
pub(super) async fn token(core: &Arc<ProxyState>, request: &Request<Bytes>) -> ProxyResponse {
    let in_header = request.headers().contains_key(AUTHORIZATION);
    match give(core, request).await {
        Ok(response) => responses::json(StatusCode::OK, &response),
        Err(failure) => failure.answer(in_header),
    }
}

async fn give(core: &Arc<ProxyState>, request: &Request<Bytes>) -> Result<TokenResponse, NoToken> {
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
        _ => return Err(TokenRequestError::UnsupportedGrantType.into()),
    };
    // What was used up cannot be used again, so a client gets its tokens whatever happens here.
    let used = core
        .clients
        .mark_used(&core.vault, &client_id, issued.principal);
    if let Err(error) = used.await {
        tracing::warn!(%error, "the registration of a client is not prolonged");
    }
    Ok(issued.response)
}

/// Who asks, and what for.
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
    let refused = NoToken::Refused(TokenRequestError::InvalidGrant);
    let (grants, vault) = (&core.grants, &core.vault);
    let refreshable = grants.refreshable(vault, client_id, token, now());
    let Some((key, grant)) = refreshable.await? else {
        return Err(refused);
    };
    let scopes = narrowed(&grant.scopes, scope)?;
    // What can fail for a while comes first: afterwards the token is used.
    core.renewed_and_admitted(key).await?;
    let issued = grants.refresh(vault, client_id, token, &scopes, now());
    issued.await?.ok_or(refused)
}

/// A client may ask for less than was granted, never for more (RFC 6749, section 6).
fn narrowed(granted: &str, asked: Option<&str>) -> Result<String, TokenRequestError> {
    let Some(asked) = asked else {
        return Ok(granted.to_owned());
    };
    let read = |text| ScopeSet::parse(text).map_err(|_| TokenRequestError::InvalidScope);
    let (granted, asked) = (read(granted)?, read(asked)?);
    match granted.contains_all(&asked) {
        true => Ok(asked.to_string()),
        false => Err(TokenRequestError::InvalidScope),
    }
}

/// Takes a token back. Whoever gives back one that is not theirs or not good learns nothing (RFC 7009, section 2.2).
pub(super) async fn revoke(core: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    let in_header = request.headers().contains_key(AUTHORIZATION);
    match give_back(core, request).await {
        Ok(()) => responses::plain(StatusCode::OK, Bytes::new()),
        Err(failure) => failure.answer(in_header),
    }
}

async fn give_back(core: &ProxyState, request: &Request<Bytes>) -> Result<(), NoToken> {
    let (client_id, form) = client(core, request).await?;
    let token = form.single("token").ok().flatten();
    let token = Secret::from(token.ok_or(TokenRequestError::InvalidRequest)?);
    let giving_back = core
        .grants
        .give_back(&core.vault, &client_id, &token, now());
    Ok(giving_back.await?)
}
