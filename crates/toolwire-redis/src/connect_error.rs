//! The error of a connection that cannot be used.

use std::error::Error as StdError;
use std::fmt;

use toolwire::store::StoreError;

/// Why [`Redis::connect`](crate::Redis::connect) failed. The text names the problem and the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The name of the service cannot be part of a key.
    InvalidService(String),
    /// The URL cannot be used.
    InvalidUrl(Box<dyn StdError + Send + Sync>),
    /// The engine cannot be reached, or rejects the user or a command that the stores need.
    Unavailable(Box<dyn StdError + Send + Sync>),
    /// Published messages do not arrive, so nodes cannot hear each other.
    NoMessages(Box<dyn StdError + Send + Sync>),
    /// The certificate of the engine is not accepted.
    Certificate(Box<dyn StdError + Send + Sync>),
    /// The engine is too old.
    TooOld {
        /// The version that the engine reports.
        version: String,
    },
    /// The engine is a replica, which accepts no writes.
    Replica,
    /// The engine may evict keys before they expire.
    EvictionPolicy {
        /// The policy that the engine uses.
        policy: String,
    },
}

impl ConnectError {
    pub(crate) fn invalid_url(error: redis::RedisError) -> Self {
        Self::InvalidUrl(Box::new(error))
    }

    /// Returns the error of an engine that cannot be reached.
    pub(crate) fn not_connected(error: redis::RedisError) -> Self {
        // The error of TLS has no type of its own here.
        if error.to_string().contains("certificate") {
            return Self::Certificate(Box::new(error));
        }
        Self::unavailable(error)
    }

    pub(crate) fn no_messages(error: StoreError) -> Self {
        Self::NoMessages(match error {
            StoreError::Unavailable(source) | StoreError::Unknown(source) => source,
            error => Box::new(error),
        })
    }

    pub(crate) fn unavailable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidService(name) => write!(
                f,
                "the service name {name:?} cannot be part of a key: use 1 to 64 ASCII letters, digits, '.', '_' and '-'"
            ),
            Self::InvalidUrl(error) => write!(
                f,
                "the URL of the engine cannot be used: {error}; write redis://host:port, redis+unix:///path, \
                 redis+sentinel://host:port/service or redis+cluster://host:port"
            ),
            Self::Certificate(error) => write!(
                f,
                "the certificate of the engine is not accepted: {error}; use a name in the certificate as host, and \
                 pass the root certificate of the engine if the system does not have it"
            ),
            Self::Unavailable(error) => write!(f, "the engine cannot be used: {error}"),
            Self::NoMessages(error) => write!(
                f,
                "published messages do not arrive, so nodes cannot hear each other: {error}; permit the user `+@pubsub` and \
                 the channels `&tw:<service>:*`"
            ),
            Self::TooOld { version } => write!(
                f,
                "the engine has version {version}: Redis 7.0 or newer, or Valkey, is needed"
            ),
            Self::Replica => f.write_str(
                "the engine is a replica, which accepts no writes: connect to its primary",
            ),
            Self::EvictionPolicy { policy } => write!(
                f,
                "the engine has maxmemory-policy {policy}, which removes nonces and tasks that are still needed: set it \
                 to noeviction"
            ),
        }
    }
}

impl StdError for ConnectError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::InvalidUrl(error)
            | Self::Unavailable(error)
            | Self::NoMessages(error)
            | Self::Certificate(error) => Some(&**error),
            Self::InvalidService(_)
            | Self::TooOld { .. }
            | Self::Replica
            | Self::EvictionPolicy { .. } => None,
        }
    }
}
