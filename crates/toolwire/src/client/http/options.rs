//! What is decided about HTTP before a client connects.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::client::ClientBuilder;
use crate::client::http::HttpClient;
use crate::client::user_interaction::UserInteraction;
use crate::error::Error;

/// The HTTP part of a builder.
#[derive(Clone, Default)]
pub(crate) struct HttpClientOptions {
    /// Who speaks HTTP; the stack that comes with toolwire when nothing is said.
    pub(crate) client: Option<Arc<dyn HttpClient>>,
    /// What is put around it for the endpoint it speaks to.
    pub(crate) layer: Option<HttpLayer>,
    /// Headers that go with every request.
    pub(crate) headers: HeaderMap,
}

/// Makes an HTTP stack of another, for one endpoint.
pub(crate) type HttpLayer =
    Arc<dyn Fn(Arc<dyn HttpClient>, &Uri, &UserInteraction) -> Arc<dyn HttpClient> + Send + Sync>;

impl ClientBuilder {
    /// Lets something else speak HTTP: a configured [`HyperClient`](crate::transport::http_client::HyperClient), or a test.
    pub fn with_http_client(mut self, client: impl HttpClient) -> Self {
        self.http.client = Some(Arc::new(client));
        self
    }

    /// Sends a header with every HTTP request. The protocol's own headers always win.
    ///
    /// # Errors
    /// When the name or the value is none HTTP can carry.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let refuse = |what: &str| {
            Error::invalid_request(format!(
                "{name:?} cannot be sent: its {what} is no HTTP header {what}"
            ))
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse("name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refuse("value"))?;
        // Whatever it is, it may be a secret.
        value.set_sensitive(true);
        self.http.headers.append(name, value);
        Ok(self)
    }

    /// Sends `Authorization: Bearer` with every HTTP request.
    ///
    /// # Errors
    /// When the token has characters that no header can carry.
    pub fn with_bearer_token(self, token: &str) -> Result<Self, Error> {
        self.with_header("authorization", &format!("Bearer {token}"))
    }
}

impl fmt::Debug for HttpClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClientOptions")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
