//! The HTTP options of a client builder.

use std::fmt;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::client::ClientBuilder;
use crate::client::http::{HttpClient, HttpLayer};
use crate::error::Error;

/// The HTTP options of a [`ClientBuilder`].
#[derive(Clone, Default)]
pub(crate) struct HttpClientOptions {
    /// The HTTP client. Default: a `HyperClient`.
    pub(crate) client: Option<Arc<dyn HttpClient>>,
    /// The layers around the client. The first one is the outermost.
    pub(crate) layers: Vec<Arc<dyn HttpLayer>>,
    /// The headers of every request.
    pub(crate) headers: HeaderMap,
}

impl ClientBuilder {
    /// Sets the HTTP client, for example a configured [`HyperClient`](crate::transport::http_client::HyperClient) or a
    /// test double.
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

    /// Sends a header with every HTTP request. The headers of the protocol replace headers of the same name.
    ///
    /// # Errors
    /// Returns an error if the name or the value is not valid in HTTP.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let invalid = |what: &str| {
            Error::invalid_request(format!(
                "the header {name:?} cannot be sent: its {what} is not valid in HTTP"
            ))
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| invalid("value"))?;
        // Any header may contain a secret.
        value.set_sensitive(true);
        if name == AUTHORIZATION {
            // A request has at most one of these.
            self.http.headers.insert(name, value);
        } else {
            self.http.headers.append(name, value);
        }
        Ok(self)
    }

    /// Sends `Authorization: Bearer` with every HTTP request. It replaces an earlier token.
    ///
    /// ```no_run
    /// # async fn connect(token: &str) -> Result<(), toolwire::Error> {
    /// let client = toolwire::Client::builder("my-agent", "1.0.0")
    ///     .with_bearer_token(token)?
    ///     .with_header("x-tenant", "acme")?
    ///     .connect("https://example.com/mcp")
    ///     .await?;
    /// # drop(client);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the token has characters that are not valid in a header.
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
