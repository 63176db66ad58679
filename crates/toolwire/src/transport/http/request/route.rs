//! Where a request leads: to the endpoint with a message, as nearly all, or somewhere else.

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

/// Where a request leads.
pub(crate) enum Route {
    /// A message to the endpoint, as nearly all are.
    Message,
    Other(OtherRoute),
}

/// Somewhere else than where messages are taken.
pub(crate) enum OtherRoute {
    /// A document that anybody may read.
    Document(HttpResponse),
    Public(PublicRoute),
    Served(LegacyRoute),
    /// Nothing is there, or not for this method.
    Nowhere(HttpResponse),
}

/// What is served besides messages.
pub(crate) enum LegacyRoute {
    Get,
    Delete,
    /// The two of the 2024-11-05 transport.
    OpenStream,
    StreamMessage,
}

/// Where something is served.
enum EndpointPath {
    Endpoint,
    /// The two of the 2024-11-05 transport.
    Stream,
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
    /// Finds out where a request leads, if it passes the guards. `local_address` is where its connection came in.
    pub(crate) fn route(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        local_address: Option<SocketAddr>,
    ) -> Result<Route, HttpResponse> {
        guard::check_header_limits(head, &self.options.limits)?;
        let place = match &self.options.authorizer {
            Some(authorizer) => authorizer_route(&**authorizer, parts),
            None => None,
        };
        // Documents are the same for every client, and their CORS headers say that every page may read them.
        let origin = match place {
            Some(OtherRoute::Document(_)) => HeaderLookup::Absent,
            _ => head.origin,
        };
        self.guard.check_names(parts, head, origin, local_address)?;
        if let Some(place) = place {
            return Ok(Route::Other(place));
        }
        Ok(self
            .endpoint_route(parts, head)
            .unwrap_or_else(|refusal| Route::Other(OtherRoute::Nowhere(refusal))))
    }

    /// Returns the route of a request to one of the endpoints.
    fn endpoint_route(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
    ) -> Result<Route, HttpResponse> {
        let options = &self.options;
        let path = EndpointPath::of(parts.uri.path(), options).ok_or_else(|| {
            response::reject(StatusCode::NOT_FOUND, "there is nothing at this path")
        })?;
        if self.server.shutdown_signal().is_cancelled() {
            return Err(response::unavailable("the server is shutting down"));
        }
        let refuse = |methods| {
            Err(cors::preflight(parts, methods)
                .unwrap_or_else(|| response::method_not_allowed(methods)))
        };
        let route = match (path, &parts.method) {
            (EndpointPath::Endpoint, &Method::POST) => return Ok(Route::Message),
            (EndpointPath::Endpoint, method) => {
                let names_modern = admit::header_era(&head.routing) == Some(Era::Modern);
                let keeps_sessions = self.has_sessions() && !names_modern;
                match *method {
                    Method::GET if keeps_sessions => LegacyRoute::Get,
                    Method::DELETE if keeps_sessions => LegacyRoute::Delete,
                    _ if keeps_sessions => return refuse("GET, POST, DELETE"),
                    _ => return refuse("POST"),
                }
            }
            (EndpointPath::Stream, &Method::GET) => LegacyRoute::OpenStream,
            (EndpointPath::Stream, _) => return refuse("GET"),
            (EndpointPath::Messages, &Method::POST) => LegacyRoute::StreamMessage,
            (EndpointPath::Messages, _) => return refuse("POST"),
        };
        Ok(Route::Other(OtherRoute::Served(route)))
    }
}

/// What an authorizer has at a path.
fn authorizer_route(authorizer: &dyn Authorizer, parts: &Parts) -> Option<OtherRoute> {
    let path = parts.uri.path();
    let Some(content) = authorizer.document(path) else {
        return authorizer.public_route(path).map(OtherRoute::Public);
    };
    let mut answer = match parts.method {
        Method::GET | Method::HEAD => authorizer::document(content),
        _ => cors::preflight(parts, "GET").unwrap_or_else(|| response::method_not_allowed("GET")),
    };
    cors::expose_to_all(&mut answer);
    Some(OtherRoute::Document(answer))
}
