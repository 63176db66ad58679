//! Fetches untrusted URLs for authorization: metadata, keys, and introspection responses.
//!
//! An untrusted URL may point to an internal address, so a fetch reaches only public addresses. The name is resolved
//! once, each address is checked, and the connection uses the checked address. Redirects are followed only within the
//! origin. Size and time are limited.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use serde::de::DeserializeOwned;
use toolwire::transport::http_client::HyperClient;
use toolwire::transport::http_client::{HttpClient, HttpError};
use toolwire_proto::http::addresses::is_global;

use crate::documents::Secret;
use crate::rules::endpoints;

/// The default maximum size of a document.
const DEFAULT_MAX_BYTES: usize = 256 * 1024;

/// The `User-Agent` header. Some servers reject requests without one.
const USER_AGENT_VALUE: &str = concat!("toolwire/", env!("CARGO_PKG_VERSION"));

/// The default time limit of a complete fetch.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that fetches documents from public addresses only.
#[derive(Debug, Clone)]
pub struct DocumentFetcher {
    http: Arc<dyn HttpClient>,
    max_bytes: usize,
    timeout: Duration,
}

impl DocumentFetcher {
    /// Creates a fetcher for public addresses over HTTPS, without proxies.
    #[must_use]
    pub fn new() -> Self {
        Self::with_http_client(public_only(HyperClient::new()))
    }

    /// Creates a fetcher that also reaches this machine, including over plain HTTP. For development and tests.
    #[must_use]
    pub fn with_loopback_allowed() -> Self {
        let http = HyperClient::new()
            .without_proxy()
            .with_address_policy(|address| {
                let ip = address.ip().to_canonical();
                ip.is_loopback() || is_global(ip)
            });
        Self::with_http_client(http)
    }

    /// Creates a fetcher over a custom HTTP client, for example through an egress proxy. That client then decides which
    /// addresses are reachable.
    #[must_use]
    pub fn with_http_client(http: impl HttpClient + 'static) -> Self {
        Self {
            http: Arc::new(http),
            max_bytes: DEFAULT_MAX_BYTES,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Sets the maximum size of a document. Default: 256 KiB.
    #[must_use]
    pub fn with_size_limit(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the timeout of a fetch. Default: 10 s.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Fetches a JSON document.
    #[cfg(feature = "resource-server")]
    pub(crate) async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, FetchError> {
        let response = self.exchange(Method::GET, url, HeaderMap::new(), Bytes::new());
        response.await?.document(url)
    }

    /// Sends a form and parses the JSON response.
    #[cfg(feature = "resource-server")]
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        url: &str,
        form: &Secret,
        authorization: Option<&Secret>,
    ) -> Result<T, FetchError> {
        let response = self.post_form(url, form, authorization, HeaderMap::new());
        response.await?.document(url)
    }

    /// Sends a JSON document, which may contain a secret, and parses the JSON response.
    #[cfg(feature = "resource-server")]
    pub(crate) async fn post_json<T: DeserializeOwned>(
        &self,
        url: &str,
        document: &Secret,
        authorization: &Secret,
    ) -> Result<T, FetchError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(AUTHORIZATION, sensitive(url, authorization)?);
        let body = Bytes::copy_from_slice(document.expose().as_bytes());
        let response = self.exchange(Method::POST, url, headers, body);
        response.await?.document(url)
    }

    /// Sends a form and returns the response.
    pub(crate) async fn post_form(
        &self,
        url: &str,
        form: &Secret,
        authorization: Option<&Secret>,
        mut headers: HeaderMap,
    ) -> Result<FetchedDocument, FetchError> {
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form_type);
        if let Some(authorization) = authorization {
            headers.insert(AUTHORIZATION, sensitive(url, authorization)?);
        }
        let body = Bytes::copy_from_slice(form.expose().as_bytes());
        self.exchange(Method::POST, url, headers, body).await
    }

    /// Sends a request and returns the response with any status.
    pub(crate) async fn exchange(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<FetchedDocument, FetchError> {
        endpoints::check(url)
            .map_err(|invalid| FetchError::new(url, FetchErrorKind::Url(invalid)))?;
        let request = Request::builder().method(method).uri(url).body(body);
        let mut request = request.map_err(|_| FetchError::new(url, FetchErrorKind::Request))?;
        *request.headers_mut() = headers;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE));
        let exchange = async {
            let response = self
                .http
                .send(request)
                .await
                .map_err(FetchErrorKind::Http)?;
            let (head, body) = response.into_parts();
            let body = body
                .collect(self.max_bytes)
                .await
                .map_err(FetchErrorKind::Http)?;
            Ok(FetchedDocument {
                status: head.status,
                #[cfg(feature = "client")]
                headers: head.headers,
                body,
            })
        };
        let response = tokio::time::timeout(self.timeout, exchange).await;
        response
            .unwrap_or(Err(FetchErrorKind::Timeout(self.timeout)))
            .map_err(|kind| FetchError::new(url, kind))
    }
}

/// A response with its body.
#[derive(Debug)]
pub(crate) struct FetchedDocument {
    pub(crate) status: StatusCode,
    #[cfg(feature = "client")]
    pub(crate) headers: HeaderMap,
    body: Bytes,
}

impl FetchedDocument {
    /// Parses the document of a successful response.
    pub(crate) fn document<T: DeserializeOwned>(&self, url: &str) -> Result<T, FetchError> {
        if self.status != StatusCode::OK {
            return Err(FetchError::new(url, FetchErrorKind::Status(self.status)));
        }
        self.json(url)
    }

    /// Parses the document of a response with status 201 or 200.
    #[cfg(feature = "client")]
    pub(crate) fn created<T: DeserializeOwned>(&self, url: &str) -> Result<T, FetchError> {
        match self.status {
            StatusCode::CREATED => self.json(url),
            _ => self.document(url),
        }
    }

    fn json<T: DeserializeOwned>(&self, url: &str) -> Result<T, FetchError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| FetchError::new(url, FetchErrorKind::Json(error)))
    }

    /// Parses the document of an error response. Returns `None` if it is invalid.
    #[cfg(any(feature = "client", feature = "proxy"))]
    pub(crate) fn error_document<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}

fn sensitive(url: &str, secret: &Secret) -> Result<HeaderValue, FetchError> {
    let mut value = HeaderValue::from_str(secret.expose())
        .map_err(|_| FetchError::new(url, FetchErrorKind::Request))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Creates an HTTP client that reaches public addresses only. It uses no proxy, because a proxy resolves names itself.
fn public_only(http: HyperClient) -> HyperClient {
    http.without_proxy()
        .with_address_policy(|address| is_global(address.ip()))
}

impl Default for DocumentFetcher {
    fn default() -> Self {
        Self::new()
    }
}

/// The reason why a document could not be fetched.
#[derive(Debug)]
pub struct FetchError {
    /// The URL without its query.
    url: String,
    kind: FetchErrorKind,
}

#[derive(Debug)]
enum FetchErrorKind {
    Url(endpoints::InvalidUrl),
    Request,
    Http(HttpError),
    Status(StatusCode),
    Timeout(Duration),
    Json(serde_json::Error),
    #[cfg(feature = "resource-server")]
    Unusable(String),
}

impl FetchError {
    /// Creates an error for a URL whose document is invalid or must not be fetched.
    #[cfg(feature = "resource-server")]
    pub(crate) fn unusable(url: &str, reason: String) -> Self {
        Self::new(url, FetchErrorKind::Unusable(reason))
    }

    /// Returns the status of a response without a document.
    #[cfg(feature = "resource-server")]
    pub(crate) fn status(&self) -> Option<StatusCode> {
        match self.kind {
            FetchErrorKind::Status(status) => Some(status),
            _ => None,
        }
    }

    fn new(url: &str, kind: FetchErrorKind) -> Self {
        Self {
            url: url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            kind,
        }
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.url;
        match &self.kind {
            FetchErrorKind::Url(invalid) => write!(f, "{invalid}"),
            FetchErrorKind::Request => write!(f, "the request to {url:?} is invalid"),
            FetchErrorKind::Http(error) => write!(f, "{url:?}: {error}"),
            FetchErrorKind::Status(status) => write!(f, "{url:?} responded with {status}"),
            FetchErrorKind::Timeout(timeout) => {
                write!(f, "{url:?} took longer than {} s", timeout.as_secs())
            }
            FetchErrorKind::Json(_) => {
                write!(f, "{url:?} responded with an unexpected document")
            }
            #[cfg(feature = "resource-server")]
            FetchErrorKind::Unusable(reason) => write!(f, "{url:?}: {reason}"),
        }
    }
}

impl std::error::Error for FetchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            FetchErrorKind::Url(invalid) => Some(invalid),
            FetchErrorKind::Http(error) => Some(error),
            FetchErrorKind::Json(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
