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
use crate::proxy::authorize::unavailable_page;
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
pub(super) async fn callback(proxy: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    match finish_login(proxy, request).await {
        Ok(response) => response,
        Err(error) => unavailable_page(&error),
    }
}

async fn finish_login(
    proxy: &ProxyState,
    request: &Request<Bytes>,
) -> Result<ProxyResponse, StoreError> {
    let reject = |reason| Ok(page::error_page(StatusCode::BAD_REQUEST, reason));
    let unknown_login =
        "this login has expired, was completed already, or was started in another browser";
    let query = request.uri().query().unwrap_or_default();
    let Some(state) = state_of(query) else {
        return reject(unknown_login);
    };
    let Some(mut browser) = BrowserSession::from_cookies(&proxy.store, request.headers()) else {
        return reject(unknown_login);
    };
    if !browser.has_login(state.expose()) {
        tracing::warn!("a login returned in a browser that did not start it");
        return reject(unknown_login);
    }
    let key = key_of(state.expose());
    if proxy.store.get::<LoginRecord>(&key).await?.is_none() {
        return reject(unknown_login);
    }
    // The provider's metadata has to be known before its response is checked.
    let endpoints = match proxy.upstream_client.endpoints().await {
        Ok(endpoints) => endpoints,
        Err(error) => return Err(StoreError::unavailable(error)),
    };
    let expected = ExpectedResponse {
        state: &state,
        issuer: &proxy.upstream_client.upstream.issuer,
        declares_iss: endpoints.declares_iss,
    };
    let response = read(query, &expected);
    if let Err(error) = &response
        && error.is_unrelated()
    {
        tracing::warn!(%error, "a redirect does not come from the identity provider");
        return reject("this redirect does not come from the configured identity provider");
    }
    // Only one request with this state continues.
    let Some(login) = proxy.store.take::<LoginRecord>(&key).await? else {
        return reject(unknown_login);
    };
    browser.remove_login(state.expose());
    let url = match response {
        Ok(code) => log_in(proxy, &login, &code).await?,
        Err(error) => {
            tracing::warn!(%error, "the identity provider rejected a login");
            let code = match &error {
                AuthorizationResponseError::Rejected(error) => relayed_error(&error.error),
                _ => "server_error",
            };
            error_url(proxy, &login.authorization, code)
        }
    };
    let mut redirect = responses::redirect(&url);
    browser.set_logins_cookie(&proxy.store, &mut redirect)?;
    Ok(redirect)
}

/// Redeems the provider's code. Returns the redirect URL with a code of the proxy.
async fn log_in(
    proxy: &ProxyState,
    login: &LoginRecord,
    code: &Secret,
) -> Result<String, StoreError> {
    let authorization = &login.authorization;
    let Some(verifier) = Verifier::from_stored(login.code_verifier.clone()) else {
        return Ok(error_url(proxy, authorization, "server_error"));
    };
    let logged_in = match proxy.upstream_client.log_in(code, &verifier).await {
        Ok(logged_in) => logged_in,
        Err(error) => {
            tracing::warn!(%error, "a login failed");
            let code = match error {
                UpstreamError::Fetch(_) => "temporarily_unavailable",
                _ => "server_error",
            };
            return Ok(error_url(proxy, authorization, code));
        }
    };
    if !proxy.admits(&logged_in.user) {
        tracing::info!("the user filter rejected a user");
        return Ok(error_url(proxy, authorization, "access_denied"));
    }
    let mut grant = GrantRecord {
        client_id: authorization.client_id.clone(),
        scopes: authorization.scopes.clone(),
        resource: proxy.grants.resource.clone(),
        ends_at: proxy.grants.end_of_new_grant(&logged_in.tokens),
        id_token_claims: proxy.claims_for_filter(&logged_in.user),
        user: logged_in.user.with_retained_claims(),
        upstream: logged_in.tokens,
        code: None,
        refresh: None,
        used_refresh: None,
        access: Vec::new(),
        renewal: None,
    };
    let code = proxy.grants.create(
        &proxy.store,
        &mut grant,
        &authorization.redirect_uri,
        &authorization.code_challenge,
        now(),
    );
    let code = code.await?;
    let target = proxy.redirect_target(&authorization.redirect_uri, authorization.state.as_deref());
    Ok(target.with_code(&code).expose().to_owned())
}

fn error_url(proxy: &ProxyState, authorization: &AuthorizationRecord, code: &str) -> String {
    let target = proxy.redirect_target(&authorization.redirect_uri, authorization.state.as_deref());
    let description = match code {
        "access_denied" => "the login was denied",
        _ => "the identity provider rejected the login",
    };
    target.with_error(code, description)
}
