//! Connects a client to the URL of a server.

use std::sync::Arc;

use http::Uri;
use toolwire_proto::negotiate::Channel;

use crate::client::config::ClientLimits;
use crate::client::http::HttpClient;
use crate::client::incoming::IncomingMessages;
use crate::client::transport::{ClientTransport, Connect};
use crate::client::wire_listeners::WireListeners;
use crate::client::{Client, ClientBuilder};
use crate::engine::{BoxFuture, ConnectionInfo};
use crate::error::Error;
use crate::transport::http_client::authority::HostPort;
use crate::transport::http_client::endpoint::RemoteEndpoint;
use crate::transport::http_client::http_transport::HttpTransport;
use crate::transport::http_client::http_with_sse;
use crate::transport::http_client::hyper_client::HyperClient;

impl Client {
    /// Connects to the server at a URL. Detects the transport and the protocol version.
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), toolwire::Error> {
    /// let client = toolwire::Client::connect("https://example.com/mcp").await?;
    /// for tool in client.list_tools().await? {
    ///     println!("{}", tool.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the URL is invalid, the server cannot be reached, or there is no common protocol version.
    #[doc(alias = "StreamableHTTPClientTransport")]
    #[doc(alias = "streamablehttp_client")]
    pub async fn connect(url: impl AsRef<str>) -> Result<Self, Error> {
        ClientBuilder::default().connect(url).await
    }
}

impl ClientBuilder {
    /// Connects to the server at a URL, see [`Client::connect`].
    ///
    /// # Errors
    /// Returns an error if the URL is invalid, the server cannot be reached, or there is no common protocol version.
    pub async fn connect(self, url: impl AsRef<str>) -> Result<Client, Error> {
        let uri = endpoint_uri(url.as_ref())?;
        if uri.scheme_str() == Some("http")
            && self.http.headers.contains_key(http::header::AUTHORIZATION)
            && !HostPort::of(&uri).is_ok_and(|host_port| host_port.is_loopback())
        {
            tracing::warn!(host = ?uri.host(), "a token is sent over plain HTTP, without encryption");
        }
        let client = match self.http.client {
            Some(client) => client,
            None => Arc::new(HyperClient::new()) as Arc<dyn HttpClient>,
        };
        let user = &self.config.user_interaction;
        let layers = self.http.layers.iter().rev();
        let client = layers.fold(client, |inner, layer| layer.layer(inner, &uri, user));
        let connector = HttpConnect {
            endpoint: RemoteEndpoint {
                client,
                uri,
                headers: self.http.headers,
                message_bytes: self.config.limits.message_bytes,
                wire: WireListeners::default(),
            },
            limits: self.config.limits.clone(),
        };
        Client::open(self.config, Box::new(connector)).await
    }
}

/// Parses the URL of an endpoint.
fn endpoint_uri(url: &str) -> Result<Uri, Error> {
    // The error shows neither a password nor a query, because both may be secret.
    let shown = if url.contains('@') {
        "this URL".to_owned()
    } else {
        format!("{:?}", url.split(['?', '#']).next().unwrap_or_default())
    };
    let invalid =
        |why: &str| Error::invalid_request(format!("{shown} cannot be connected to: {why}"));
    let uri: Uri = url
        .parse()
        .map_err(|_| invalid("it is not a valid URL; write it like https://example.com/mcp"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(authority)) => {
            if authority.as_str().contains('@') {
                Err(invalid(
                    "it contains credentials; use ClientBuilder::with_header",
                ))
            } else {
                Ok(uri)
            }
        }
        (Some(_), Some(_)) => Err(invalid("its scheme is neither http nor https")),
        _ => Err(invalid("it has no scheme; put https:// in front")),
    }
}

/// Opens transports to one endpoint.
#[derive(Debug)]
struct HttpConnect {
    endpoint: RemoteEndpoint,
    limits: ClientLimits,
}

impl Connect for HttpConnect {
    fn channel(&self) -> Channel {
        Channel::Http
    }

    fn name(&self) -> String {
        self.endpoint.uri.to_string()
    }

    fn connection_info(&self) -> ConnectionInfo {
        let server = HostPort::of(&self.endpoint.uri).ok();
        ConnectionInfo {
            peer_address: server.as_ref().map(|server| server.name().to_owned()),
            peer_port: server.map(|server| server.port()),
            ..ConnectionInfo::http()
        }
    }

    fn open(
        &self,
        incoming: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        Box::pin(async move {
            let transport = HttpTransport::new(self.endpoint.clone(), incoming, &self.limits);
            Ok(Arc::new(transport) as Arc<dyn ClientTransport>)
        })
    }

    fn open_http_with_sse(
        &self,
        incoming: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        let grace = self.limits.exit_grace;
        Box::pin(http_with_sse::open(&self.endpoint, incoming, grace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_for_an_invalid_url_shows_no_secrets() {
        let check = |url: &str, expected: &str| {
            let shown =
                endpoint_uri(url).map_or_else(|error| error.to_string(), |uri| uri.to_string());
            assert!(shown.contains(expected), "{url}: {shown}");
            assert!(!shown.contains("secret"), "{url}: {shown}");
        };
        check("https://example.com/mcp", "https://example.com/mcp");
        check("http://[::1]:3000/mcp", "http://[::1]:3000/mcp");
        check("example.com/mcp", "like https://example.com/mcp");
        check("example.com", "put https:// in front");
        check("ftp://example.com/?key=secret", "neither http nor https");
        check("no url?key=secret", "it is not a valid URL");
        check("https://me:secret@example.com/", "it contains credentials");
        check("https://me:sec ret@secret", "it is not a valid URL");
    }

    #[test]
    fn debug_output_of_an_endpoint_has_neither_query_nor_headers() {
        let mut headers = http::HeaderMap::new();
        headers.insert("x-key", http::HeaderValue::from_static("secret"));
        let endpoint = RemoteEndpoint {
            client: Arc::new(HyperClient::new()),
            uri: "https://example.com/mcp?key=secret".parse().unwrap(),
            headers,
            message_bytes: 1,
            wire: WireListeners::default(),
        };
        let shown = format!("{endpoint:?}");
        assert!(shown.contains("https://example.com/mcp"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
