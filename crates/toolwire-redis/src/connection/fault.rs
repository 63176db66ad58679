//! What went wrong with a command.

use std::fmt;

use redis::{ErrorKind, RedisError, ServerErrorKind};
use toolwire::store::StoreError;

/// The fault of a command.
#[derive(Debug)]
pub(crate) enum Fault {
    /// There is no connection. The command was not sent.
    Disconnected,
    /// The connection was lost. The command may have been executed.
    Lost(RedisError),
    /// No response arrived in time. The command may have been executed.
    Timeout(RedisError),
    /// The memory of the engine is used up.
    Full,
    /// The engine rejected the command.
    Rejected(RedisError),
}

impl Fault {
    pub(crate) fn of(error: RedisError) -> Self {
        match error.kind() {
            _ if error.code() == Some("OOM") => Self::Full,
            _ if error.is_timeout() => Self::Timeout(error),
            // A former primary rejects writes, and stays a replica: the next connection may lead to the new primary.
            ErrorKind::Server(ServerErrorKind::ReadOnly) => Self::Lost(error),
            ErrorKind::AuthenticationFailed => Self::misconfigured(error),
            ErrorKind::Io => Self::Lost(error),
            _ if matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "NOPERM")) => {
                Self::misconfigured(error)
            }
            _ if error.is_unrecoverable_error() => Self::Lost(error),
            _ => Self::Rejected(error),
        }
    }

    /// Reports a fault that only a change of the configuration can mend.
    fn misconfigured(error: RedisError) -> Self {
        tracing::error!(%error, "the engine rejects the user of the stores: check its password and permissions");
        Self::Rejected(error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disconnected => f.write_str("the engine is not connected"),
            Self::Full => f.write_str("the memory of the engine is used up"),
            Self::Lost(error) | Self::Timeout(error) | Self::Rejected(error) => error.fmt(f),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full => Self::Full,
            Fault::Disconnected => Self::unavailable("the engine is not connected"),
            Fault::Lost(error) | Fault::Timeout(error) => Self::unknown(error),
            Fault::Rejected(error) => Self::unavailable(error),
        }
    }
}
