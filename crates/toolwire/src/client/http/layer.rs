//! Layers around the HTTP client.

use std::fmt::Debug;
use std::sync::Arc;

use http::Uri;
use toolwire_types::RawJson;

use crate::client::http::HttpClient;
use crate::client::user_interaction::UserInteraction;

/// Wraps the HTTP client of one endpoint, for example to add credentials and to retry after 401 or 403.
///
/// Pass it to [`ClientBuilder::with_http_layer`](crate::ClientBuilder::with_http_layer).
///
/// ```
/// use std::sync::Arc;
///
/// use bytes::Bytes;
/// use http::{HeaderValue, Request, Response, Uri};
/// use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError, HttpLayer, UserInteraction};
/// use toolwire::{BoxFuture, Client};
///
/// /// Adds a header to each request.
/// #[derive(Debug)]
/// struct AddTenant(HeaderValue);
///
/// #[derive(Debug)]
/// struct TenantClient {
///     inner: Arc<dyn HttpClient>,
///     tenant: HeaderValue,
/// }
///
/// impl HttpClient for TenantClient {
///     fn send(&self, mut request: Request<Bytes>) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
///         request.headers_mut().insert("x-tenant", self.tenant.clone());
///         self.inner.send(request)
///     }
/// }
///
/// impl HttpLayer for AddTenant {
///     fn layer(&self, inner: Arc<dyn HttpClient>, _: &Uri, _: &UserInteraction) -> Arc<dyn HttpClient> {
///         Arc::new(TenantClient { inner, tenant: self.0.clone() })
///     }
/// }
///
/// let builder = Client::builder("my-app", "1.0.0").with_http_layer(AddTenant(HeaderValue::from_static("blue")));
/// ```
pub trait HttpLayer: Send + Sync + Debug + 'static {
    /// Returns the client that sends requests to `endpoint`.
    fn layer(
        &self,
        inner: Arc<dyn HttpClient>,
        endpoint: &Uri,
        user: &UserInteraction,
    ) -> Arc<dyn HttpClient>;

    /// Returns the protocol extensions that the client declares if this layer is used. Default: none.
    fn extensions(&self) -> Vec<(String, RawJson)> {
        Vec::new()
    }
}

impl<L: HttpLayer + ?Sized> HttpLayer for Arc<L> {
    fn layer(
        &self,
        inner: Arc<dyn HttpClient>,
        endpoint: &Uri,
        user: &UserInteraction,
    ) -> Arc<dyn HttpClient> {
        L::layer(self, inner, endpoint, user)
    }

    fn extensions(&self) -> Vec<(String, RawJson)> {
        L::extensions(self)
    }
}
