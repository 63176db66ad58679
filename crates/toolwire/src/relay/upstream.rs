//! The upstream server: how it is reached, and the connections to it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::features::Era;
use toolwire_types::RawJson;

use crate::client::{Client, ClientBuilder};
use crate::engine::BoxFuture;
use crate::error::Error;
use crate::relay::connection::UpstreamConnection;
use crate::relay::forwarder::Relay;
use crate::relay::messages::UpstreamMessages;

/// How long a request may take by default without a message of the upstream server that belongs to it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

type ConnectClient =
    dyn Fn(ClientBuilder) -> BoxFuture<'static, Result<Client, Error>> + Send + Sync;

/// A server that a relay forwards to.
///
/// Clones reach the same server, over connections of their own.
#[derive(Clone)]
pub struct Upstream {
    connect: Arc<ConnectClient>,
    builder: ClientBuilder,
    pub(super) timeout: Duration,
}

impl Upstream {
    /// Creates an upstream that `connect` opens connections to, with the builder that it gets.
    ///
    /// The relay calls it for each connection: one for all modern requests, and one for each session of a legacy client.
    pub fn new<F, Fut>(connect: F) -> Self
    where
        F: Fn(ClientBuilder) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Client, Error>> + Send + 'static,
    {
        Self {
            connect: Arc::new(move |builder| Box::pin(connect(builder))),
            builder: ClientBuilder::new("toolwire-relay", env!("CARGO_PKG_VERSION")),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Sets the options of the connections, such as their limits. Handlers of the builder are never called, so set none.
    #[must_use]
    pub fn with_builder(mut self, builder: ClientBuilder) -> Self {
        self.builder = builder;
        self
    }

    /// Sets how long a request may take without a message of the upstream server that belongs to it. Subscriptions have
    /// no such limit. Default: 10 min.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Creates a transparent relay to this server.
    #[must_use]
    pub fn relay(self) -> Relay {
        Relay::new(self)
    }

    /// Opens a legacy session with these parameters of `initialize`.
    pub(super) async fn open_legacy(
        &self,
        initialize: RawJson,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        let builder = self.builder.clone().with_era(Era::Legacy);
        let builder = builder.with_initialize_params(initialize);
        self.open(builder, messages).await
    }

    /// Opens a connection for modern requests. If the server is legacy, the connection is a session without capabilities,
    /// whose initialization the caller ends.
    pub(super) async fn open_shared(
        &self,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        self.open(self.builder.clone(), messages).await
    }

    async fn open(
        &self,
        builder: ClientBuilder,
        messages: Arc<UpstreamMessages>,
    ) -> Result<UpstreamConnection, Error> {
        let relay = Arc::clone(&messages);
        let client = (self.connect)(builder.with_relay(relay)).await?;
        Ok(UpstreamConnection {
            client,
            messages,
            timeout: self.timeout,
        })
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
