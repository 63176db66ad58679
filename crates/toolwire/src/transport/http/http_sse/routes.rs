//! The functions that serve the two endpoints of the 2024-11-05 transport.
//!
//! Only [`HttpOptions::with_http_sse`](crate::transport::http::HttpOptions::with_http_sse) installs them. A program
//! that does not call it does not contain them, nor the message loop that they need: about 300 KB.

use std::sync::{Arc, OnceLock};

use crate::engine::{BoxFuture, TokenInfo};
use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::request::incoming::IncomingRequest;
use crate::transport::http::response::HttpResponse;

/// The future of a response.
pub(crate) type ResponseFuture<'a> = BoxFuture<'a, Result<HttpResponse, HttpResponse>>;

/// The functions of both endpoints.
#[derive(Clone, Copy)]
pub(crate) struct HttpSseRoutes {
    /// Opens a stream.
    pub(crate) open: for<'a> fn(
        &'a Arc<HttpEndpoint>,
        &'a RequestHeaders<'a>,
        Arc<TokenInfo>,
    ) -> ResponseFuture<'a>,
    /// Delivers the message of a POST to its stream.
    pub(crate) deliver: for<'a> fn(&'a IncomingRequest<'a>, &'a [u8]) -> ResponseFuture<'a>,
}

/// The installed functions.
static ROUTES: OnceLock<HttpSseRoutes> = OnceLock::new();

/// Installs the functions.
pub(crate) fn install(routes: HttpSseRoutes) {
    ROUTES.get_or_init(|| routes);
}

/// Returns the installed functions. Endpoints with these routes have installed them.
pub(crate) fn installed() -> &'static HttpSseRoutes {
    ROUTES.get().expect("`with_http_sse` installs the routes")
}
