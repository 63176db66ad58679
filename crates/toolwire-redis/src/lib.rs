//! The stores of toolwire on Redis or Valkey, so that any node of a service can serve any request.
//!
//! One [`Redis`] value has all stores and uses one connection. A service with 2026-07-28 clients needs no store at all
//! for ordinary calls. It needs one for:
//!
//! - tasks that survive the process and that other nodes can run ([`Redis::tasks`]),
//! - request states and DPoP proofs that can be used once ([`Redis::nonces`]).
//!
//! ```no_run
//! use toolwire::Server;
//! use toolwire::tasks::Tasks;
//! use toolwire_redis::{Redis, RedisOptions};
//!
//! # async fn example() -> Result<(), toolwire_redis::ConnectError> {
//! let redis = Redis::connect("redis://cache.internal", RedisOptions::new("my-service")).await?;
//! let server = Server::new("my-service", "1.0.0")
//!     .with_tasks(Tasks::new(redis.tasks()))
//!     .with_single_use_request_state(redis.nonces());
//! # Ok(())
//! # }
//! ```
//!
//! # Engine
//!
//! Redis 7.0 or newer, or Valkey. [`Redis::connect`] checks the version, that the engine evicts nothing
//! (`maxmemory-policy noeviction`) and that it is not a replica, and fails with the remedy.
//!
//! # Outages
//!
//! Each command has a deadline. While the engine is away, calls fail at once with
//! [`StoreError::Unavailable`](toolwire::store::StoreError::Unavailable), and a background task connects again, without
//! end. A command whose response was lost is repeated if a repetition has no second effect.
//!
//! Redis replicates asynchronously: a failover can lose the last writes that were acknowledged.

mod connect_error;
mod connection;
mod keys;
mod nonces;
mod options;
mod random_id;
mod start_checks;
mod tasks;

pub use connect_error::ConnectError;
pub use nonces::RedisNonceStore;
pub use options::RedisOptions;
pub use tasks::RedisTaskStore;

use std::pin::Pin;

use connection::Connection;
use keys::Keys;
use toolwire::store::StoreError;

/// The future that the methods of a store return.
type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A connection to Redis or Valkey, and the stores on it. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Redis {
    connection: Connection,
    keys: Keys,
    options: RedisOptions,
}

impl Redis {
    /// Connects to an engine and checks whether its configuration is suitable.
    ///
    /// `url` is `redis://[user:password@]host[:port][/database]`, or `redis+unix:///path` for a Unix socket.
    ///
    /// # Errors
    /// Returns an error that names the problem and the remedy.
    pub async fn connect(url: &str, options: RedisOptions) -> Result<Self, ConnectError> {
        let keys = Keys::new(&options.service)?;
        let client = redis::Client::open(url).map_err(ConnectError::invalid_url)?;
        let connection = Connection::open(client, &options).await?;
        start_checks::check(&connection, &keys).await?;
        Ok(Self {
            connection,
            keys,
            options,
        })
    }

    /// Returns the store of used nonces: request states and DPoP proofs.
    #[must_use]
    pub fn nonces(&self) -> RedisNonceStore {
        RedisNonceStore::new(self.connection.clone(), self.keys.clone(), &self.options)
    }

    /// Returns the store of tasks.
    #[must_use]
    pub fn tasks(&self) -> RedisTaskStore {
        RedisTaskStore::new(self.connection.clone(), self.keys.clone(), &self.options)
    }
}
