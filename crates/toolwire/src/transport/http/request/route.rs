//! Chooses the route of a request from its path, its method and its headers.

use std::net::SocketAddr;

use http::request::Parts;
use http::{Method, StatusCode};
use toolwire_proto::admit;
use toolwire_proto::features::Era;
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::authorizer::{self, Authorizer, PublicRoute};
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::http_sse;
use crate::transport::http::options::HttpOptions;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::{cors, guard};
use crate::transport::http::response::{self, HttpResponse};

/// The route of a request.
pub(crate) enum Route {
    /// A message to the endpoint, which is the common case.
    Message,
    Other(OtherRoute),
}

/// A route for requests without a message to the endpoint.
pub(crate) enum OtherRoute {
    /// A public document, or the page for browsers.
    Document(HttpResponse),
    Public(PublicRoute),
    Served(LegacyRoute),
    /// No resource exists at the path, it does not support the method, or the server is shutting down.
    Rejected(HttpResponse),
}

/// A route that only legacy clients use.
pub(crate) enum LegacyRoute {
    Get,
    Delete,
    /// Opens a stream of the 2024-11-05 transport.
    OpenStream,
    /// Sends a message of the 2024-11-05 transport.
    StreamMessage,
}

/// A path that the transport serves.
enum EndpointPath {
    Endpoint,
    /// The stream path of the 2024-11-05 transport.
    Stream,
    /// The message path of the 2024-11-05 transport.
    Messages,
}

impl EndpointPath {
    fn of(path: &str, options: &HttpOptions) -> Option<Self> {
        match path {
            path if path == options.path => Some(Self::Endpoint),
            http_sse::STREAM_PATH if options.http_sse => Some(Self::Stream),
            http_sse::MESSAGE_PATH if options.http_sse => Some(Self::Messages),
            _ => None,
        }
    }
}

impl HttpEndpoint {
    /// Checks the request headers and returns the route. `local_address` is the local address of the connection.
    pub(crate) fn route(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        local_address: Option<SocketAddr>,
    ) -> Result<Route, HttpResponse> {
        guard::check_header_limits(head, &self.options.limits)?;
        let mut route = match &self.options.authorizer {
            Some(authorizer) => authorizer_route(&**authorizer, parts),
            None => None,
        };
        if let Some(published) = &self.published_card
            && route.is_none()
        {
            let document = self.card_document(published, parts, head);
            route = document.map(OtherRoute::Document);
        }
        // Public documents are the same for every client, and pages of every origin may read them.
        let origin = match route {
            Some(OtherRoute::Document(_)) => HeaderLookup::Absent,
            _ => head.origin,
        };
        self.guard.check_names(parts, head, origin, local_address)?;
        if let Some(route) = route {
            return Ok(Route::Other(route));
        }
        Ok(self
            .endpoint_route(parts, head)
            .unwrap_or_else(|rejection| Route::Other(OtherRoute::Rejected(rejection))))
    }

    /// Returns the route of a request to one of the endpoints.
    fn endpoint_route(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
    ) -> Result<Route, HttpResponse> {
        let options = &self.options;
        let Some(path) = EndpointPath::of(parts.uri.path(), options) else {
            return match self.browser_page(parts, head) {
                Some(page) => Ok(Route::Other(OtherRoute::Document(page))),
                None => Err(response::reject(
                    StatusCode::NOT_FOUND,
                    "no resource exists at this path",
                )),
            };
        };
        if self.server.shutdown_signal().is_cancelled() {
            return Err(response::unavailable("the server is shutting down"));
        }
        let reject = |methods| {
            Err(cors::preflight(parts, methods)
                .unwrap_or_else(|| response::method_not_allowed(methods)))
        };
        let route = match (path, &parts.method) {
            (EndpointPath::Endpoint, &Method::POST) => return Ok(Route::Message),
            (EndpointPath::Endpoint, method) => {
                if let Some(page) = self.browser_page(parts, head) {
                    return Ok(Route::Other(OtherRoute::Document(page)));
                }
                let names_modern = admit::header_era(&head.routing) == Some(Era::Modern);
                let has_sessions = self.has_sessions() && !names_modern;
                match *method {
                    Method::GET if has_sessions => LegacyRoute::Get,
                    Method::DELETE if has_sessions => LegacyRoute::Delete,
                    _ if has_sessions => return reject("GET, POST, DELETE"),
                    _ => return reject("POST"),
                }
            }
            (EndpointPath::Stream, &Method::GET) => LegacyRoute::OpenStream,
            (EndpointPath::Stream, _) => return reject("GET"),
            (EndpointPath::Messages, &Method::POST) => LegacyRoute::StreamMessage,
            (EndpointPath::Messages, _) => return reject("POST"),
        };
        Ok(Route::Other(OtherRoute::Served(route)))
    }
}

/// Returns the route of an authorizer at the path of a request.
fn authorizer_route(authorizer: &dyn Authorizer, parts: &Parts) -> Option<OtherRoute> {
    let path = parts.uri.path();
    let Some(content) = authorizer.document(path) else {
        return authorizer.public_route(path).map(OtherRoute::Public);
    };
    let mut response = match parts.method {
        Method::GET | Method::HEAD => authorizer::document(content),
        _ => cors::preflight(parts, "GET").unwrap_or_else(|| response::method_not_allowed("GET")),
    };
    cors::expose_to_all(&mut response);
    Some(OtherRoute::Document(response))
}
