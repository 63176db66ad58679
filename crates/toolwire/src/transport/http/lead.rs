//! Where a request leads: to the endpoint with a message, as nearly all, or somewhere else.

use std::net::SocketAddr;

use http::request::Parts;
use http::{Method, StatusCode};
use toolwire_proto::admit;
use toolwire_proto::features::Era;
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::answer::{self, Answer};
use crate::transport::http::authorizer::{self, Authorizer, PublicRoute};
use crate::transport::http::endpoint::Endpoint;
use crate::transport::http::head::Head;
use crate::transport::http::legacy::http_with_sse::{self, HttpWithSse};
use crate::transport::http::options::HttpOptions;
use crate::transport::http::{cors, guard};

/// Where a request leads.
pub(super) enum Lead {
    /// A message to the endpoint, as nearly all are.
    Message,
    Elsewhere(Place),
}

/// Somewhere else than where messages are taken.
pub(super) enum Place {
    /// A document that anybody may read.
    Document(Answer),
    Public(PublicRoute),
    Served(Route),
    /// Nothing is there, or not for this method.
    Nowhere(Answer),
}

/// What is served besides messages.
pub(super) enum Route {
    Get,
    Delete,
    /// The two of the 2024-11-05 transport.
    OpenStream(HttpWithSse),
    StreamMessage(HttpWithSse),
}

/// Where something is served.
enum Path {
    Endpoint,
    /// The two of the 2024-11-05 transport.
    Stream(HttpWithSse),
    Messages(HttpWithSse),
}

impl Path {
    fn of(path: &str, options: &HttpOptions) -> Option<Self> {
        match path {
            path if path == options.path => Some(Self::Endpoint),
            http_with_sse::STREAM_PATH => options.http_with_sse.map(Self::Stream),
            http_with_sse::MESSAGE_PATH => options.http_with_sse.map(Self::Messages),
            _ => None,
        }
    }
}

impl Endpoint {
    /// Finds out where a request leads, if it passes the guards. `local_address` is where its connection came in.
    pub(super) fn lead(
        &self,
        parts: &Parts,
        head: &Head<'_>,
        local_address: Option<SocketAddr>,
    ) -> Result<Lead, Answer> {
        guard::check_head(head, &self.options.limits)?;
        let place = match &self.options.authorizer {
            Some(authorizer) => authorizers_place(&**authorizer, parts),
            None => None,
        };
        // Documents are the same for every client, and their CORS headers say that every page may read them.
        let origin = match place {
            Some(Place::Document(_)) => HeaderLookup::Absent,
            _ => head.origin,
        };
        self.guard.check_names(parts, head, origin, local_address)?;
        if let Some(place) = place {
            return Ok(Lead::Elsewhere(place));
        }
        Ok(self
            .route(parts, head)
            .unwrap_or_else(|refusal| Lead::Elsewhere(Place::Nowhere(refusal))))
    }

    /// Finds out what is wanted.
    fn route(&self, parts: &Parts, head: &Head<'_>) -> Result<Lead, Answer> {
        let options = &self.options;
        let path = Path::of(parts.uri.path(), options).ok_or_else(|| {
            answer::refuse(StatusCode::NOT_FOUND, "there is nothing at this path")
        })?;
        if self.server.shutdown_signal().is_cancelled() {
            return Err(answer::unavailable("the server is shutting down"));
        }
        let refuse = |methods| {
            Err(cors::preflight(parts, methods)
                .unwrap_or_else(|| answer::method_not_allowed(methods)))
        };
        let route = match (path, &parts.method) {
            (Path::Endpoint, &Method::POST) => return Ok(Lead::Message),
            (Path::Endpoint, method) => {
                let names_modern = admit::header_era(&head.routing) == Some(Era::Modern);
                let keeps_sessions = self.keeps_sessions() && !names_modern;
                match *method {
                    Method::GET if keeps_sessions => Route::Get,
                    Method::DELETE if keeps_sessions => Route::Delete,
                    _ if keeps_sessions => return refuse("GET, POST, DELETE"),
                    _ => return refuse("POST"),
                }
            }
            (Path::Stream(endpoints), &Method::GET) => Route::OpenStream(endpoints),
            (Path::Stream(_), _) => return refuse("GET"),
            (Path::Messages(endpoints), &Method::POST) => Route::StreamMessage(endpoints),
            (Path::Messages(_), _) => return refuse("POST"),
        };
        Ok(Lead::Elsewhere(Place::Served(route)))
    }
}

/// What an authorizer has at a path.
fn authorizers_place(authorizer: &dyn Authorizer, parts: &Parts) -> Option<Place> {
    let path = parts.uri.path();
    let Some(content) = authorizer.document(path) else {
        return authorizer.public_route(path).map(Place::Public);
    };
    let mut answer = match parts.method {
        Method::GET | Method::HEAD => authorizer::document(content),
        _ => cors::preflight(parts, "GET").unwrap_or_else(|| answer::method_not_allowed("GET")),
    };
    cors::expose_to_all(&mut answer);
    Some(Place::Document(answer))
}
