//! An HTTP client that adds access tokens to requests.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{Request, Response, Uri};
use toolwire::BoxFuture;
use toolwire::transport::http_client::UserInteraction;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError, HttpPhase};
use toolwire_types::ProtocolVersion;

use crate::client::AuthError;
use crate::client::config::OAuthConfig;
use crate::client::token_source::{ActiveToken, RejectedRequest, TokenSource};
use crate::fetch::DocumentFetcher;
use crate::origin::{is_loopback, is_same_origin};
use crate::rules::attempts::{Attempts, AuthRejection, NextStep};
use crate::rules::challenge::{self, Challenge};
use crate::rules::denied_upgrades::operation;

/// An HTTP client that sends requests to one endpoint with an access token, and gets a new token if the server rejects
/// the request.
#[derive(Debug)]
pub struct OAuthHttpClient<C> {
    inner: C,
    token_source: Arc<TokenSource>,
    endpoint: Uri,
    origin: String,
    user_interaction: UserInteraction,
}

impl<C: HttpClient> OAuthHttpClient<C> {
    /// Wraps an HTTP client so that requests to `endpoint` carry an access token.
    pub fn new(inner: C, oauth: OAuthConfig, endpoint: &Uri) -> Self {
        Self {
            inner,
            token_source: Arc::new(oauth.token_source(endpoint)),
            origin: origin_of(endpoint),
            endpoint: endpoint.clone(),
            user_interaction: UserInteraction::default(),
        }
    }

    /// Sets the object that is notified while a user logs in.
    pub(super) fn with_user_interaction(mut self, user: UserInteraction) -> Self {
        self.user_interaction = user;
        self
    }

    async fn send_authorized(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<ClientBody>, HttpError> {
        // A token is for one server and is not sent to any other server.
        if !is_same_origin(request.uri(), &self.endpoint) {
            return self.inner.send(request).await;
        }
        let version = version_of(&request);
        let mut attempts = Attempts::new();
        let mut has_free_retry = true;
        let mut active = self.token_source.token().await.map_err(http_error)?;
        loop {
            let attempt = self.with_token(&request, active.as_deref()).await?;
            let response = self.inner.send(attempt).await?;
            self.token_source
                .dpop_signer
                .store_nonce(&self.origin, response.headers());
            let challenges = challenges_of(&response);
            let status = response.status().as_u16();
            let Some((rejection, challenge)) = AuthRejection::read(status, &challenges) else {
                return Ok(response);
            };
            let scope = challenge.and_then(|challenge| challenge.scope.clone());
            let required_scopes = match &rejection {
                AuthRejection::InsufficientScope(scopes) => scopes.clone(),
                _ => None,
            };
            let attempts_before = attempts.clone();
            let step = attempts.next(rejection, self.token_source.has_refresh_token());
            match &step {
                NextStep::RepeatWithNonce => continue,
                NextStep::GiveUp(reason) => {
                    tracing::debug!(%reason, status, "the request stays rejected");
                    if let Some(scopes) = required_scopes {
                        let operation = operation(request.body());
                        self.token_source.record_denied(&operation, scopes);
                    }
                    return Ok(response);
                }
                NextStep::StepUp(scopes)
                    if self
                        .token_source
                        .was_denied(&operation(request.body()), scopes) =>
                {
                    return Ok(response);
                }
                _ => {}
            }
            let rejected = RejectedRequest {
                challenges,
                scope,
                version,
                generation: active.as_ref().map_or(0, |active| active.token.generation),
                allow_origin_server: self.token_source.config.allow_origin_server,
                may_ask_user: true,
            };
            let needs_user = self.token_source.config.grant.needs_redirect();
            let _interaction = needs_user.then(|| self.user_interaction.begin());
            match self.token_source.renew(step, rejected).await {
                Ok(renewed) => {
                    // A token of another task or process may be as old as the rejected one. One retry with such a token
                    // does not count as an attempt.
                    if renewed.was_renewed_elsewhere && has_free_retry {
                        has_free_retry = false;
                        attempts = attempts_before;
                    }
                    active = Some(renewed.active);
                }
                Err(error) => {
                    if let Some(scopes) = required_scopes {
                        let operation = operation(request.body());
                        self.token_source.record_denied(&operation, scopes);
                    }
                    return Err(http_error(error));
                }
            }
        }
    }

    async fn with_token(
        &self,
        request: &Request<Bytes>,
        active: Option<&ActiveToken>,
    ) -> Result<Request<Bytes>, HttpError> {
        let mut request = request.clone();
        let Some(active) = active else {
            return Ok(request);
        };
        if self.endpoint.scheme_str() != Some("https") && !is_loopback(&self.endpoint) {
            let message =
                "an access token is not sent over plain HTTP, because it can be read in transit";
            let error = HttpError::new(HttpPhase::Prepare, message);
            return Err(error.with_advice("use the server's https URL"));
        }
        if active.token.is_bound() {
            let url = request.uri().to_string();
            let method = request.method().clone();
            let token = Some(&active.token.access_token);
            let headers = request.headers_mut();
            let proof = self.token_source.dpop_signer.add_proof(
                headers,
                &method,
                &url,
                &self.origin,
                token,
            );
            proof.await.map_err(http_error)?;
        }
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, active.header.clone());
        Ok(request)
    }
}

impl<C: HttpClient> HttpClient for OAuthHttpClient<C> {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(self.send_authorized(request))
    }
}

impl OAuthConfig {
    /// Returns the token source for one endpoint.
    pub(super) fn token_source(&self, endpoint: &Uri) -> TokenSource {
        let fetcher = self.config.fetcher.clone();
        let fetcher = fetcher.unwrap_or_else(|| {
            if is_loopback(endpoint) {
                DocumentFetcher::with_loopback_allowed()
            } else {
                DocumentFetcher::new()
            }
        });
        TokenSource::new(self.config.clone(), endpoint.to_string(), fetcher)
    }
}

fn origin_of(uri: &Uri) -> String {
    let authority = uri.authority().map(http::uri::Authority::as_str);
    let scheme = uri.scheme_str().unwrap_or_default();
    format!("{scheme}://{}", authority.unwrap_or_default())
}

/// Returns the protocol version of a request, or the newest version if the request has none.
fn version_of(request: &Request<Bytes>) -> ProtocolVersion {
    let header = request.headers().get("mcp-protocol-version");
    header
        .and_then(|version| version.to_str().ok())
        .and_then(|version| version.parse().ok())
        .unwrap_or(ProtocolVersion::LATEST)
}

pub(super) fn challenges_of(response: &Response<ClientBody>) -> Vec<Challenge> {
    let headers = response.headers().get_all(WWW_AUTHENTICATE).iter();
    challenge::parse(headers.filter_map(|header| header.to_str().ok()))
}

fn http_error(error: AuthError) -> HttpError {
    HttpError::new(
        HttpPhase::Authorize,
        "the server requires an access token, and none is available",
    )
    .with_source(error)
}
