//! The authorization endpoint and the consent form.
//!
//! A request is checked in a fixed order: as long as client and redirect URI are unknown, the user sees a page and is
//! not redirected. The identity provider is involved only after the user has consented.
//!
//! Registration is open, so a registered redirect URI may belong to an attacker. RFC 9700, section 4.11.2: an error is
//! redirected only to a client that the user trusts. Here, this means that the user of this browser has consented to
//! the client and the redirect URI before. Otherwise, the error is a page. `access_denied` after "Do not allow" is
//! redirected: the user has just decided on a page that shows the redirect URI, and the client has to learn the
//! decision.

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use serde::{Deserialize, Serialize};
use toolwire::store::StoreError;

use crate::proxy::ProxyState;
use crate::proxy::browser::{BrowserSession, Consent, LOGIN_TTL};
use crate::proxy::clients::ClientLookupError;
use crate::proxy::page::{self, ConsentPage};
use crate::proxy::records::{AuthorizationRecord, ClientRecord, LoginRecord};
use crate::proxy::responses::{self, ProxyResponse};
use crate::proxy::sealed_store::{RecordTerms, key_of, random};
use crate::proxy::store::{OwnerLimit, ProxyOwner};
use crate::rules::authorization_request::state_from_random;
use crate::rules::authorization_server::Parameters;
use crate::rules::authorization_server::authorization::{
    self, AuthorizationClient, AuthorizationParams,
};
use crate::rules::authorization_server::redirection::RedirectTarget;
use crate::rules::metadata_rules::check_client_id_url;
use crate::rules::pkce::Verifier;
use crate::rules::redirect_uri::Destination;

/// The purpose of sealed forms.
const FORM: &str = "consent";

/// The authorization that a user decides on. The form contains it, sealed for one browser.
#[derive(Debug, Serialize, Deserialize)]
struct PendingConsent {
    authorization: AuthorizationRecord,
    registered_redirect: String,
}

impl PendingConsent {
    fn consent(&self) -> Consent<'_> {
        Consent {
            client_id: &self.authorization.client_id,
            registered_redirect: &self.registered_redirect,
            scopes: &self.authorization.scopes,
        }
    }
}

/// Responds to an authorization request from the user's browser.
pub(super) async fn authorize(proxy: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    let response = respond(proxy, request).await;
    response.unwrap_or_else(|rejection| rejection)
}

async fn respond(
    proxy: &ProxyState,
    request: &Request<Bytes>,
) -> Result<ProxyResponse, ProxyResponse> {
    let reject = |reason: &dyn std::fmt::Display| {
        tracing::debug!(%reason, "an authorization request is rejected");
        page::error_page(StatusCode::BAD_REQUEST, &reason.to_string())
    };
    let query = request.uri().query().unwrap_or_default();
    let parameters = Parameters::read(query).map_err(|error| reject(&error))?;
    let sender = AuthorizationClient::read(&parameters).map_err(|error| reject(&error))?;
    let source = proxy.sources.of(request);
    let client = proxy
        .clients
        .find(&proxy.store, sender.client_id, source)
        .await;
    let client = client.map_err(|error| match error {
        ClientLookupError::Unknown => reject(&"the client is not registered with this server"),
        ClientLookupError::Unavailable => {
            let reason = "clients cannot be looked up at the moment";
            page::error_page(StatusCode::SERVICE_UNAVAILABLE, reason)
        }
    })?;
    let registered = sender
        .check_redirect(&client.redirect_uris)
        .map_err(|error| reject(&error))?;
    let destination = Destination::of(sender.redirect_uri)
        .filter(|destination| proxy.permits_redirect_to(destination))
        .ok_or_else(|| reject(&"this server does not permit redirects to this host"))?;

    let browser = BrowserSession::from_cookies(&proxy.store, request.headers());
    let is_trusted = browser
        .as_ref()
        .is_some_and(|browser| browser.has_consented_to_client(&client.client_id, registered));
    let state = authorization::state(&parameters);
    let params = AuthorizationParams::read(&parameters, &proxy.policy()).map_err(|error| {
        if !is_trusted {
            return reject(&error);
        }
        let target = proxy.redirect_target(sender.redirect_uri, state);
        responses::redirect(&target.with_error(error.code(), &error.to_string()))
    })?;
    let pending = PendingConsent {
        authorization: AuthorizationRecord {
            client_id: client.client_id.clone(),
            redirect_uri: sender.redirect_uri.to_owned(),
            state: state.map(str::to_owned),
            code_challenge: params.code_challenge,
            scopes: params.scopes.to_string(),
        },
        registered_redirect: registered.to_owned(),
    };
    // RFC 8252, section 8.6: on the user's machine any program can impersonate the client, so each request needs
    // the user's consent.
    let is_consent_reusable = !destination.is_this_machine;
    let outcome = match browser {
        Some(browser) if is_consent_reusable && browser.has_consented_to(&pending.consent()) => {
            let owner = login_owner(proxy, request);
            send_to_provider(proxy, browser, pending.authorization, owner).await
        }
        Some(browser) => consent_response(proxy, &browser, &pending, &client, &destination),
        None => BrowserSession::new()
            .and_then(|browser| consent_response(proxy, &browser, &pending, &client, &destination)),
    };
    outcome.map_err(|error| unavailable_page(&error))
}

/// Creates the consent page.
fn consent_response(
    proxy: &ProxyState,
    browser: &BrowserSession,
    pending: &PendingConsent,
    client: &ClientRecord,
    destination: &Destination,
) -> Result<ProxyResponse, StoreError> {
    let sealed = proxy.store.seal(FORM, browser.id(), pending, LOGIN_TTL)?;
    let mut response = page::consent_page(&ConsentPage {
        server: &proxy.name,
        client_name: client.name.as_deref(),
        client_id: &client.client_id,
        is_described: check_client_id_url(&client.client_id).is_ok(),
        destination,
        redirect_uri: &pending.authorization.redirect_uri,
        scopes: &pending.authorization.scopes,
        action: &proxy.paths.consent,
        request: &sealed,
    });
    browser.set_browser_cookie(&proxy.store, &mut response)?;
    Ok(response)
}

/// Handles the submitted consent form.
pub(super) async fn consent(proxy: &ProxyState, request: &Request<Bytes>) -> ProxyResponse {
    let reject = |reason| page::error_page(StatusCode::BAD_REQUEST, reason);
    // Browsers that send Fetch Metadata are trusted if they report a cross-site request.
    if is_cross_site(request.headers()) {
        return reject("the form was submitted from another site");
    }
    let expired_form = "the form has expired, or was opened in another browser";
    let Some(mut browser) = BrowserSession::from_cookies(&proxy.store, request.headers()) else {
        return reject(expired_form);
    };
    let Some(form) = form_of(request) else {
        return reject("the form is malformed");
    };
    let (Ok(Some(sealed)), Ok(decision)) = (form.single("request"), form.single("decision")) else {
        return reject("the form is malformed");
    };
    let opened = proxy
        .store
        .open::<PendingConsent>(FORM, browser.id(), sealed);
    let Some(pending) = opened else {
        return reject(expired_form);
    };
    match decision {
        Some("allow") => {}
        Some("deny") => {
            let authorization = &pending.authorization;
            let target =
                proxy.redirect_target(&authorization.redirect_uri, authorization.state.as_deref());
            let reason = "the user denied access";
            return responses::redirect(&target.with_error("access_denied", reason));
        }
        // The form has two buttons, and this value is neither. The user's decision is unknown.
        _ => return reject("the decision must be allow or deny"),
    }
    browser.add_consent(&pending.consent());
    let owner = login_owner(proxy, request);
    match send_to_provider(proxy, browser, pending.authorization, owner).await {
        Ok(response) => response,
        Err(error) => unavailable_page(&error),
    }
}

/// Returns the owner of a stored login. A new login never removes a login in progress, also not of the same source,
/// because many users may share an address.
fn login_owner(proxy: &ProxyState, request: &Request<Bytes>) -> Option<ProxyOwner> {
    proxy.sources.owner(request, OwnerLimit::Reject)
}

/// Redirects a user to the identity provider, after consent.
async fn send_to_provider(
    proxy: &ProxyState,
    mut browser: BrowserSession,
    authorization: AuthorizationRecord,
    owner: Option<ProxyOwner>,
) -> Result<ProxyResponse, StoreError> {
    let state = state_from_random(random()?);
    let verifier = Verifier::from_random(random()?);
    let url = match proxy.upstream_client.endpoints().await {
        Ok(endpoints) => proxy
            .upstream_client
            .authorization_url(&endpoints, &state, &verifier),
        Err(error) => Err(error),
    };
    let url = match url {
        Ok(url) => url,
        Err(error) => {
            tracing::error!(%error, "the login cannot start");
            let target =
                proxy.redirect_target(&authorization.redirect_uri, authorization.state.as_deref());
            let reason = "the identity provider does not respond";
            let url = target.with_error("temporarily_unavailable", reason);
            return Ok(responses::redirect(&url));
        }
    };
    let login = LoginRecord {
        authorization,
        code_verifier: verifier.as_secret().clone(),
    };
    let key = key_of(state.expose());
    let terms = RecordTerms::new(LOGIN_TTL).with_owner(owner);
    proxy.store.put(&key, &login, terms).await?;
    browser.add_login(state.expose());
    let mut response = responses::redirect(&url);
    browser.set_browser_cookie(&proxy.store, &mut response)?;
    browser.set_logins_cookie(&proxy.store, &mut response)?;
    Ok(response)
}

/// Returns the error page if a required service is unavailable.
pub(super) fn unavailable_page(error: &StoreError) -> ProxyResponse {
    let reason = match error {
        StoreError::Full => {
            tracing::warn!("a login is rejected because too many are in progress");
            "too many people are logging in at the moment; try again in a few minutes"
        }
        error => {
            tracing::error!(%error, "a login failed");
            "logging in is temporarily unavailable; try again later"
        }
    };
    page::error_page(StatusCode::SERVICE_UNAVAILABLE, reason)
}

/// Parses the form in the body of a request.
pub(super) fn form_of(request: &Request<Bytes>) -> Option<Parameters> {
    let content_type = request.headers().get(http::header::CONTENT_TYPE)?;
    let media_type = content_type.to_str().ok()?.split(';').next()?.trim();
    if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return None;
    }
    let text = std::str::from_utf8(request.body()).ok()?;
    Parameters::read(text).ok()
}

/// Returns `true` if the browser reports that another site made the request (Fetch Metadata).
fn is_cross_site(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").into_iter();
    sites.any(|site| site != "same-origin")
}

impl ProxyState {
    pub(super) fn redirect_target<'a>(
        &'a self,
        redirect_uri: &'a str,
        state: Option<&'a str>,
    ) -> RedirectTarget<'a> {
        RedirectTarget {
            redirect_uri,
            state,
            issuer: &self.issuer,
        }
    }
}
