//! What is decided about HTTP before a client connects.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::client::ClientBuilder;
use crate::client::http::{HttpClient, HttpLayer};
use crate::error::Error;

/// The HTTP part of a builder.
#[derive(Clone, Default)]
pub(crate) struct HttpClientOptions {
    /// Who speaks HTTP; the stack that comes with toolwire when nothing is said.
    pub(crate) client: Option<Arc<dyn HttpClient>>,
    /// The layers around the client. The first one is the outermost.
    pub(crate) layers: Vec<Arc<dyn HttpLayer>>,
    /// Headers that go with every request.
    pub(crate) headers: HeaderMap,
}

impl ClientBuilder {
    /// Lets something else speak HTTP: a configured [`HyperClient`](crate::transport::http_client::HyperClient), or a test.
    pub fn with_http_client(mut self, client: impl HttpClient) -> Self {
        self.http.client = Some(Arc::new(client));
        self
    }

    /// Wraps the HTTP client, for example to get and add access tokens. The first layer is the outermost.
    ///
    /// The client declares the extensions of the layer.
    pub fn with_http_layer(mut self, layer: impl HttpLayer) -> Self {
        for (id, settings) in layer.extensions() {
            self = self.with_extension(id, settings);
        }
        self.http.layers.push(Arc::new(layer));
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
