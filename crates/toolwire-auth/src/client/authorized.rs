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
    flow: Arc<TokenSource>,
    endpoint: Uri,
    origin: String,
    user_interaction: UserInteraction,
}

impl<C: HttpClient> OAuthHttpClient<C> {
    /// Wraps an HTTP client so that requests to `endpoint` carry an access token.
    pub fn new(inner: C, oauth: OAuthConfig, endpoint: &Uri) -> Self {
        Self {
            inner,
            flow: Arc::new(oauth.flow(endpoint)),
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
        let mut may_take_over = true;
        let mut held = self.flow.token().await.map_err(failure)?;
        loop {
            let attempt = self.with_token(&request, held.as_deref()).await?;
            let response = self.inner.send(attempt).await?;
            self.flow.proofs.learn(&self.origin, response.headers());
            let challenges = challenges_of(&response);
            let status = response.status().as_u16();
            let Some((rejection, challenge)) = AuthRejection::read(status, &challenges) else {
                return Ok(response);
            };
            let scope = challenge.and_then(|challenge| challenge.scope.clone());
            let wanted = match &rejection {
                AuthRejection::InsufficientScope(scopes) => scopes.clone(),
                _ => None,
            };
            let attempts_before = attempts.clone();
            let step = attempts.next(rejection, self.flow.has_refresh_token());
            match &step {
                NextStep::RepeatWithNonce => continue,
                NextStep::GiveUp(why) => {
                    tracing::debug!(%why, status, "the request stays rejected");
                    if let Some(scopes) = wanted {
                        let operation = operation(request.body());
                        self.flow.remember_denied(&operation, scopes);
                    }
                    return Ok(response);
                }
                NextStep::StepUp(scopes)
                    if self.flow.was_denied(&operation(request.body()), scopes) =>
                {
                    return Ok(response);
                }
                _ => {}
            }
            let rejected = RejectedRequest {
                challenges,
                scope,
                version,
                generation: held.as_ref().map_or(0, |held| held.token.generation),
                allow_origin_server: self.flow.config.allow_origin_server,
                may_ask_user: true,
            };
            let asks_user = self.flow.config.grant.needs_redirect();
            let _waiting = asks_user.then(|| self.user_interaction.begin());
            match self.flow.renew(step, rejected).await {
                Ok(renewed) => {
                    // The token of another process can be equally old. In that case, the retry does not count as an
                    // attempt, once.
                    if renewed.was_taken_over && may_take_over {
                        may_take_over = false;
                        attempts = attempts_before;
                    }
                    held = Some(renewed.held);
                }
                Err(error) => {
                    if let Some(scopes) = wanted {
                        let operation = operation(request.body());
                        self.flow.remember_denied(&operation, scopes);
                    }
                    return Err(failure(error));
                }
            }
        }
    }

    async fn with_token(
        &self,
        request: &Request<Bytes>,
        held: Option<&ActiveToken>,
    ) -> Result<Request<Bytes>, HttpError> {
        let mut request = request.clone();
        let Some(held) = held else {
            return Ok(request);
        };
        if self.endpoint.scheme_str() != Some("https") && !is_loopback(&self.endpoint) {
            let what =
                "an access token is not sent over plain HTTP, because it can be read in transit";
            let failure = HttpError::new(HttpPhase::Prepare, what);
            return Err(failure.with_advice("use the server's https URL"));
        }
        if held.token.is_bound() {
            let url = request.uri().to_string();
            let method = request.method().clone();
            let token = Some(&held.token.access_token);
            let headers = request.headers_mut();
            let proving = self
                .flow
                .proofs
                .prove(headers, &method, &url, &self.origin, token);
            proving.await.map_err(failure)?;
        }
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, held.header.clone());
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
    pub(super) fn flow(&self, endpoint: &Uri) -> TokenSource {
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

fn failure(error: AuthError) -> HttpError {
    HttpError::new(
        HttpPhase::Authorize,
        "the server requires an access token, and none is available",
    )
    .with_source(error)
}
