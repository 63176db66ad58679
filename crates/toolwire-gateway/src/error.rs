//! Why a gateway does not start, or does not take a new configuration.

use std::error::Error;
use std::fmt;

use crate::config::ConfigError;

/// The reason why a gateway does not start, or does not take a new configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GatewayError {
    /// The configuration cannot be used.
    Config(ConfigError),
    /// A file, a credential or an address that the configuration names cannot be used.
    Setting(String),
    /// A required upstream is not reachable.
    Upstream {
        /// The name of the upstream.
        name: String,
        /// The reason.
        reason: String,
    },
    /// Some upstreams could not be replaced by a new configuration. Everything else has changed.
    Partial(String),
}

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Setting(problem) => f.write_str(problem),
            Self::Upstream { name, reason } => {
                write!(
                    f,
                    "the required upstream `{name}` is not reachable: {reason}"
                )
            }
            Self::Partial(problem) => write!(
                f,
                "some upstreams stay as they are, everything else has changed: {problem}"
            ),
        }
    }
}

impl Error for GatewayError {}

impl From<ConfigError> for GatewayError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}
