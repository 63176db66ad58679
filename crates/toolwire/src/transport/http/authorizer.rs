//! The interface between the HTTP transport and the verification of access tokens.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode};
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::{ErrorObject, ResponseId};

use crate::engine::{BoxFuture, CatchPanic, TokenInfo};
use crate::transport::http::response::body::ServerBody;
use crate::transport::http::response::{self, HttpResponse};

/// A verifier of the access tokens of requests, for example `ResourceServer` of the crate `toolwire-auth`.
///
/// Each call has to finish within
/// [`HttpLimits::authorization_deadline`](crate::transport::http::HttpLimits::authorization_deadline). A panic fails
/// only the request that is being verified.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot authorize requests",
    note = "build a `ResourceServerConfig`, or implement `Authorizer`"
)]
pub trait Authorizer: Send + Sync + fmt::Debug {
    /// Verifies the access token of a request from its headers. Every request to the endpoint is verified first, except
    /// the CORS preflight requests of browsers.
    fn authorize<'a>(
        &'a self,
        head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>>;

    /// Returns the error for a request whose token does not grant all the scopes that it needs.
    fn insufficient_scope(&self, needed: &ScopeSet, token: &TokenInfo) -> AuthorizationError;

    /// Returns the public JSON document at a path of this host, for example metadata. Returns `None` if there is no
    /// document.
    fn document(&self, path: &str) -> Option<Bytes>;

    /// Returns the public route at a path of this host, for example an endpoint of an authorization server. Default:
    /// `None`.
    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        let _ = path;
        None
    }

    /// Serves a request to a [`public_route`](Self::public_route). The request has passed the guards of the endpoint.
    ///
    /// The extensions of the request contain a [`PeerAddress`](crate::transport::http::PeerAddress) if the listener of
    /// toolwire, or a layer in front, knows the peer of the connection.
    ///
    /// The transport replaces header fields about the connection and the body length, and `Date`. It keeps only
    /// `Connection: close`. Responses with status 204, 205 and 304 are sent without a body. A status below 200 is
    /// replaced by 500.
    fn serve_public(&self, request: Request<Bytes>) -> BoxFuture<'_, Response<Bytes>> {
        drop(request);
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NOT_FOUND;
        Box::pin(std::future::ready(response))
    }
}

/// A route that clients may request without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublicRoute {
    /// The allowed method, `GET` or `POST`. Other methods get 405 with this method in `Allow`.
    pub method: &'static str,
    /// The maximum length of the request body in bytes. A longer body gets 413.
    pub body_bytes: usize,
    /// Whether web pages of allowed origins may read the response. `false` for pages that are shown to the user.
    pub with_cors: bool,
}

impl PublicRoute {
    /// Creates a route for a page that is shown to the user: GET without a body and without CORS headers.
    #[must_use]
    pub const fn get() -> Self {
        Self {
            method: "GET",
            body_bytes: 0,
            with_cors: false,
        }
    }

    /// Creates a route for POST with a body of at most `body_bytes`.
    #[must_use]
    pub const fn post(body_bytes: usize) -> Self {
        Self {
            method: "POST",
            body_bytes,
            with_cors: false,
        }
    }

    /// Lets web pages of allowed origins read the response.
    #[must_use]
    pub const fn with_cors(mut self) -> Self {
        self.with_cors = true;
        self
    }
}

/// The rejection of a request, with the challenges that tell the client which token it needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AuthorizationError {
    /// The HTTP status: 400, 401, 403, 429 or 503.
    pub status: StatusCode,
    /// The values of `WWW-Authenticate`.
    pub challenges: Vec<HeaderValue>,
    /// A message for the user of the client.
    pub reason: Cow<'static, str>,
}

impl AuthorizationError {
    /// Creates a rejection without challenges.
    pub fn new(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            challenges: Vec::new(),
            reason: reason.into(),
        }
    }

    /// Adds a value of `WWW-Authenticate`.
    #[must_use]
    pub fn with_challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenges.push(challenge);
        self
    }

    /// Returns the HTTP response to the request with this id.
    pub(crate) fn into_response(self, id: ResponseId) -> HttpResponse {
        let error = ErrorObject::invalid_request(self.reason);
        let mut response = match self.status {
            StatusCode::SERVICE_UNAVAILABLE => response::overloaded(id, error),
            StatusCode::TOO_MANY_REQUESTS => response::too_many_requests(id, error),
            status if status.is_client_error() || status.is_server_error() => {
                response::error(status, id, error)
            }
            // No other status rejects a request.
            _ => response::error(StatusCode::INTERNAL_SERVER_ERROR, id, error),
        };
        for challenge in self.challenges {
            response.fields_mut().append(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Returns the rejection of a request that needs scopes, on a server without an authorizer.
pub(crate) fn scopes_unsupported() -> AuthorizationError {
    AuthorizationError::new(
        StatusCode::FORBIDDEN,
        "the request needs an access token, and the server does not verify tokens",
    )
}

/// Verifies the token of a request, with a deadline. Catches panics of the authorizer.
pub(crate) async fn authorize(
    authorizer: &dyn Authorizer,
    head: &Parts,
    deadline: Duration,
) -> Result<TokenInfo, HttpResponse> {
    let authorizing = CatchPanic::new(async { authorizer.authorize(head).await });
    match tokio::time::timeout(deadline, authorizing).await {
        Ok(Ok(Ok(token))) => Ok(token),
        Ok(Ok(Err(rejection))) => Err(rejection.into_response(ResponseId::Absent)),
        Ok(Err(_)) => {
            tracing::error!("the verification of an access token panicked");
            let error = ErrorObject::internal("the access token could not be verified");
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Err(response::error(status, ResponseId::Absent, error))
        }
        Err(_) => {
            tracing::error!("the verification of an access token timed out");
            Err(response::unavailable(
                "the access token could not be verified in time",
            ))
        }
    }
}

/// Returns the response with a public document.
pub(crate) fn document(content: Bytes) -> HttpResponse {
    let mut response = response::json(StatusCode::OK, ServerBody::full(content));
    let cached = HeaderValue::from_static("max-age=3600");
    response.fields_mut().insert(CACHE_CONTROL, cached);
    response
}
