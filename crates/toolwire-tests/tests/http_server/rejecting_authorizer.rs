//! An authorizer that rejects every request except those of its public route.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use toolwire::transport::http::{AuthorizationError, Authorizer, PublicRoute};
use toolwire::{BoxFuture, ScopeSet, TokenInfo};

/// An authorizer that accepts no token. Its public route `/scripted` returns the response that the request body
/// describes: a status, headers and a body.
#[derive(Debug)]
pub(crate) struct RejectingAuthorizer;

impl Authorizer for RejectingAuthorizer {
    fn authorize<'a>(
        &'a self,
        _: &'a http::request::Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let error = AuthorizationError::new(StatusCode::UNAUTHORIZED, "not authorized");
        Box::pin(std::future::ready(Err(error)))
    }

    fn insufficient_scope(&self, _: &ScopeSet, _: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "not authorized")
    }

    fn document(&self, _: &str) -> Option<Bytes> {
        None
    }

    fn public_route(&self, path: &str) -> Option<PublicRoute> {
        (path == "/scripted").then(|| PublicRoute::post(1000))
    }

    fn serve_public(&self, request: http::Request<Bytes>) -> BoxFuture<'_, Response<Bytes>> {
        let script = std::str::from_utf8(request.body()).unwrap();
        let (header_lines, body) = script.split_once("\n\n").unwrap();
        let mut response = Response::new(Bytes::copy_from_slice(body.as_bytes()));
        for line in header_lines.lines() {
            match line.split_once(": ") {
                None => *response.status_mut() = line.parse().unwrap(),
                Some((name, value)) => {
                    let name: HeaderName = name.parse().unwrap();
                    let value: HeaderValue = value.parse().unwrap();
                    response.headers_mut().append(name, value);
                }
            }
        }
        Box::pin(std::future::ready(response))
    }
}
