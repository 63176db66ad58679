//! Serves the public routes of an authorizer, with the same guards and limits as the endpoint.

use std::error::Error as StdError;

use http::request::Parts;
use http::{Request, StatusCode};
use http_body::Body;
use toolwire_types::{ErrorObject, ResponseId};

use crate::engine::CatchPanic;
use crate::transport::http::authorizer::PublicRoute;
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::request::body::BodySource;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::peer_address::PeerAddress;
use crate::transport::http::request::{body, cors};
use crate::transport::http::response::sanitize;
use crate::transport::http::response::{self, HttpResponse};

/// Serves a request to a public route. The request has passed the guards.
pub(crate) async fn serve_public_route<B>(
    endpoint: &HttpEndpoint,
    route: PublicRoute,
    parts: &Parts,
    peer: Option<PeerAddress>,
    head: &RequestHeaders<'_>,
    body: BodySource<'_, B>,
) -> HttpResponse
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let served = respond_within_limits(endpoint, route, parts, peer, body).await;
    let mut response = served.unwrap_or_else(|rejection| rejection);
    if route.with_cors {
        cors::expose(head.origin, &mut response);
    }
    response
}

async fn respond_within_limits<B>(
    endpoint: &HttpEndpoint,
    route: PublicRoute,
    parts: &Parts,
    peer: Option<PeerAddress>,
    body: BodySource<'_, B>,
) -> Result<HttpResponse, HttpResponse>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    if parts.method.as_str() != route.method {
        let preflight = route
            .with_cors
            .then(|| cors::preflight(parts, route.method));
        return Err(preflight
            .flatten()
            .unwrap_or_else(|| response::method_not_allowed(route.method)));
    }
    if endpoint.server.shutdown_signal().is_cancelled() {
        return Err(response::unavailable("the server is shutting down"));
    }
    let _permit = endpoint.request_permit(0)?;
    let limits = &endpoint.options.limits;
    let reservation = endpoint.requests.bytes().reservation();
    let body = body::read(body, route.body_bytes, limits, reservation)
        .await
        .map_err(|unread| body::reject_body_error(&unread, route.body_bytes))?;
    let Some(authorizer) = &endpoint.options.authorizer else {
        return Err(response::reject(
            StatusCode::NOT_FOUND,
            "no resource exists at this path",
        ));
    };
    let mut request = Request::from_parts(parts.clone(), body.into_bytes());
    // An address from a layer in front takes precedence.
    if let Some(peer) = peer
        && request.extensions().get::<PeerAddress>().is_none()
    {
        request.extensions_mut().insert(peer);
    }
    let serving = CatchPanic::new(async { authorizer.serve_public(request).await });
    match tokio::time::timeout(limits.authorization_deadline, serving).await {
        Ok(Ok(response)) => Ok(sanitize::sanitize(response)),
        Ok(Err(_)) => {
            tracing::error!("an authorizer panicked while serving a request");
            let error = ErrorObject::internal("the request could not be served");
            Err(response::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                ResponseId::Absent,
                error,
            ))
        }
        Err(_) => {
            tracing::error!("an authorizer did not serve a request in time");
            Err(response::unavailable(
                "the request could not be served in time",
            ))
        }
    }
}
