//! The engine that a URL names: one server, the primary that sentinels know, or a cluster.

use std::sync::atomic::{AtomicUsize, Ordering};

use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, IntoConnectionInfo as _,
    ProtocolVersion, RedisError, RedisResult, cmd,
};

use crate::connection::engine_connection::EngineConnection;
use crate::connection::engine_url::{EngineUrl, Topology};
use crate::{ConnectError, RedisOptions};

/// The engine that a URL names.
pub(crate) struct Target {
    url: EngineUrl,
    options: RedisOptions,
    config: AsyncConnectionConfig,
    /// The node of a cluster to which the next subscriber connects.
    next_node: AtomicUsize,
}

impl Target {
    pub(crate) fn new(url: &str, options: &RedisOptions) -> Result<Self, ConnectError> {
        let target = Self {
            url: EngineUrl::parse(url)?,
            options: options.clone(),
            config: AsyncConnectionConfig::new()
                .set_connection_timeout(Some(options.connect_timeout))
                .set_response_timeout(Some(options.response_timeout)),
            next_node: AtomicUsize::new(0),
        };
        // Reports invalid hosts, passwords and certificates now.
        for server in target.url.servers() {
            let client = target.client(&server, None);
            client.map_err(ConnectError::invalid_url)?;
        }
        Ok(target)
    }

    /// Returns `true` if the engine is a cluster.
    pub(crate) fn is_cluster(&self) -> bool {
        self.url.topology == Topology::Cluster
    }

    /// Opens a connection for commands.
    pub(crate) async fn connect(&self) -> RedisResult<EngineConnection> {
        if self.is_cluster() {
            let connection = self.cluster()?.get_async_connection().await?;
            return Ok(EngineConnection::Cluster(connection));
        }
        let client = self.client(&self.server().await?, None)?;
        let connection = client
            .get_multiplexed_async_connection_with_config(&self.config)
            .await?;
        Ok(EngineConnection::Server(connection))
    }

    /// Opens a connection on which published messages arrive. In a cluster, each node gets all of them, so any node
    /// serves.
    pub(crate) async fn connect_subscriber(
        &self,
        configure: impl FnOnce(AsyncConnectionConfig) -> AsyncConnectionConfig,
    ) -> RedisResult<MultiplexedConnection> {
        // Messages arrive on the connection of the commands only in this version of the protocol.
        let client = self.client(&self.server().await?, Some(ProtocolVersion::RESP3))?;
        client
            .get_multiplexed_async_connection_with_config(&configure(self.config.clone()))
            .await
    }

    /// Returns the number of nodes that a subscriber can connect to.
    pub(crate) fn subscriber_nodes(&self) -> usize {
        match &self.url.topology {
            Topology::Cluster => self.url.servers().len().max(1),
            Topology::Server | Topology::Sentinel { .. } => 1,
        }
    }

    /// Lets the next subscriber connect to another node of a cluster.
    pub(crate) fn skip_node(&self) {
        self.next_node.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the URL of the server to connect to.
    async fn server(&self) -> RedisResult<String> {
        match &self.url.topology {
            Topology::Server => Ok(self.url.first_server()),
            Topology::Cluster => {
                let number = self.next_node.load(Ordering::Relaxed);
                let servers = self.url.servers();
                let server = servers.get(number % servers.len().max(1));
                Ok(server.cloned().unwrap_or_default())
            }
            Topology::Sentinel { service } => self.primary(service).await,
        }
    }

    /// Asks the sentinels for the primary of a service. The first one that knows it decides.
    async fn primary(&self, service: &str) -> RedisResult<String> {
        let mut last_error = None;
        for sentinel in self
            .url
            .sentinels(self.options.sentinel_password.as_deref())
        {
            match self.ask_sentinel(&sentinel, service).await {
                Ok(Some((host, port))) => return Ok(self.url.server_at(&host, port)),
                Ok(None) => {
                    last_error = Some(RedisError::from((
                        ErrorKind::InvalidClientConfig,
                        "the sentinel does not know the service",
                        service.to_owned(),
                    )));
                }
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.unwrap_or_else(|| {
            RedisError::from((ErrorKind::InvalidClientConfig, "the URL has no sentinel"))
        }))
    }

    async fn ask_sentinel(
        &self,
        sentinel: &str,
        service: &str,
    ) -> RedisResult<Option<(String, u16)>> {
        let client = self.client(sentinel, None)?;
        let mut connection = client
            .get_multiplexed_async_connection_with_config(&self.config)
            .await?;
        let mut ask = cmd("SENTINEL");
        ask.arg("GET-MASTER-ADDR-BY-NAME").arg(service);
        ask.query_async(&mut connection).await
    }

    fn cluster(&self) -> RedisResult<ClusterClient> {
        let servers = self.url.servers();
        let infos: RedisResult<Vec<ConnectionInfo>> = servers
            .iter()
            .map(|url| url.as_str().into_connection_info())
            .collect();
        let timeout = self.options.response_timeout;
        let builder = ClusterClient::builder(infos?)
            .connection_timeout(self.options.connect_timeout)
            .response_timeout(timeout)
            // A request may wait until the connection knows the primaries again.
            .overall_response_timeout(Some(timeout * 2))
            // The library would also repeat requests that may have been executed.
            .retries(0);
        #[cfg(feature = "tls")]
        let builder = match self.options.tls.certificates() {
            Some(certificates) if self.url.is_encrypted => builder.certs(certificates),
            _ => builder,
        };
        builder.build()
    }

    fn client(&self, url: &str, protocol: Option<ProtocolVersion>) -> RedisResult<Client> {
        let mut info = url.into_connection_info()?;
        if let Some(protocol) = protocol {
            let settings = info.redis_settings().clone();
            info = info.set_redis_settings(settings.set_protocol(protocol));
        }
        #[cfg(feature = "tls")]
        if self.url.is_encrypted {
            crate::tls::install_provider();
            if let Some(certificates) = self.options.tls.certificates() {
                return Client::build_with_tls(info, certificates);
            }
        }
        Client::open(info)
    }
}
