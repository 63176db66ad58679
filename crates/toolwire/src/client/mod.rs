//! Clients for servers of any era, over any transport.
//!
//! A [`Client`] is a cheap handle; its clones share one connection. It detects the era of the server when it connects.
//! This module handles neither bytes nor sockets: the `ClientTransport` of a transport does.

mod arguments;
mod builder;
pub mod cache;
mod cache_methods;
mod call;
pub(crate) mod config;
mod connect;
mod connect_deadline;
mod connection_ends;
#[cfg(feature = "events")]
mod events;
#[cfg(test)]
mod fake_transport;
mod handlers;
#[cfg(feature = "http-client")]
pub(crate) mod http;
pub(crate) mod incoming;
mod list;
mod listen;
mod listen_queue;
pub(crate) mod message_router;
mod methods;
pub mod middleware;
#[cfg(feature = "schema-validation")]
mod output_schema;
pub(crate) mod pending_sends;
mod progress;
#[cfg(feature = "relay")]
pub(crate) mod relay;
#[cfg(feature = "relay")]
pub(crate) mod relay_messages;
mod resource_listener;
mod run;
pub(crate) mod send;
mod session;
#[cfg(feature = "skills")]
mod skills;
pub(crate) mod stream_transport;
mod subscribed_resources;
mod tasks;
mod tools;
pub(crate) mod transport;
#[cfg_attr(
    not(feature = "http-client"),
    allow(
        dead_code,
        unreachable_pub,
        reason = "only HTTP layers interact with users"
    )
)]
pub(crate) mod user_interaction;
#[cfg(feature = "apps")]
mod views;
#[cfg(all(feature = "events", feature = "http-client"))]
mod webhooks;
pub(crate) mod wire_listeners;

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use toolwire_proto::negotiate::DetectedEra;
use toolwire_types::{LoggingLevel, ProtocolVersion};

use crate::client::cache::Cache;
use crate::client::config::ClientConfig;
use crate::client::connect::Connecting;
use crate::client::handlers::ClientHandlers;
use crate::client::pending_sends::PendingSends;
use crate::client::session::ActiveConnection;
use crate::client::subscribed_resources::SubscribedResources;
use crate::client::tools::KnownTools;
use crate::client::transport::Connect;
use crate::engine::ConnectionInfo;
use crate::error::Error;
use crate::sync::lock;

pub use builder::ClientBuilder;
pub use cache::CacheMode;
pub use call::{Call, ProgressStream};
pub use config::ClientLimits;
#[cfg(feature = "events")]
pub use events::{EventItem, EventSubscription, EventSubscriptionState, SubscribeEvents};
pub use list::ListCall;
pub use listen::Subscription;
pub use session::ServerDetails;
#[cfg(feature = "skills")]
pub use skills::LoadedSkill;
#[cfg(feature = "tasks")]
pub use tasks::{Called, TaskHandle};
#[cfg(all(feature = "events", feature = "http-client"))]
pub use webhooks::{WebhookEvent, WebhookItem, WebhookReceiver, WebhookSubscription};
pub use wire_listeners::WireMessage;

/// A connection to one server. Clones share it. It ends with the last clone or with [`close`](Self::close).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolwire::Error> {
/// use serde_json::json;
/// use toolwire::{Client, Server, tool};
///
/// /// Adds two integers.
/// #[tool]
/// async fn add(a: i64, b: i64) -> i64 { a + b }
///
/// let server = Server::new("demo", "1.0.0").tool(add);
/// let client = Client::in_process(&server).await?;
/// assert_eq!(client.list_tools().await?[0].name, "add");
/// let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await?;
/// assert_eq!(sum.content[0].as_text(), Some("3"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[doc(alias = "ClientSession", alias = "McpClient")]
pub struct Client {
    pub(crate) shared: Arc<ClientInner>,
}

pub(crate) struct ClientInner {
    config: ClientConfig,
    connector: Box<dyn Connect>,
    connection: Arc<ConnectionInfo>,
    handlers: Arc<ClientHandlers>,
    skipped: Arc<AtomicU64>,
    cache: Arc<Cache>,
    session: Mutex<Arc<ActiveConnection>>,
    /// Permits one new session at a time.
    renewing: tokio::sync::Mutex<()>,
    next_id: AtomicI64,
    call_permits: Semaphore,
    log_level: Mutex<Option<LoggingLevel>>,
    tools: KnownTools,
    /// The cancellations of the tasks of dropped calls.
    task_cancellations: PendingSends,
    #[cfg(feature = "schema-validation")]
    output_checks: output_schema::OutputChecks,
    /// The resources with listeners, in revisions that subscribe to single resources.
    subscribed_resources: SubscribedResources,
}

impl Client {
    /// Returns a builder for a client with this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name, version)
    }

    /// Opens a connection through a connector.
    pub(crate) async fn open(
        config: ClientConfig,
        connector: Box<dyn Connect>,
    ) -> Result<Self, Error> {
        let cache = Arc::new(Cache::new(&config.cache, connector.name()));
        let connection = Arc::new(connector.connection_info());
        let handlers = Arc::new(config.handlers.clone());
        let skipped = Arc::default();
        let next_id = AtomicI64::new(1);
        let connecting = Connecting {
            config: &config,
            connector: &*connector,
            connection: &connection,
            handlers: &handlers,
            cache: &cache,
            ids: &next_id,
            skipped: &skipped,
        };
        let session = connecting.establish(config.detected_era).await?;
        let call_permits = Semaphore::new(config.limits.calls_in_flight);
        #[cfg(feature = "schema-validation")]
        let output_checks = output_schema::OutputChecks::new(&config.limits);
        Ok(Self {
            shared: Arc::new(ClientInner {
                config,
                connector,
                connection,
                handlers,
                skipped,
                cache,
                session: Mutex::new(Arc::new(session)),
                renewing: tokio::sync::Mutex::default(),
                next_id,
                call_permits,
                log_level: Mutex::default(),
                tools: KnownTools::default(),
                task_cancellations: PendingSends::default(),
                #[cfg(feature = "schema-validation")]
                output_checks,
                subscribed_resources: SubscribedResources::default(),
            }),
        })
    }

    /// Returns the negotiated protocol version.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        lock(&self.shared.session).version()
    }

    /// Returns the detected era of the server. Store it for [`ClientBuilder::with_detected_era`].
    #[must_use]
    pub fn detected_era(&self) -> DetectedEra {
        self.session().era
    }

    /// Returns `true` if the server did not survive the probe of this client, or did not respond to it in time.
    ///
    /// Detection of such a server takes seconds. A program that starts it often can store its
    /// [`detected_era`](Self::detected_era). Clients of the same process do that by themselves, for each
    /// [`ServerCommand`](crate::ServerCommand).
    #[must_use]
    pub fn probe_failed(&self) -> bool {
        self.session().probe_failed
    }

    /// Returns the details of the server. Returns `None` if the client was given a detected era and did not probe.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerDetails>> {
        self.session().server.clone()
    }

    /// Returns the number of ignored messages: unreadable lines, responses without a pending call, and requests of a
    /// modern server.
    #[must_use]
    pub fn ignored_messages(&self) -> u64 {
        self.shared.skipped.load(Ordering::Relaxed)
    }

    /// Returns the number of pending calls, server requests, listeners and progress routes. It is 0 for an idle client.
    #[must_use]
    pub fn pending_operations(&self) -> usize {
        let session = self.session();
        session.incoming.open_entries() + session.transport.open_entries()
    }

    /// Closes the connection and waits until its resources are released.
    ///
    /// Cancellations of dropped calls are delivered first. A child process is asked to exit and is reaped, and a legacy
    /// session is deleted. Calls in flight fail.
    pub async fn close(&self) {
        let session = self.session();
        let grace = self.shared.config.limits.exit_grace;
        self.shared.task_cancellations.sent(grace).await;
        session.transport.close().await;
        session.incoming.close();
        session.ends.run();
    }

    pub(crate) fn session(&self) -> Arc<ActiveConnection> {
        Arc::clone(&lock(&self.shared.session))
    }

    fn subscribed_resources(&self) -> &SubscribedResources {
        &self.shared.subscribed_resources
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        *lock(&self.shared.log_level)
    }

    fn store_log_level(&self, level: Option<LoggingLevel>) {
        *lock(&self.shared.log_level) = level;
    }

    /// Detects the era again, if the given detected era turns out to be wrong.
    async fn detect_era_again(
        &self,
        used: &Arc<ActiveConnection>,
        error: &Error,
    ) -> Result<Option<Arc<ActiveConnection>>, Error> {
        // The era is certain if the server sent its details in this session.
        if used.server.is_some() || !contradicts_detected_era(error) {
            return Ok(None);
        }
        let _guard = self.shared.renewing.lock().await;
        let current = self.session();
        if !Arc::ptr_eq(&current, used) {
            return Ok(Some(current));
        }
        let connecting = Connecting {
            config: &self.shared.config,
            connector: &*self.shared.connector,
            connection: &self.shared.connection,
            handlers: &self.shared.handlers,
            cache: &self.shared.cache,
            ids: &self.shared.next_id,
            skipped: &self.shared.skipped,
        };
        let session = Arc::new(connecting.establish(None).await?);
        let mut active = lock(&self.shared.session);
        *active = Arc::clone(&session);
        Ok(Some(session))
    }
}

/// Returns `true` if an error may mean that the server does not support the assumed version.
fn contradicts_detected_era(error: &Error) -> bool {
    error.is_http_with_sse()
        || toolwire_proto::negotiate::contradicts_era(error.http_status(), error.rpc())
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.connector)
            .field("detected_era", &self.detected_era())
            .finish_non_exhaustive()
    }
}
