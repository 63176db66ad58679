//! The steps that serve one request.

use std::error::Error as StdError;
use std::sync::Arc;

use http::Uri;
use http::request::Parts;
use http_body::Body;
use tracing::Level;
use tracing::level_filters::LevelFilter;

use crate::engine::{TokenInfo, boxed_cold};
use crate::transport::http::access_log::AccessEntry;
use crate::transport::http::authorizer;
use crate::transport::http::byte_budget::Reservation;
use crate::transport::http::exchange::message;
use crate::transport::http::http_sse::routes;
use crate::transport::http::request::body::{self, BodyBytes, BodyError, BodySource};
use crate::transport::http::request::headers::{RequestHeaders, RetainedFields};
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::request::peer_address::PeerAddress;
use crate::transport::http::request::route::{LegacyRoute, OtherRoute, Route};
use crate::transport::http::request::unread_body::{self, AfterResponse, TrackedBody};
use crate::transport::http::request::{cors, guard, public_routes};
use crate::transport::http::response::HttpResponse;
use crate::transport::http::service::HttpService;
use crate::transport::http::session::get_delete;

/// The memory of a request without its headers and its body.
const REQUEST_OVERHEAD: usize = 2 * 1024;

impl HttpService {
    /// Reads the rest of a request body before its response is sent; see [`unread_body`].
    pub(crate) async fn finish_request<B: Body + Unpin>(
        &self,
        parts: &Parts,
        body: TrackedBody<B>,
        response: &mut HttpResponse,
    ) -> AfterResponse {
        let limits = &self.endpoint.options.limits;
        let reservation = self.endpoint.requests.bytes().reservation();
        unread_body::finish_request(parts, body, response, limits, reservation).await
    }

    /// Returns `true` if other services are served through this one. Their requests may need other header fields.
    pub(crate) fn has_further_services(&self) -> bool {
        !self.further.is_empty()
    }

    /// Returns the header fields that a request needs besides those in [`RequestHeaders`].
    pub(crate) fn retained_fields(&self) -> RetainedFields {
        let options = &self.endpoint.options;
        if options.authorizer.is_some() || options.trusted_proxies > 0 {
            RetainedFields::All
        } else if self.endpoint.server.snapshot().middleware.is_some() {
            RetainedFields::ArgumentsAndTrace
        } else {
            RetainedFields::Arguments
        }
    }

    /// Serves a request whose headers are parsed. `parts` may lack the fields that are [not
    /// retained](Self::retained_fields).
    pub(crate) async fn respond_to<B>(
        &self,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: BodySource<'_, B>,
    ) -> HttpResponse
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let further = self.further_service(&parts.uri);
        let service = further.as_ref().unwrap_or(self);
        let options = &service.endpoint.options;
        let mut access = options
            .access_log
            .as_ref()
            .map(|log| log.start(parts, head, service.peer_address, options.trusted_proxies));
        let reservation = match service.reserve(head, &body) {
            Ok(reservation) => reservation,
            Err(rejection) => return end_access(access, rejection),
        };
        let response = match service.endpoint.route(parts, head, service.local_address) {
            Ok(Route::Message) => {
                // All steps are in one future, for the reasons given at `message::serve`.
                let mut response = 'served: {
                    let token = match service.endpoint.options.authorizer {
                        None => Ok(token_from_extensions(parts)),
                        Some(_) => boxed_cold(|| service.token(parts)).await,
                    };
                    let token = match token {
                        Ok(token) => token,
                        Err(rejection) => break 'served rejection,
                    };
                    let post = IncomingRequest::new(
                        &service.endpoint,
                        parts,
                        head,
                        token,
                        service.peer_address,
                    );
                    service.endpoint.start();
                    if let Err(rejection) = guard::check_message_headers(head) {
                        break 'served rejection;
                    }
                    let limits = &service.endpoint.options.limits;
                    let message = match body {
                        BodySource::Complete(body) => body::complete(body, limits.body_bytes),
                        streaming => boxed_cold(|| service.read(streaming, reservation)).await,
                    };
                    if let (Some(access), Ok(message)) = (&mut access, &message) {
                        access.set_message(message);
                    }
                    match message {
                        Ok(message) => message::serve(&post, &message).await,
                        Err(unread) => body::reject_body_error(&unread, limits.body_bytes),
                    }
                };
                cors::expose(head.origin, &mut response);
                response
            }
            Ok(Route::Other(route)) => {
                let access = access.as_deref_mut();
                boxed_cold(|| service.respond_other(route, parts, head, body, access)).await
            }
            Err(rejection) => rejection,
        };
        if LevelFilter::current() >= Level::DEBUG {
            log_response(parts, &response);
        }
        end_access(access, response)
    }

    /// Returns the further service at the path of a URI, for the connection of this one.
    #[inline]
    fn further_service(&self, uri: &Uri) -> Option<Self> {
        if self.further.is_empty() {
            return None;
        }
        let found = self.further.find(uri.path())?;
        Some(Self {
            local_address: self.local_address,
            peer_address: self.peer_address,
            ..found
        })
    }

    /// Serves a request that is not a message to the endpoint.
    async fn respond_other<B>(
        &self,
        route: OtherRoute,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: BodySource<'_, B>,
        access: Option<&mut AccessEntry>,
    ) -> HttpResponse
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        match route {
            OtherRoute::Document(document) => document,
            OtherRoute::Public(route) => {
                let peer = self.peer_address.map(PeerAddress::new);
                public_routes::serve_public_route(&self.endpoint, route, parts, peer, head, body)
                    .await
            }
            OtherRoute::Rejected(mut rejection) => {
                cors::expose(head.origin, &mut rejection);
                rejection
            }
            OtherRoute::Served(route) => {
                let served = self.serve(route, parts, head, body, access).await;
                let mut response = served.unwrap_or_else(|rejection| rejection);
                cors::expose(head.origin, &mut response);
                response
            }
        }
    }

    async fn serve<B>(
        &self,
        route: LegacyRoute,
        parts: &Parts,
        head: &RequestHeaders<'_>,
        body: BodySource<'_, B>,
        access: Option<&mut AccessEntry>,
    ) -> Result<HttpResponse, HttpResponse>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let token = self.token(parts).await?;
        let post = IncomingRequest::new(&self.endpoint, parts, head, token, self.peer_address);
        self.endpoint.start();
        match route {
            LegacyRoute::Get => Ok(get_delete::get(&post).await),
            LegacyRoute::Delete => Ok(get_delete::delete(&post).await),
            LegacyRoute::OpenStream => {
                let token = post.auth.clone().unwrap_or_default();
                (routes::installed().open)(&self.endpoint, head, token).await
            }
            LegacyRoute::StreamMessage => {
                guard::check_content(head)?;
                let limits = &self.endpoint.options.limits;
                let message = self.read(body, None).await;
                let message = message
                    .map_err(|unread| body::reject_body_error(&unread, limits.body_bytes))?;
                if let Some(access) = access {
                    access.set_message(&message);
                }
                (routes::installed().deliver)(&post, &message).await
            }
        }
    }

    /// Counts the headers of a request that are not in the buffer of the connection.
    fn reserve<B>(
        &self,
        head: &RequestHeaders<'_>,
        body: &BodySource<'_, B>,
    ) -> Result<Option<Reservation>, HttpResponse> {
        if let BodySource::Complete(_) = body {
            return Ok(None);
        }
        let mut reservation = self.endpoint.requests.bytes().reservation();
        if reservation.try_grow(head.bytes + REQUEST_OVERHEAD) {
            Ok(Some(reservation))
        } else {
            Err(body::no_capacity())
        }
    }

    /// Reads the message of a POST.
    async fn read<'b, B>(
        &self,
        body: BodySource<'b, B>,
        reservation: Option<Reservation>,
    ) -> Result<BodyBytes<'b>, BodyError>
    where
        B: Body,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let limits = &self.endpoint.options.limits;
        let empty = || self.endpoint.requests.bytes().reservation();
        let reservation = reservation.unwrap_or_else(empty);
        body::read(body, limits.body_bytes, limits, reservation).await
    }

    /// Returns the verified token of a request. With an authorizer, a token from a layer in front is ignored.
    async fn token(&self, parts: &Parts) -> Result<Option<Arc<TokenInfo>>, HttpResponse> {
        let Some(authorizer) = &self.endpoint.options.authorizer else {
            return Ok(token_from_extensions(parts));
        };
        let deadline = self.endpoint.options.limits.authorization_deadline;
        let token = authorizer::authorize(&**authorizer, parts, deadline).await?;
        Ok(Some(Arc::new(token)))
    }
}

/// Adds a response to the record of its request in the access log.
#[inline]
fn end_access(access: Option<Box<AccessEntry>>, response: HttpResponse) -> HttpResponse {
    match access {
        None => response,
        Some(access) => response.with_access_entry(access),
    }
}

/// Logs the response at debug level.
#[cold]
fn log_response(parts: &Parts, response: &HttpResponse) {
    tracing::debug!(
        method = %parts.method,
        path = parts.uri.path(),
        status = response.status().as_u16(),
        "responding"
    );
}

/// Returns the token that a layer in front has verified.
fn token_from_extensions(parts: &Parts) -> Option<Arc<TokenInfo>> {
    parts.extensions.get::<TokenInfo>().cloned().map(Arc::new)
}
