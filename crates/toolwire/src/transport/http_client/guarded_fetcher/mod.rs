//! Sends requests to untrusted URLs.
//!
//! An untrusted URL may point to an internal address, so a request reaches only public addresses. The name is resolved,
//! each address is checked, and the connection uses the checked address. TLS and `Host` use the original name. Size and
//! time are limited.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use toolwire_proto::http::addresses::is_global;
use toolwire_proto::web_url::{InvalidUrl, InvalidUrlKind, WebUrl};

use crate::client::http::{HttpClient, HttpError, HttpPhase};
use crate::transport::http_client::hyper_client::{HyperClient, WithoutRedirects};

/// The default maximum size of a response body.
const DEFAULT_MAX_BYTES: usize = 256 * 1024;

/// The default time limit of a request with its response.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client for untrusted URLs: it reaches public addresses only, and limits the size and the time of responses.
///
/// URLs have the scheme `https`, without a fragment. Redirects are returned as responses.
///
/// ```no_run
/// use bytes::Bytes;
/// use toolwire::transport::http_client::GuardedFetcher;
///
/// # async fn post() -> Result<(), Box<dyn std::error::Error>> {
/// let request = http::Request::post("https://example.com/hook").body(Bytes::from_static(b"{}"))?;
/// let response = GuardedFetcher::new().with_size_limit(1024).send(request).await?;
/// assert_eq!(response.status(), 204);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct GuardedFetcher {
    http: Arc<dyn HttpClient>,
    max_bytes: usize,
    timeout: Duration,
    follows_redirects: bool,
    allows_loopback: bool,
}

impl GuardedFetcher {
    /// Creates a fetcher for public addresses over HTTPS, without proxies.
    #[must_use]
    pub fn new() -> Self {
        Self::with_http_client(HyperClient::new().with_public_addresses_only())
    }

    /// Creates a fetcher that also reaches this machine, including over plain HTTP. For development and tests.
    #[must_use]
    pub fn with_loopback_allowed() -> Self {
        let http = HyperClient::new().with_public_and_loopback_addresses();
        Self {
            allows_loopback: true,
            ..Self::with_http_client(http)
        }
    }

    /// Creates a fetcher over a custom HTTP client, for example through an egress proxy. That client then decides which
    /// addresses are reachable and which redirects are followed.
    #[must_use]
    pub fn with_http_client(http: impl HttpClient + 'static) -> Self {
        Self {
            http: Arc::new(http),
            max_bytes: DEFAULT_MAX_BYTES,
            timeout: DEFAULT_TIMEOUT,
            follows_redirects: false,
            allows_loopback: false,
        }
    }

    /// Sets the maximum size of a response body. Default: 256 KiB.
    #[must_use]
    pub fn with_size_limit(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the timeout of a request with its response. Default: 10 s.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Follows redirects with status 307 or 308 within the origin, at most five. Any other redirect is an error.
    #[must_use]
    pub fn with_redirects_within_origin(mut self) -> Self {
        self.follows_redirects = true;
        self
    }

    /// Sends a request and returns the response with any status.
    ///
    /// # Errors
    /// Returns an error if the URL is invalid, if an address of its host is not public, if there is no complete response
    /// within the timeout, and if the response is too large.
    pub async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        check_url(&request.uri().to_string())?;
        if !self.follows_redirects {
            request.extensions_mut().insert(WithoutRedirects);
        }
        let exchange = async {
            let (head, body) = self.http.send(request).await?.into_parts();
            let body = body.collect(self.max_bytes).await?;
            Ok(Response::from_parts(head, body))
        };
        let outcome = tokio::time::timeout(self.timeout, exchange).await;
        outcome.unwrap_or_else(|_| Err(self.timeout_error()))
    }

    /// Returns `true` if the fetcher was created by [`with_loopback_allowed`](Self::with_loopback_allowed).
    #[must_use]
    pub fn allows_loopback(&self) -> bool {
        self.allows_loopback
    }

    fn timeout_error(&self) -> HttpError {
        let what = format!("the response was not complete within {:?}", self.timeout);
        HttpError::new(HttpPhase::Receive, what)
            .with_advice("check that the server responds in time, or use a longer timeout")
            .timed_out()
    }
}

/// Checks the URL of a request. The address policy decides whether a loopback host is reachable.
fn check_url(text: &str) -> Result<(), HttpError> {
    let url = WebUrl::parse(text).and_then(|url| {
        if url.is_confidential() {
            Ok(())
        } else {
            Err(InvalidUrl::new(text, InvalidUrlKind::NotSecure))
        }
    });
    url.map_err(|invalid| {
        HttpError::new(HttpPhase::Prepare, invalid.to_string()).with_source(invalid)
    })
}

impl Default for GuardedFetcher {
    fn default() -> Self {
        Self::new()
    }
}

impl HyperClient {
    /// Connects to public addresses only, and never through a proxy, because a proxy resolves names itself.
    ///
    /// This replaces the policy of [`with_address_policy`](Self::with_address_policy).
    #[must_use]
    pub fn with_public_addresses_only(self) -> Self {
        self.without_proxy()
            .with_address_policy(|address| is_global(address.ip()))
    }

    /// As [`with_public_addresses_only`](Self::with_public_addresses_only), and also connects to this machine. For
    /// development and tests.
    #[must_use]
    pub fn with_public_and_loopback_addresses(self) -> Self {
        self.without_proxy().with_address_policy(|address| {
            let ip = address.ip().to_canonical();
            ip.is_loopback() || is_global(ip)
        })
    }
}

#[cfg(test)]
mod tests;
