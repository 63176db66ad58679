//! The one way by which authorization fetches what others name: metadata, keys, answers about tokens.
//!
//! A URL from outside may point anywhere, so a fetch reaches only public addresses: the name is resolved once, every
//! address is judged, and the connection is made to the address that was judged. Redirects are followed within the
//! origin only, and size and time are bounded.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use serde::de::DeserializeOwned;
use toolwire_proto::auth::addresses::is_global;
use toolwire_proto::auth::endpoints;
use toolwire_types::auth::Secret;

use crate::client::http::{HttpClient, HttpFailure};
use crate::transport::http_client::HyperHttp;

/// How many bytes a document may have, unless told otherwise.
const DEFAULT_BYTES: usize = 256 * 1024;

/// What servers are told: some answer nobody without a name.
const OWN_NAME: &str = concat!("toolwire/", env!("CARGO_PKG_VERSION"));

/// How long a fetch may take from its beginning to its end, unless told otherwise.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Fetches documents from public places only.
#[derive(Debug, Clone)]
pub struct DocumentFetcher {
    http: Arc<dyn HttpClient>,
    bytes: usize,
    time: Duration,
}

impl DocumentFetcher {
    /// Reaches public addresses over HTTPS, without proxies.
    #[must_use]
    pub fn new() -> Self {
        Self::with_http_client(public_places(HyperHttp::new()))
    }

    /// Reaches this machine, too, also over plain HTTP: for development and tests.
    #[must_use]
    pub fn with_loopback_allowed() -> Self {
        let http = HyperHttp::new()
            .without_proxy()
            .with_address_policy(|address| {
                let ip = address.ip().to_canonical();
                ip.is_loopback() || is_global(ip)
            });
        Self::with_http_client(http)
    }

    /// Uses an HTTP stack of your own, through a proxy that guards the way out, say. Which addresses it reaches is then
    /// its business.
    #[must_use]
    pub fn with_http_client(http: impl HttpClient + 'static) -> Self {
        Self {
            http: Arc::new(http),
            bytes: DEFAULT_BYTES,
            time: DEFAULT_TIME,
        }
    }

    /// How many bytes a document may have: 256 KiB by default.
    #[must_use]
    pub fn with_size_limit(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// How long a fetch may take: 10 seconds by default.
    #[must_use]
    pub fn with_time_limit(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Fetches a JSON document.
    #[cfg(feature = "resource-server")]
    pub(crate) async fn get<T: DeserializeOwned>(&self, url: &str) -> Result<T, FetchError> {
        let fetched = self.exchange(Method::GET, url, HeaderMap::new(), Bytes::new());
        fetched.await?.document(url)
    }

    /// Sends a form and reads the JSON document that answers it.
    #[cfg(feature = "resource-server")]
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        url: &str,
        form: &Secret,
        authorization: Option<&Secret>,
    ) -> Result<T, FetchError> {
        let fetched = self.post_form(url, form, authorization, HeaderMap::new());
        fetched.await?.document(url)
    }

    /// Sends a JSON document, which may hold a secret, and reads the one that answers it.
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
        let fetched = self.exchange(Method::POST, url, headers, body);
        fetched.await?.document(url)
    }

    /// Sends a form.
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

    /// Sends a request and reads its answer, whatever its status.
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
        let own = request.headers_mut();
        own.insert(ACCEPT, HeaderValue::from_static("application/json"));
        own.insert(USER_AGENT, HeaderValue::from_static(OWN_NAME));
        let fetching = async {
            let response = self
                .http
                .send(request)
                .await
                .map_err(FetchErrorKind::Http)?;
            let (head, body) = response.into_parts();
            let body = body
                .read_whole(self.bytes)
                .await
                .map_err(FetchErrorKind::Http)?;
            Ok(FetchedDocument {
                status: head.status,
                #[cfg(feature = "oauth-client")]
                headers: head.headers,
                body,
            })
        };
        let fetched = tokio::time::timeout(self.time, fetching).await;
        fetched
            .unwrap_or(Err(FetchErrorKind::Time(self.time)))
            .map_err(|problem| FetchError::new(url, problem))
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct FetchedDocument {
    pub(crate) status: StatusCode,
    #[cfg(feature = "oauth-client")]
    pub(crate) headers: HeaderMap,
    body: Bytes,
}

impl FetchedDocument {
    /// The document of a successful answer.
    pub(crate) fn document<T: DeserializeOwned>(&self, url: &str) -> Result<T, FetchError> {
        if self.status != StatusCode::OK {
            return Err(FetchError::new(url, FetchErrorKind::Status(self.status)));
        }
        self.json(url)
    }

    /// The document about something that was made.
    #[cfg(feature = "oauth-client")]
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

    /// The document of a refusal, if it is one.
    #[cfg(any(feature = "oauth-client", feature = "oauth-proxy"))]
    pub(crate) fn refusal<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}

fn sensitive(url: &str, secret: &Secret) -> Result<HeaderValue, FetchError> {
    let mut value = HeaderValue::from_str(secret.expose())
        .map_err(|_| FetchError::new(url, FetchErrorKind::Request))?;
    value.set_sensitive(true);
    Ok(value)
}

/// An HTTP stack that reaches public addresses only. A proxy would resolve names by itself, so there is none.
fn public_places(http: HyperHttp) -> HyperHttp {
    http.without_proxy()
        .with_address_policy(|address| is_global(address.ip()))
}

impl Default for DocumentFetcher {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a document could not be fetched.
#[derive(Debug)]
pub struct FetchError {
    /// Without its query.
    url: String,
    problem: FetchErrorKind,
}

#[derive(Debug)]
enum FetchErrorKind {
    Url(endpoints::InvalidUrl),
    Request,
    Http(HttpFailure),
    Status(StatusCode),
    Time(Duration),
    Json(serde_json::Error),
    #[cfg(feature = "resource-server")]
    Unusable(String),
}

impl FetchError {
    /// What was fetched from here, or would be, is of no use.
    #[cfg(feature = "resource-server")]
    pub(crate) fn unusable(url: &str, why: String) -> Self {
        Self::new(url, FetchErrorKind::Unusable(why))
    }

    /// The status of an answer that brought no document.
    #[cfg(feature = "resource-server")]
    pub(crate) fn status(&self) -> Option<StatusCode> {
        match self.problem {
            FetchErrorKind::Status(status) => Some(status),
            _ => None,
        }
    }

    fn new(url: &str, problem: FetchErrorKind) -> Self {
        Self {
            url: url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            problem,
        }
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.url;
        match &self.problem {
            FetchErrorKind::Url(invalid) => write!(f, "{invalid}"),
            FetchErrorKind::Request => write!(f, "{url:?} cannot be asked"),
            FetchErrorKind::Http(failure) => write!(f, "{url:?}: {failure}"),
            FetchErrorKind::Status(status) => write!(f, "{url:?} answered with {status}"),
            FetchErrorKind::Time(time) => {
                write!(f, "{url:?} took longer than {} s", time.as_secs())
            }
            FetchErrorKind::Json(_) => {
                write!(f, "{url:?} answered with something else than expected")
            }
            #[cfg(feature = "resource-server")]
            FetchErrorKind::Unusable(why) => write!(f, "{url:?}: {why}"),
        }
    }
}

impl std::error::Error for FetchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            FetchErrorKind::Url(invalid) => Some(invalid),
            FetchErrorKind::Http(failure) => Some(failure),
            FetchErrorKind::Json(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
