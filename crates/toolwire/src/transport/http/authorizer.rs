//! Who may come in: what the transport asks of whoever verifies tokens.

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

/// Verifies the access tokens of requests. `ResourceServer` of the crate `toolwire-auth` is one.
///
/// It has [`HttpLimits::authorization_deadline`](crate::transport::http::HttpLimits::authorization_deadline) for each, and a panic in it
/// costs that one request.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say who is calling",
    note = "build a `ResourceServerConfig`, or implement `Authorizer`"
)]
pub trait Authorizer: Send + Sync + fmt::Debug {
    /// Finds out who makes a request, by its head alone. Everything at the endpoint is asked for this first, except what
    /// browsers ask before they send anything (CORS).
    fn authorize<'a>(
        &'a self,
        head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>>;

    /// What a caller is told whose token does not grant all the scopes that its request needs.
    fn insufficient_scope(&self, needed: &ScopeSet, token: &TokenInfo) -> AuthorizationError;

    /// A JSON document that anybody may read at a path of this host: metadata.
    fn document(&self, path: &str) -> Option<Bytes>;

    /// Whether there is something at a path of this host that anybody may ask for besides documents: the endpoints of an
    /// authorization server, say. By default there is not.
    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        let _ = path;
        None
    }

    /// Answers a request at a [`public_route`](Self::public_route), which has passed the guards of the endpoint.
    ///
    /// The extensions of the request contain a [`PeerAddress`](crate::transport::http::PeerAddress) if the listener of toolwire, or a layer
    /// in front, knows the peer of the connection.
    ///
    /// How the answer is sent is not its business: fields about the connection and the length of the body, and `Date`,
    /// are replaced by true ones; only the wish for `Connection: close` is heard. 204, 205 and 304 have no body, and a
    /// status below 200 is a 500.
    fn serve_public(&self, request: Request<Bytes>) -> BoxFuture<'_, Response<Bytes>> {
        drop(request);
        let mut answer = Response::new(Bytes::new());
        *answer.status_mut() = StatusCode::NOT_FOUND;
        Box::pin(std::future::ready(answer))
    }
}

/// Something at a path that anybody may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublicRoute {
    /// The method, which stands in `Allow` when another one is used: `GET` or `POST`.
    pub method: &'static str,
    /// How many bytes the body of a request may have; a longer one gets 413.
    pub body_bytes: usize,
    /// Whether web pages of allowed origins may read the answer. What is meant for people they may not.
    pub with_cors: bool,
}

impl PublicRoute {
    /// A route for people: GET without a body, and no page may read the answer.
    #[must_use]
    pub const fn get() -> Self {
        Self {
            method: "GET",
            body_bytes: 0,
            with_cors: false,
        }
    }

    /// A route that takes a body.
    #[must_use]
    pub const fn post(body_bytes: usize) -> Self {
        Self {
            method: "POST",
            body_bytes,
            with_cors: false,
        }
    }

    /// The same, and web pages of allowed origins may read the answer.
    #[must_use]
    pub const fn with_cors(mut self) -> Self {
        self.with_cors = true;
        self
    }
}

/// A request that is turned away, and how its sender can do better.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AuthorizationError {
    /// The HTTP status: 400, 401, 403, 429 or 503.
    pub status: StatusCode,
    /// The values of `WWW-Authenticate`.
    pub challenges: Vec<HeaderValue>,
    /// What a person should know.
    pub reason: Cow<'static, str>,
}

impl AuthorizationError {
    /// Turns a request away.
    pub fn new(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            challenges: Vec::new(),
            reason: reason.into(),
        }
    }

    /// Adds a challenge.
    #[must_use]
    pub fn with_challenge(mut self, challenge: HeaderValue) -> Self {
        self.challenges.push(challenge);
        self
    }

    /// The answer to the request with this id.
    pub(crate) fn into_response(self, id: ResponseId) -> HttpResponse {
        let error = ErrorObject::invalid_request(self.reason);
        let mut answer = match self.status {
            StatusCode::SERVICE_UNAVAILABLE => response::overloaded(id, error),
            StatusCode::TOO_MANY_REQUESTS => response::too_many_requests(id, error),
            status if status.is_client_error() || status.is_server_error() => {
                response::error(status, id, error)
            }
            // Anything else would not turn the request away.
            _ => response::error(StatusCode::INTERNAL_SERVER_ERROR, id, error),
        };
        for challenge in self.challenges {
            answer.fields_mut().append(WWW_AUTHENTICATE, challenge);
        }
        answer
    }
}

/// The refusal where nobody verifies tokens, so that nobody has scopes.
pub(crate) fn scopes_unsupported() -> AuthorizationError {
    AuthorizationError::new(
        StatusCode::FORBIDDEN,
        "this needs an access token, and the server verifies none",
    )
}

/// Finds out who makes a request, within bounds.
pub(crate) async fn ask(
    authorizer: &dyn Authorizer,
    head: &Parts,
    deadline: Duration,
) -> Result<TokenInfo, HttpResponse> {
    let asking = CatchPanic::new(async { authorizer.authorize(head).await });
    match tokio::time::timeout(deadline, asking).await {
        Ok(Ok(Ok(token))) => Ok(token),
        Ok(Ok(Err(refusal))) => Err(refusal.into_response(ResponseId::Absent)),
        Ok(Err(_)) => {
            tracing::error!("verifying an access token panicked");
            let error = ErrorObject::internal("the access token could not be verified");
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Err(response::error(status, ResponseId::Absent, error))
        }
        Err(_) => {
            tracing::error!("verifying an access token takes too long");
            Err(response::unavailable(
                "the access token could not be verified in time",
            ))
        }
    }
}

/// A document that anybody may read.
pub(crate) fn document(content: Bytes) -> HttpResponse {
    let mut answer = response::json(StatusCode::OK, ServerBody::full(content));
    let cached = HeaderValue::from_static("max-age=3600");
    answer.fields_mut().insert(CACHE_CONTROL, cached);
    answer
}
