//! What went wrong with a command.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// The engine rejected the user, its password, or its use of the command.
    Misconfigured(RedisError),
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
            _ if is_misconfiguration(&error) => Self::Misconfigured(error),
            ErrorKind::Io => Self::Lost(error),
            _ if error.is_unrecoverable_error() => Self::Lost(error),
            _ => Self::Rejected(error),
        }
    }

    /// Returns `true` if the command was not executed.
    pub(crate) fn is_unexecuted(&self) -> bool {
        match self {
            Self::Disconnected | Self::Full | Self::Misconfigured(_) | Self::Rejected(_) => true,
            Self::Lost(_) | Self::Timeout(_) => false,
        }
    }
}

/// Returns `true` if only a change of the configuration can mend the fault.
fn is_misconfiguration(error: &RedisError) -> bool {
    error.kind() == ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "NOPERM"))
}

/// Reports a fault of the configuration once, because each command can cause it again.
#[derive(Debug, Default)]
pub(crate) struct ReportedOnce(AtomicBool);

impl ReportedOnce {
    /// Logs a fault: one of the configuration as an error, but only once, and others for debugging.
    pub(crate) fn report(&self, error: &RedisError, consequence: &str) {
        if !is_misconfiguration(error) || self.0.swap(true, Ordering::Relaxed) {
            tracing::debug!(%error, "{consequence}");
        } else {
            tracing::error!(
                %error,
                "{consequence}: the engine rejects the user of the stores; check its password, and permit it the commands, \
                 keys and channels that the guide `many_nodes` names"
            );
        }
    }

    /// Reports the next fault again.
    pub(crate) fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disconnected => f.write_str("the engine is not connected"),
            Self::Full => f.write_str("the memory of the engine is used up"),
            Self::Lost(error)
            | Self::Timeout(error)
            | Self::Misconfigured(error)
            | Self::Rejected(error) => error.fmt(f),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Full => Self::Full,
            Fault::Disconnected => Self::unavailable("the engine is not connected"),
            Fault::Lost(error) | Fault::Timeout(error) => Self::unknown(error),
            Fault::Misconfigured(error) | Fault::Rejected(error) => Self::unavailable(error),
        }
    }
}
