//! Fetches untrusted URLs for authorization: metadata, keys, and introspection responses.
//!
//! [`GuardedFetcher`] checks the addresses and limits size and time. Redirects are followed only within the origin.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use serde::de::DeserializeOwned;
use toolwire::transport::http_client::{GuardedFetcher, HttpClient, HttpError};

use crate::documents::Secret;
use crate::rules::endpoints;

/// The `User-Agent` header. Some servers reject requests without one.
const USER_AGENT_VALUE: &str = concat!("toolwire/", env!("CARGO_PKG_VERSION"));

/// A client that fetches documents from public addresses only.
#[derive(Debug, Clone)]
pub struct DocumentFetcher(GuardedFetcher);

impl DocumentFetcher {
    /// Creates a fetcher for public addresses over HTTPS, without proxies.
    #[must_use]
    pub fn new() -> Self {
        Self::from_guarded(GuardedFetcher::new())
    }

    /// Creates a fetcher that also reaches this machine, including over plain HTTP. For development and tests.
    #[must_use]
    pub fn with_loopback_allowed() -> Self {
        Self::from_guarded(GuardedFetcher::with_loopback_allowed())
    }

    /// Creates a fetcher over a custom HTTP client, for example through an egress proxy. That client then decides which
    /// addresses are reachable.
    #[must_use]
    pub fn with_http_client(http: impl HttpClient + 'static) -> Self {
        Self::from_guarded(GuardedFetcher::with_http_client(http))
    }

    fn from_guarded(fetcher: GuardedFetcher) -> Self {
        Self(fetcher.with_redirects_within_origin())
    }

    /// Sets the maximum size of a document. Default: 256 KiB.
    #[must_use]
    pub fn with_size_limit(self, bytes: usize) -> Self {
        Self(self.0.with_size_limit(bytes))
    }

    /// Sets the timeout of a fetch. Default: 10 s.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self(self.0.with_timeout(timeout))
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
        let response = self.0.send(request).await;
        let (head, body) = response
            .map_err(|error| FetchError::new(url, FetchErrorKind::Http(error)))?
            .into_parts();
        Ok(FetchedDocument {
            status: head.status,
            #[cfg(feature = "client")]
            headers: head.headers,
            body,
        })
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
