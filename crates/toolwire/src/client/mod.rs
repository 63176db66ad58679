//! Clients: calls to any server, in any era, over any transport.
//!
//! A [`Client`] is a cheap handle; its clones share one connection. What the server speaks is found out when it
//! connects. This floor knows no bytes and no sockets: a transport gives it a link.

mod builder;
pub mod cache;
mod call;
pub(crate) mod config;
mod connect;
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
#[cfg(feature = "schema-validation")]
mod output_schema;
mod progress;
mod run;
pub(crate) mod send;
mod session;
pub(crate) mod stream_transport;
mod tools;
pub(crate) mod transport;
pub(crate) mod user_interaction;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use toolwire_proto::negotiate::DetectedEra;
use toolwire_types::{LoggingLevel, ProtocolVersion};

use crate::client::cache::Cache;
use crate::client::config::ClientConfig;
use crate::client::connect::Connecting;
use crate::client::handlers::ClientHandlers;
use crate::client::session::ActiveConnection;
use crate::client::tools::KnownTools;
use crate::client::transport::Connect;
use crate::error::Error;

pub use builder::ClientBuilder;
pub use cache::CacheMode;
pub use call::{Call, ProgressStream};
pub use config::ClientLimits;
pub use list::ListCall;
pub use listen::Subscription;
pub use session::ServerDetails;

/// A connection to one server. Clones share it; it ends with the last of them, or with [`close`](Self::close).
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
pub struct Client {
    pub(crate) shared: Arc<ClientInner>,
}

pub(crate) struct ClientInner {
    config: ClientConfig,
    dial: Box<dyn Connect>,
    handlers: Arc<ClientHandlers>,
    skipped: Arc<AtomicU64>,
    cache: Arc<Cache>,
    session: Mutex<Arc<ActiveConnection>>,
    /// One new session at a time.
    renewing: tokio::sync::Mutex<()>,
    next_id: AtomicI64,
    turns: Semaphore,
    log_level: Mutex<Option<LoggingLevel>>,
    tools: KnownTools,
    #[cfg(feature = "schema-validation")]
    output_checks: output_schema::OutputChecks,
    /// How many listeners each resource has, in revisions that subscribe to resources one by one.
    subscribers: Mutex<HashMap<String, usize>>,
}

impl Client {
    /// A client to be configured, with the name and version it introduces itself with.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name, version)
    }

    /// Connects in the way of a transport.
    pub(crate) async fn open(config: ClientConfig, dial: Box<dyn Connect>) -> Result<Self, Error> {
        let cache = Arc::new(Cache::new(&config.cache, dial.name()));
        let handlers = Arc::new(config.handlers.clone());
        let skipped = Arc::default();
        let next_id = AtomicI64::new(1);
        let opening = Connecting {
            config: &config,
            dial: &*dial,
            handlers: &handlers,
            cache: &cache,
            ids: &next_id,
            skipped: &skipped,
        };
        let session = opening.establish(config.known).await?;
        let turns = Semaphore::new(config.limits.calls_in_flight);
        #[cfg(feature = "schema-validation")]
        let output_checks = output_schema::OutputChecks::new(&config.limits);
        Ok(Self {
            shared: Arc::new(ClientInner {
                config,
                dial,
                handlers,
                skipped,
                cache,
                session: Mutex::new(Arc::new(session)),
                renewing: tokio::sync::Mutex::default(),
                next_id,
                turns,
                log_level: Mutex::default(),
                tools: KnownTools::default(),
                #[cfg(feature = "schema-validation")]
                output_checks,
                subscribers: Mutex::default(),
            }),
        })
    }

    /// The revision that is spoken.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        let session = self.shared.session.lock();
        session.unwrap_or_else(PoisonError::into_inner).version()
    }

    /// What was found out about the server's era; keep it for [`ClientBuilder::with_detected_era`].
    #[must_use]
    pub fn detected_era(&self) -> DetectedEra {
        self.session().verdict
    }

    /// What the server said of itself; `None` when the client started from a verdict and never asked.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerDetails>> {
        self.session().server.clone()
    }

    /// How many messages of the server were ignored: unreadable lines, answers nobody waits for, requests of a modern
    /// server.
    #[must_use]
    pub fn ignored_messages(&self) -> u64 {
        self.shared.skipped.load(Ordering::Relaxed)
    }

    /// How many calls, questions of the server, listeners and progress routes are open. Nothing is, when nothing runs.
    #[must_use]
    pub fn pending_operations(&self) -> usize {
        let session = self.session();
        session.inbox.open_entries() + session.link.open_entries()
    }

    /// Ends the connection and waits until everything that belongs to it is gone: a child process is asked to end and
    /// reaped, a legacy session is deleted. Calls that still run fail.
    pub async fn close(&self) {
        let session = self.session();
        session.link.close().await;
        session.inbox.closed();
    }

    pub(crate) fn session(&self) -> Arc<ActiveConnection> {
        let session = self.shared.session.lock();
        Arc::clone(&session.unwrap_or_else(PoisonError::into_inner))
    }

    fn subscribers(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.shared
            .subscribers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn log_level(&self) -> Option<LoggingLevel> {
        *self
            .shared
            .log_level
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn remember_log_level(&self, level: Option<LoggingLevel>) {
        *self
            .shared
            .log_level
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = level;
    }

    /// Finds out anew what the server speaks, when a verdict from outside turned out to be wrong.
    async fn renewed(
        &self,
        used: &Arc<ActiveConnection>,
        error: &Error,
    ) -> Result<Option<Arc<ActiveConnection>>, Error> {
        // A session whose server has spoken for itself is not in doubt.
        if used.server.is_some() || !speaks_of_the_era(error) {
            return Ok(None);
        }
        let _one = self.shared.renewing.lock().await;
        let current = self.session();
        if !Arc::ptr_eq(&current, used) {
            return Ok(Some(current));
        }
        let opening = Connecting {
            config: &self.shared.config,
            dial: &*self.shared.dial,
            handlers: &self.shared.handlers,
            cache: &self.shared.cache,
            ids: &self.shared.next_id,
            skipped: &self.shared.skipped,
        };
        let session = Arc::new(opening.establish(None).await?);
        let mut slot = self
            .shared
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *slot = Arc::clone(&session);
        Ok(Some(session))
    }
}

/// Whether a failure may mean that the server does not speak what this client took for granted.
fn speaks_of_the_era(error: &Error) -> bool {
    toolwire_proto::negotiate::contradicts_verdict(error.http_status(), error.rpc())
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("server", &self.shared.dial)
            .field("verdict", &self.detected_era())
            .finish_non_exhaustive()
    }
}
