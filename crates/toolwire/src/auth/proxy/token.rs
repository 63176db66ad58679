//! The token endpoint (OAuth 2.1, section 3.2) and the one that takes tokens back (RFC 7009).

use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, StatusCode};
use toolwire_proto::auth::authorization_server::Parameters;
use toolwire_proto::auth::authorization_server::token::{
    GrantRequest, PresentedClient, TokenRefused,
};
use toolwire_proto::auth::pkce;
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::auth::{Secret, TokenResponse};

use super::Core;
use super::answers::{self, Answer};
use super::authorize::form_of;
use super::clients::NotAuthenticated;
use super::grants::{Family, Stale};
use super::records::{AccessToken, Code, Grant, Key, RefreshToken};
use super::vault::key_of;
use crate::store::StoreError;

/// Why there is no token.
enum NoToken {
    Refused(TokenRefused),
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl From<TokenRefused> for NoToken {
    fn from(refused: TokenRefused) -> Self {
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

impl From<Stale> for NoToken {
    fn from(stale: Stale) -> Self {
        match stale {
            Stale::Gone => Self::Refused(TokenRefused::InvalidGrant),
            Stale::Unavailable(error) => Self::Unavailable(error),
        }
    }
}

impl NoToken {
    fn answer(self, in_header: bool) -> Answer {
        match self {
            Self::Refused(refused) => answers::token_refused(refused, in_header),
            Self::Unavailable(error) => answers::unavailable(&error),
        }
    }
}

/// Gives out tokens.
pub(super) async fn token(core: &Arc<Core>, request: &Request<Bytes>) -> Answer {
    let in_header = request.headers().contains_key(AUTHORIZATION);
    match give(core, request).await {
        Ok(response) => answers::json(StatusCode::OK, &response),
        Err(failure) => failure.answer(in_header),
    }
}

async fn give(core: &Arc<Core>, request: &Request<Bytes>) -> Result<TokenResponse, NoToken> {
    let (client_id, form) = client(core, request).await?;
    let response = match GrantRequest::read(&form, &core.resource)? {
        GrantRequest::AuthorizationCode {
            code,
            redirect_uri,
            code_verifier,
        } => redeem(core, &client_id, &code, &redirect_uri, &code_verifier).await?,
        GrantRequest::RefreshToken { token, scope } => {
            refresh(core, &client_id, &token, scope.as_deref()).await?
        }
        _ => return Err(TokenRefused::UnsupportedGrantType.into()),
    };
    // What was used up cannot be used again, so a client gets its tokens whatever happens here.
    if let Err(error) = core.clients.prolong(&core.vault, &client_id).await {
        tracing::warn!(%error, "the registration of a client is not prolonged");
    }
    Ok(response)
}

/// Who asks, and what for.
async fn client(core: &Core, request: &Request<Bytes>) -> Result<(String, Parameters), NoToken> {
    let form = form_of(request).ok_or(TokenRefused::InvalidRequest)?;
    let headers = request.headers().get_all(AUTHORIZATION).iter();
    let headers: Result<Vec<_>, _> = headers.map(HeaderValue::to_str).collect();
    let headers = headers.map_err(|_| TokenRefused::InvalidClient)?;
    let presented = PresentedClient::read(&headers, &form)?;
    let client_id = core.clients.authenticate(&core.vault, presented).await?;
    Ok((client_id, form))
}

/// A code is good once. Whatever is wrong with its use, it is used up, and with it the grant.
async fn redeem(
    core: &Core,
    client_id: &str,
    text: &Secret,
    redirect_uri: &str,
    verifier: &Secret,
) -> Result<TokenResponse, NoToken> {
    let refused = NoToken::Refused(TokenRefused::InvalidGrant);
    let Some(family) = Family::of(text) else {
        return Err(refused);
    };
    let key = family.grant();
    let code = core.vault.take::<Code>(&key_of(text.expose())).await?;
    let is_good = code.is_some_and(|code| {
        code.client_id == client_id
            && code.redirect_uri == redirect_uri
            && pkce::verify(verifier.expose(), &code.code_challenge, Some(pkce::METHOD)).is_ok()
    });
    if !is_good {
        // OAuth 2.1, section 4.1.3: also when it was used before, what it was used for ends.
        tracing::warn!("a code is used twice, or by somebody else; its grant ends");
        core.grants.revoke(&core.vault, &key).await?;
        return Err(refused);
    }
    let Some(grant) = core.vault.get::<Grant>(&key).await? else {
        return Err(refused);
    };
    let scopes = grant.scopes.clone();
    let issued = core.grants.issue(&core.vault, family, &grant, &scopes);
    issued.await?.ok_or(refused)
}

/// A refresh token is good once, too (OAuth 2.1, section 4.3.1).
async fn refresh(
    core: &Arc<Core>,
    client_id: &str,
    text: &Secret,
    scope: Option<&str>,
) -> Result<TokenResponse, NoToken> {
    let refused = || NoToken::Refused(TokenRefused::InvalidGrant);
    let family = Family::of(text).ok_or_else(refused)?;
    let (token_key, grant_key) = (key_of(text.expose()), family.grant());
    let Some(token) = core.vault.get::<RefreshToken>(&token_key).await? else {
        return Err(reused(core, &grant_key).await);
    };
    if token.client_id != client_id {
        return Err(refused());
    }
    let scopes = narrowed(&token.scopes, scope)?;
    // What can fail for a while comes first: afterwards the client has no token to try again with.
    let grant = core.fresh(grant_key).await?;
    if core.vault.take::<RefreshToken>(&token_key).await?.is_none() {
        return Err(reused(core, &grant_key).await);
    }
    let issued = core.grants.issue(&core.vault, family, &grant, &scopes);
    issued.await?.ok_or_else(refused)
}

/// Two have the same refresh token, and nobody knows who stole it.
async fn reused(core: &Core, grant: &Key) -> NoToken {
    tracing::warn!("a refresh token is used that is not good any more; its grant ends");
    match core.grants.revoke(&core.vault, grant).await {
        Ok(()) => TokenRefused::InvalidGrant.into(),
        Err(error) => error.into(),
    }
}

/// A client may ask for less than was granted, never for more (RFC 6749, section 6).
fn narrowed(granted: &str, asked: Option<&str>) -> Result<String, TokenRefused> {
    let Some(asked) = asked else {
        return Ok(granted.to_owned());
    };
    let read = |text| ScopeSet::parse(text).map_err(|_| TokenRefused::InvalidScope);
    let (granted, asked) = (read(granted)?, read(asked)?);
    match granted.contains_all(&asked) {
        true => Ok(asked.to_string()),
        false => Err(TokenRefused::InvalidScope),
    }
}

/// Takes a token back. Whoever gives back one that is not theirs or not good learns nothing (RFC 7009, section 2.2).
pub(super) async fn revoke(core: &Core, request: &Request<Bytes>) -> Answer {
    let in_header = request.headers().contains_key(AUTHORIZATION);
    match give_back(core, request).await {
        Ok(()) => answers::plain(StatusCode::OK, Bytes::new()),
        Err(failure) => failure.answer(in_header),
    }
}

async fn give_back(core: &Core, request: &Request<Bytes>) -> Result<(), NoToken> {
    let (client_id, form) = client(core, request).await?;
    let token = form.single("token").ok().flatten();
    let token = Secret::from(token.ok_or(TokenRefused::InvalidRequest)?);
    let key = key_of(token.expose());
    if let Some(access) = core.vault.get::<AccessToken>(&key).await? {
        if access.client_id == client_id {
            core.vault.take::<AccessToken>(&key).await?;
        }
        return Ok(());
    }
    let refresh = core.vault.get::<RefreshToken>(&key).await?;
    if let Some(family) = Family::of(&token)
        && refresh.is_some_and(|refresh| refresh.client_id == client_id)
    {
        core.grants.revoke(&core.vault, &family.grant()).await?;
    }
    Ok(())
}
