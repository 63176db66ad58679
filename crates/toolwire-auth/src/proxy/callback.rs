//! The endpoint that the identity provider redirects users to.
//!
//! A redirect is accepted only in the browser that started the login after its user had consented. Otherwise, an
//! attacker could consent in their own browser and make another user, who is logged in at the provider, finish the
//! login.

use bytes::Bytes;
use http::{Request, StatusCode};
use toolwire::store::StoreError;

use crate::documents::Secret;
use crate::proxy::ProxyState;
use crate::proxy::authorize::out_of_order;
use crate::proxy::browser::BrowserSession;
use crate::proxy::grants::now;
use crate::proxy::page;
use crate::proxy::records::{AuthorizationRecord, GrantRecord, LoginRecord};
use crate::proxy::responses::{self, ProxyResponse};
use crate::proxy::sealed_store::key_of;
use crate::proxy::upstream_client::UpstreamError;
use crate::rules::authorization_response::{
    AuthorizationResponseError, ExpectedResponse, read, state_of,
};
use crate::rules::authorization_server::redirection::relayed_error;
use crate::rules::pkce::Verifier;

/// Handles a redirect from the identity provider.
pub(super) async fn callback(core: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    match finish(core, request).await {
        Ok(response) => response,
        Err(error) => out_of_order(&error),
    }
}

async fn finish(core: &ProxyState, request: &Request<Bytes>) -> Result<ProxyResponse, StoreError> {
    let reject = |reason| Ok(page::error_page(StatusCode::BAD_REQUEST, reason));
    let not_ours =
        "this login has expired, was completed already, or was started in another browser";
    let query = request.uri().query().unwrap_or_default();
    let Some(state) = state_of(query) else {
        return reject(not_ours);
    };
    let Some(mut browser) = BrowserSession::known(&core.vault, request.headers()) else {
        return reject(not_ours);
    };
    if !browser.has_begun(state.expose()) {
        tracing::warn!("a login returned in a browser that did not start it");
        return reject(not_ours);
    }
    let key = key_of(state.expose());
    if core.vault.get::<LoginRecord>(&key).await?.is_none() {
        return reject(not_ours);
    }
    // The provider's metadata has to be known before its response is checked.
    let endpoints = match core.leg.endpoints().await {
        Ok(endpoints) => endpoints,
        Err(error) => return Err(StoreError::unavailable(error)),
    };
    let expected = ExpectedResponse {
        state: &state,
        issuer: &core.leg.upstream.issuer,
        announces_iss: endpoints.announces_iss,
    };
    let response = read(query, &expected);
    if let Err(error) = &response
        && error.is_foreign()
    {
        tracing::warn!(%error, "a redirect does not come from the identity provider");
        return reject("this redirect does not come from the configured identity provider");
    }
    // Only one request with this state continues.
    let Some(login) = core.vault.take::<LoginRecord>(&key).await? else {
        return reject(not_ours);
    };
    browser.end(state.expose());
    let url = match response {
        Ok(code) => log_in(core, &login, &code).await?,
        Err(error) => {
            tracing::warn!(%error, "the identity provider rejected a login");
            let code = match &error {
                AuthorizationResponseError::Refusal(error) => relayed_error(&error.error),
                _ => "server_error",
            };
            error_url(core, &login.asked, code)
        }
    };
    let mut redirect = responses::redirect(&url);
    browser.keep_logins(&core.vault, &mut redirect)?;
    Ok(redirect)
}

/// Redeems the provider's code. Returns the redirect URL with our code.
async fn log_in(
    core: &ProxyState,
    login: &LoginRecord,
    code: &Secret,
) -> Result<String, StoreError> {
    let asked = &login.asked;
    let Some(verifier) = Verifier::from_stored(login.code_verifier.clone()) else {
        return Ok(error_url(core, asked, "server_error"));
    };
    let logged_in = match core.leg.log_in(code, &verifier).await {
        Ok(logged_in) => logged_in,
        Err(error) => {
            tracing::warn!(%error, "a login failed");
            let code = match error {
                UpstreamError::Fetch(_) => "temporarily_unavailable",
                _ => "server_error",
            };
            return Ok(error_url(core, asked, code));
        }
    };
    if !core.admits(&logged_in.user) {
        tracing::info!("the user filter rejected a user");
        return Ok(error_url(core, asked, "access_denied"));
    }
    let mut grant = GrantRecord {
        client_id: asked.client_id.clone(),
        scopes: asked.scopes.clone(),
        resource: core.grants.resource.clone(),
        ends_at: core.grants.end(&logged_in.tokens),
        id_token_claims: core.claims_for_filter(&logged_in.user),
        user: logged_in.user.with_retained_claims(),
        upstream: logged_in.tokens,
        code: None,
        refresh: None,
        used_refresh: None,
        access: Vec::new(),
    };
    let code = core.grants.begin(
        &core.vault,
        &mut grant,
        &asked.redirect_uri,
        &asked.code_challenge,
        now(),
    );
    let code = code.await?;
    let back = core.way_back(&asked.redirect_uri, asked.state.as_deref());
    Ok(back.with_code(&code).expose().to_owned())
}

fn error_url(core: &ProxyState, asked: &AuthorizationRecord, code: &str) -> String {
    let back = core.way_back(&asked.redirect_uri, asked.state.as_deref());
    let description = match code {
        "access_denied" => "the login was denied",
        _ => "the identity provider rejected the login",
    };
    back.with_error(code, description)
}
