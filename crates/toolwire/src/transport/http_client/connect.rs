//! `Client::connect`: from a URL to a link.

use std::sync::Arc;

use http::Uri;
use toolwire_proto::negotiate::Channel;

use crate::client::config::ClientLimits;
use crate::client::http::HttpClient;
use crate::client::incoming::IncomingMessages;
use crate::client::transport::{ClientTransport, Connect};
use crate::client::{Client, ClientBuilder};
use crate::engine::BoxFuture;
use crate::error::Error;
use crate::transport::http_client::authority::HostPort;
use crate::transport::http_client::endpoint::RemoteEndpoint;
use crate::transport::http_client::http_transport::HttpTransport;
use crate::transport::http_client::http_with_sse;
use crate::transport::http_client::hyper_client::HyperClient;

impl Client {
    /// Connects to a server at a URL, whatever it speaks.
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
    /// When the URL is none, the server cannot be reached, or no revision is common.
    pub async fn connect(url: impl AsRef<str>) -> Result<Self, Error> {
        ClientBuilder::default().connect(url).await
    }
}

impl ClientBuilder {
    /// Connects to a server at a URL; see [`Client::connect`].
    ///
    /// # Errors
    /// When the URL is none, the server cannot be reached, or no revision is common.
    pub async fn connect(self, url: impl AsRef<str>) -> Result<Client, Error> {
        let uri = endpoint_uri(url.as_ref())?;
        if uri.scheme_str() == Some("http")
            && self.http.headers.contains_key(http::header::AUTHORIZATION)
            && !HostPort::of(&uri).is_ok_and(|place| place.is_loopback())
        {
            tracing::warn!(host = ?uri.host(), "a token is sent over plain HTTP, where everybody on the way can read it");
        }
        let client = match self.http.client {
            Some(client) => client,
            None => Arc::new(HyperClient::new()) as Arc<dyn HttpClient>,
        };
        let user = &self.config.user_interaction;
        let layers = self.http.layers.iter().rev();
        let client = layers.fold(client, |inner, layer| layer.layer(inner, &uri, user));
        let dial = HttpConnect {
            endpoint: RemoteEndpoint {
                client,
                uri,
                headers: self.http.headers,
                message_bytes: self.config.limits.message_bytes,
            },
            limits: self.config.limits.clone(),
        };
        Client::open(self.config, Box::new(dial)).await
    }
}

/// Reads the address of an endpoint.
fn endpoint_uri(url: &str) -> Result<Uri, Error> {
    // A password and a query may be secret, so neither is repeated.
    let shown = match url.contains('@') {
        true => "this URL".to_owned(),
        false => format!("{:?}", url.split(['?', '#']).next().unwrap_or_default()),
    };
    let refuse =
        |why: &str| Error::invalid_request(format!("{shown} cannot be connected to: {why}"));
    let uri: Uri = url
        .parse()
        .map_err(|_| refuse("it is no URL; write it like https://example.com/mcp"))?;
    match (uri.scheme_str(), uri.authority()) {
        (Some("http" | "https"), Some(authority)) => match authority.as_str().contains('@') {
            true => Err(refuse("it names a user; use ClientBuilder::with_header")),
            false => Ok(uri),
        },
        (Some(_), Some(_)) => Err(refuse("only http and https are spoken")),
        _ => Err(refuse("it names no scheme; put https:// in front")),
    }
}

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

    fn open(
        &self,
        inbox: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        Box::pin(async move {
            let link = HttpTransport::new(self.endpoint.clone(), inbox, &self.limits);
            Ok(Arc::new(link) as Arc<dyn ClientTransport>)
        })
    }

    fn open_http_with_sse(
        &self,
        inbox: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        Box::pin(http_with_sse::open(&self.endpoint, inbox))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_connected_to_is_refused_without_its_secrets() {
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
        check("ftp://example.com/?key=secret", "only http and https");
        check("no url?key=secret", "it is no URL");
        check("https://me:secret@example.com/", "it names a user");
        check("https://me:sec ret@secret", "it is no URL");
    }

    #[test]
    fn an_endpoint_prints_neither_its_query_nor_its_headers() {
        let mut headers = http::HeaderMap::new();
        headers.insert("x-key", http::HeaderValue::from_static("secret"));
        let endpoint = RemoteEndpoint {
            client: Arc::new(HyperClient::new()),
            uri: "https://example.com/mcp?key=secret".parse().unwrap(),
            headers,
            message_bytes: 1,
        };
        let shown = format!("{endpoint:?}");
        assert!(shown.contains("https://example.com/mcp"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
