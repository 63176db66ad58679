//! The URL under which clients reach the endpoint.

use http::request::Parts;
use toolwire_proto::param_headers::HeaderLookup;

use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::request::headers::RequestHeaders;

impl HttpEndpoint {
    /// Returns the configured URL of the endpoint. Without one, the URL has the host of the request, which the guard
    /// checks before the response is sent.
    pub(crate) fn public_url(&self, parts: &Parts, head: &RequestHeaders<'_>) -> Option<String> {
        if let Some(url) = &self.options.public_url {
            return Some(url.clone());
        }
        let host = match head.host {
            HeaderLookup::One(host) => host,
            _ => parts.uri.authority()?.as_str(),
        };
        #[cfg(feature = "tls")]
        let has_tls = self.options.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let has_tls = false;
        // A proxy that ends TLS says so. A wrong value affects only the client that sent it.
        let forwarded = parts.headers.get("x-forwarded-proto");
        let is_https = has_tls
            || parts.uri.scheme_str() == Some("https")
            || forwarded.is_some_and(|scheme| scheme == "https");
        let scheme = if is_https { "https" } else { "http" };
        Some(format!("{scheme}://{host}{}", self.options.path))
    }
}
