//! The stores of toolwire on Redis or Valkey, so that any node of a service can serve any request.
//!
//! One [`Redis`] value has all stores and uses two connections. A service with 2026-07-28 clients needs no store at all
//! for ordinary calls. It needs one for:
//!
//! - sessions and resumable streams of clients of the 2025 revisions, and their responses to requests of the server
//!   ([`Redis::sessions`], [`Redis::event_log`], [`Redis::mailboxes`]),
//! - changes that clients of other nodes are notified of ([`Redis::bus`]),
//! - tasks that survive the process and that other nodes can run ([`Redis::tasks`]),
//! - request states and DPoP proofs that can be used once ([`Redis::nonces`]),
//! - an OAuth proxy (`Redis::proxy_store`, with the feature `auth`).
//!
//! The webhook subscriptions of a server survive a restart with `Redis::subscriptions`, with the feature `events`.
//!
//! Clients on many nodes share tokens (`Redis::token_store`, with the feature `auth`) and cached results
//! (`Redis::client_cache`, with the feature `client`).
//!
//! ```no_run
//! use toolwire::tasks::Tasks;
//! use toolwire::transport::http::HttpOptions;
//! use toolwire::{KeyRing, Server, StateKey};
//! use toolwire_redis::{Redis, RedisOptions};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let redis = Redis::connect("redis://cache.internal", RedisOptions::new("my-service")).await?;
//! let server = Server::new("my-service", "1.0.0")
//!     .with_request_state_keys(KeyRing::new(StateKey::new(redis.shared_key().await?)))
//!     .with_tasks(Tasks::new(redis.tasks()));
//! let options = HttpOptions::new().with_cluster(&redis);
//! server.serve_http_with("0.0.0.0:3000", options).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Engine
//!
//! Redis 7.0 or newer, or Valkey. [`Redis::connect`] checks the version, that the engine evicts nothing
//! (`maxmemory-policy noeviction`), that it is not a replica, and that published messages arrive. It fails with the remedy.
//!
//! # Outages
//!
//! Each command has a deadline. While the engine is away, calls fail at once with [`StoreError::Unavailable`], and a
//! background task connects again, without end. A command whose response was lost is repeated if a repetition has no
//! second effect.
//!
//! Redis replicates asynchronously: a failover can lose the last writes that were acknowledged.
//!
//! # Features
//!
//! | Feature | Default | Contents |
//! |---|---|---|
//! | `auth` | no | `Redis::proxy_store` and `Redis::token_store`: logins of an OAuth proxy, and tokens of a client. |
//! | `client` | no | `Redis::client_cache`: the results that a client caches. |
//! | `events` | no | `Redis::subscriptions`: the webhook subscriptions of a server. |
//! | `tls` | no | Encrypted connections: URLs that begin with `rediss`. |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod bus;
mod call_observer;
#[cfg(feature = "client")]
mod client_cache;
mod connect_error;
mod connection;
mod counters;
mod engine_warning;
mod event_log;
pub mod guide;
mod keys;
mod mailboxes;
mod node_comparison;
mod nonces;
mod options;
#[cfg(feature = "auth")]
mod proxy;
mod random_id;
mod sealing;
mod sessions;
mod shared_key;
mod start_checks;
mod subscriber;
#[cfg(feature = "events")]
mod subscriptions;
mod sync;
mod tasks;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "auth")]
mod tokens;

pub use bus::RedisBus;
pub use call_observer::{StoreCall, StoreCallEnd};
#[cfg(feature = "client")]
pub use client_cache::RedisCache;
pub use connect_error::ConnectError;
pub use counters::{RedisCounters, StoreCalls};
pub use engine_warning::EngineWarning;
pub use event_log::RedisEventLog;
pub use mailboxes::RedisMailboxes;
pub use nonces::RedisNonceStore;
pub use options::RedisOptions;
#[cfg(feature = "auth")]
pub use proxy::RedisProxyStore;
pub use sessions::RedisSessionStore;
#[cfg(feature = "events")]
pub use subscriptions::RedisSubscriptionStore;
pub use tasks::RedisTaskStore;
#[cfg(feature = "auth")]
pub use tokens::RedisTokenStore;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use connection::{Connection, Target};
use counters::{CountedEvent, CountedStore};
use keys::Keys;
use sealing::Sealing;
use shared_key::SharedKey;
use subscriber::Subscriber;
use tokio::time::Instant;
use toolwire::KeyRing;
use toolwire::store::{ClusterStores, StoreError};

/// The future that the methods of a store return.
type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A connection to Redis or Valkey, and the stores on it. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Redis {
    connection: Connection,
    subscriber: Subscriber,
    keys: Keys,
    options: RedisOptions,
    warnings: Arc<[EngineWarning]>,
    shared_key: SharedKey,
}

impl Redis {
    /// Connects to an engine and checks whether its configuration is suitable.
    ///
    /// | `url` | engine |
    /// |---|---|
    /// | `redis://[user:password@]host[:port][/database]` | one server |
    /// | `redis+unix:///path` | one server, by its Unix socket |
    /// | `redis+sentinel://[user:password@]host[:port],…/service[/database]` | the primary that these sentinels know by this name |
    /// | `redis+cluster://[user:password@]host[:port],…` | a cluster; one reachable node suffices |
    ///
    /// With the feature `tls`, `rediss` instead of `redis` encrypts all connections.
    ///
    /// # Errors
    /// Returns an error that names the problem and the remedy.
    pub async fn connect(url: &str, options: RedisOptions) -> Result<Self, ConnectError> {
        let keys = Keys::new(&options.service)?;
        let target = Arc::new(Target::new(url, &options)?);
        let connection = Connection::open(Arc::clone(&target), &options).await?;
        let warnings = start_checks::check(&connection, &keys, &options).await?;
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let subscriber = Subscriber::new(
            target,
            connection.of_store(CountedStore::Bus),
            &keys,
            &options,
        )?;
        let is_heard = subscriber.check().await;
        is_heard.map_err(ConnectError::no_messages)?;
        Ok(Self {
            connection,
            subscriber,
            keys,
            options,
            warnings: warnings.into(),
            shared_key: SharedKey::default(),
        })
    }

    /// Returns the risks of the engine that [`connect`](Self::connect) found.
    #[must_use]
    pub fn warnings(&self) -> &[EngineWarning] {
        &self.warnings
    }

    /// Sends a command to the engine, and returns how long its response took.
    ///
    /// # Errors
    /// Returns an error if the engine is unavailable.
    pub async fn round_trip(&self) -> Result<Duration, StoreError> {
        let start = Instant::now();
        self.connection.check().await?;
        Ok(start.elapsed())
    }

    /// Checks that messages of this node arrive at this node, so that nodes can hear each other.
    ///
    /// # Errors
    /// Returns an error if the engine is unavailable, or if its user may not use the channels of the service.
    pub async fn check_bus(&self) -> Result<(), StoreError> {
        self.subscriber.check().await
    }

    /// Returns the store of sessions of the 2025 revisions.
    #[must_use]
    pub fn sessions(&self) -> RedisSessionStore {
        let connection = self.connection_of(CountedStore::Sessions);
        let subscriber = self.subscriber.clone();
        RedisSessionStore::new(connection, subscriber, self.keys.clone(), &self.options)
    }

    /// Returns the log of resumable streams of the 2025 revisions.
    #[must_use]
    pub fn event_log(&self) -> RedisEventLog {
        let connection = self.connection_of(CountedStore::EventLog);
        let subscriber = self.subscriber.clone();
        RedisEventLog::new(connection, subscriber, self.keys.clone(), &self.options)
    }

    /// Returns the bus that informs all nodes of changes.
    #[must_use]
    pub fn bus(&self) -> RedisBus {
        RedisBus::new(
            self.connection_of(CountedStore::Bus),
            self.subscriber.clone(),
        )
    }

    /// Returns the mailboxes of nodes, for responses of clients.
    #[must_use]
    pub fn mailboxes(&self) -> RedisMailboxes {
        let connection = self.connection_of(CountedStore::Mailboxes);
        let subscriber = self.subscriber.clone();
        RedisMailboxes::new(connection, subscriber, self.keys.clone(), &self.options)
    }

    /// Returns the store of used nonces: request states and DPoP proofs.
    #[must_use]
    pub fn nonces(&self) -> RedisNonceStore {
        RedisNonceStore::new(
            self.connection_of(CountedStore::Nonces),
            self.keys.clone(),
            &self.options,
        )
    }

    /// Returns the store of tasks.
    #[must_use]
    pub fn tasks(&self) -> RedisTaskStore {
        RedisTaskStore::new(
            self.connection_of(CountedStore::Tasks),
            self.keys.clone(),
            &self.options,
        )
    }

    fn connection_of(&self, store: CountedStore) -> Connection {
        self.connection.of_store(store)
    }

    /// Returns what this connection and its stores have done, for metrics.
    #[must_use]
    pub fn counters(&self) -> RedisCounters {
        let counters = self.connection.counters();
        let bus = self.subscriber.counters();
        RedisCounters {
            calls: counters.calls(),
            is_connected: self.connection.is_connected(),
            in_flight: self.connection.in_flight(),
            lost_connections: counters.lost_connections.load(Ordering::Relaxed),
            reconnects: counters.reconnects.load(Ordering::Relaxed),
            bus_sent: bus.sent,
            bus_received: bus.received,
            bus_lagged: bus.lagged,
            bus_delay: self.subscriber.delay(),
            sessions_created: counters.events(CountedEvent::SessionCreated),
            sessions_deleted: counters.events(CountedEvent::SessionDeleted),
            sessions_unknown: counters.events(CountedEvent::SessionUnknown),
            stream_gaps: counters.events(CountedEvent::StreamGap),
            streams_unknown: counters.events(CountedEvent::StreamUnknown),
            entries_lost: counters.events(CountedEvent::EntriesLost),
            mailbox_depth: counters.mailbox_depth.load(Ordering::Relaxed)
                + self.subscriber.waiting_wake_ups(),
            mailboxes_lost: counters.events(CountedEvent::MailboxLost),
            mailboxes_full: counters.events(CountedEvent::MailboxFull),
            mailboxes_absent: counters.events(CountedEvent::MailboxAbsent),
            unopened_values: self.options.sealing.as_ref().map_or(0, Sealing::unopened),
        }
    }

    /// Compares the keys of [`Server::with_request_state_keys`](toolwire::Server::with_request_state_keys) with those of the
    /// node that called this method before. Returns a warning, which is also logged, if this node cannot open its request
    /// states. Call it when a node starts: nodes with different keys reject each other's request states.
    ///
    /// ```no_run
    /// # async fn start(redis: &toolwire_redis::Redis) -> Result<(), Box<dyn std::error::Error>> {
    /// use toolwire::{KeyRing, Server, StateKey};
    ///
    /// let key: [u8; 32] = std::fs::read("/run/secrets/state.key")?.try_into().map_err(|_| "32 bytes")?;
    /// let keys = KeyRing::new(StateKey::new(key));
    /// redis.check_request_state_keys(&keys).await?;
    /// let server = Server::new("my-service", "1.0.0").with_request_state_keys(keys);
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the engine is unavailable.
    pub async fn check_request_state_keys(
        &self,
        keys: &KeyRing,
    ) -> Result<Option<EngineWarning>, StoreError> {
        let inspects_only = self.options.inspects_only;
        let check = node_comparison::check_request_state_keys(
            &self.connection,
            &self.keys,
            keys,
            inspects_only,
        );
        let warning = check.await?;
        if let Some(warning) = &warning {
            tracing::warn!("{warning}");
        }
        Ok(warning)
    }

    /// Returns a random key that all nodes of the service share. The first node stores it.
    ///
    /// It suits [`Server::with_request_state_keys`](toolwire::Server::with_request_state_keys) if no other place for
    /// secrets exists. All who can read the engine can read the key.
    ///
    /// If the engine loses its data, this node stores the key again after it has connected again. If another node has stored
    /// another key before that, this node logs an error and has to be restarted.
    ///
    /// # Errors
    /// Returns an error if the engine is unavailable.
    pub async fn shared_key(&self) -> Result<[u8; 32], StoreError> {
        self.shared_key.get(&self.connection, &self.keys).await
    }
}

/// The stores for [`HttpOptions::with_cluster`](toolwire::transport::http::HttpOptions::with_cluster).
impl From<&Redis> for ClusterStores {
    fn from(redis: &Redis) -> Self {
        Self::new(
            redis.sessions(),
            redis.event_log(),
            redis.bus(),
            redis.mailboxes(),
        )
    }
}

#[cfg(feature = "auth")]
impl Redis {
    /// Returns the store of an OAuth proxy, for
    /// [`OAuthProxyConfig::with_shared_store`](toolwire_auth::OAuthProxyConfig::with_shared_store).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use toolwire::KeyRing;
    /// use toolwire_auth::{OAuthProxyConfig, Upstream};
    /// use toolwire_redis::Redis;
    ///
    /// fn proxy(redis: &Redis, keys: KeyRing) -> OAuthProxyConfig {
    ///     let upstream = Upstream::github("client id", "client secret");
    ///     OAuthProxyConfig::new("https://mcp.example.com/mcp", upstream)
    ///         .with_shared_store(Arc::new(redis.proxy_store()), keys)
    /// }
    /// ```
    #[must_use]
    pub fn proxy_store(&self) -> RedisProxyStore {
        RedisProxyStore::new(
            self.connection_of(CountedStore::Proxy),
            self.keys.clone(),
            &self.options,
        )
    }

    /// Returns the store for the tokens of one user of a client, sealed with these keys. A program that acts for one user
    /// only may use any name for it.
    ///
    /// ```
    /// use toolwire::KeyRing;
    /// use toolwire_auth::client::OAuthConfig;
    /// use toolwire_redis::Redis;
    ///
    /// /// Uses the tokens of a user who has logged in on any node.
    /// fn tokens_of(user: &str, redis: &Redis, keys: KeyRing) -> OAuthConfig {
    ///     OAuthConfig::from_store(redis.token_store(user, keys))
    /// }
    /// ```
    #[must_use]
    pub fn token_store(&self, user: &str, seals: KeyRing) -> RedisTokenStore {
        let user = keys::digest(user.as_bytes());
        RedisTokenStore::new(
            self.connection_of(CountedStore::Tokens),
            self.keys.clone(),
            user,
            seals,
        )
    }
}

#[cfg(feature = "client")]
impl Redis {
    /// Returns the cache of a client, for [`ClientBuilder::with_cache`](toolwire::ClientBuilder::with_cache).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use toolwire::{Client, ClientBuilder};
    /// use toolwire_redis::Redis;
    ///
    /// fn client(redis: &Redis) -> ClientBuilder {
    ///     Client::builder("my-agent", "1.0.0").with_cache(Arc::new(redis.client_cache()))
    /// }
    /// ```
    #[must_use]
    pub fn client_cache(&self) -> RedisCache {
        RedisCache::new(
            self.connection_of(CountedStore::ClientCache),
            self.keys.clone(),
        )
    }
}

#[cfg(feature = "events")]
impl Redis {
    /// Returns the store for the webhook subscriptions of one server process, sealed with these keys, for
    /// [`WebhookOptions::with_store`](toolwire::events::WebhookOptions::with_store).
    ///
    /// `process` names the process: it is the same after a restart, and no two processes have the same name at a time. Each
    /// process delivers the events of its own subscriptions.
    #[must_use]
    pub fn subscriptions(&self, process: &str, seals: KeyRing) -> RedisSubscriptionStore {
        RedisSubscriptionStore::new(
            self.connection_of(CountedStore::Subscriptions),
            self.keys.subscriptions(process),
            seals,
        )
    }
}
