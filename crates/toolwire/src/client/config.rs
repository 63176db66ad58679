//! The configuration and the limits of a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolwire_proto::features::SupportedVersions;
use toolwire_proto::negotiate::DetectedEra;
use toolwire_proto::requests::{DEFAULT_IN_FLIGHT, RequestTimeouts};
use toolwire_proto::rounds::DEFAULT_ROUNDS;
#[cfg(feature = "schema-validation")]
use toolwire_proto::schema_budget::SchemaLimits;
use toolwire_proto::trace_context::TraceContext;
use toolwire_types::Implementation;
#[cfg(feature = "relay")]
use toolwire_types::RawJson;

use crate::client::cache::CacheOptions;
use crate::client::handlers::ClientHandlers;
use crate::client::middleware::ClientChain;
use crate::client::user_interaction::UserInteraction;
#[cfg(feature = "schema-validation")]
use crate::engine::schema_pool::CHECK_TIMEOUT;

/// The limits of a client.
///
/// ```
/// let mut limits = toolwire::ClientLimits::default();
/// limits.pages = 10;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientLimits {
    /// The longest message that is read, in bytes. A longer response fails its call. Default: 16 MiB.
    pub message_bytes: usize,
    /// The maximum number of calls in flight. Further calls wait for a permit. Default: 1024.
    pub calls_in_flight: usize,
    /// The maximum number of pages of a list. Default: 1000.
    pub pages: usize,
    /// The maximum size of all pages of a list together, in bytes. Default: 64 MiB.
    pub list_bytes: usize,
    /// How often a server may request input within one call. Default: 16.
    pub rounds: u32,
    /// How long a call waits for a response or progress. Default: 60 s.
    pub timeout: Duration,
    /// How long a call waits in total, regardless of progress. Default: 10 min.
    pub max_timeout: Duration,
    /// How long connecting may take in total: all requests that detect the era, and a second start of a server process
    /// that exits during the first attempt. The time of a login does not count. Default: 30 s.
    pub connect_timeout: Duration,
    /// How long a stdio server may take to respond to `server/discover`, at most half of
    /// [`connect_timeout`](Self::connect_timeout). Then the client sends `initialize`. Default: 5 s.
    pub probe_timeout: Duration,
    /// How long a child process may take to exit after its stdin was closed, and again after it was asked to terminate.
    /// Over HTTP, how long closing waits for the delivery of cancellations, and again for the end of the session.
    /// Default: 2 s.
    pub exit_grace: Duration,
    /// How often a lost stream is opened again without a new message. Default: 5.
    pub reconnects: u32,
    /// The limits of output schemas, and of one validation. A schema or a validation beyond them fails the call; see
    /// [`ClientBuilder::with_output_validation`](crate::ClientBuilder::with_output_validation).
    #[cfg(feature = "schema-validation")]
    pub schemas: SchemaLimits,
    /// How long a call waits for the validation of its result. Default: 5 s.
    #[cfg(feature = "schema-validation")]
    pub schema_timeout: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        let timeouts = RequestTimeouts::default();
        Self {
            message_bytes: 16 * 1024 * 1024,
            calls_in_flight: DEFAULT_IN_FLIGHT,
            pages: 1000,
            list_bytes: 64 * 1024 * 1024,
            rounds: DEFAULT_ROUNDS,
            timeout: timeouts.idle,
            max_timeout: timeouts.maximum,
            connect_timeout: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(5),
            exit_grace: Duration::from_secs(2),
            reconnects: 5,
            #[cfg(feature = "schema-validation")]
            schemas: SchemaLimits::default(),
            #[cfg(feature = "schema-validation")]
            schema_timeout: CHECK_TIMEOUT,
        }
    }
}

/// Returns the trace context of a call.
pub(crate) type TraceSource = Arc<dyn Fn() -> Option<TraceContext> + Send + Sync>;

/// All options of the builder.
#[derive(Clone)]
pub(crate) struct ClientConfig {
    pub(crate) info: Implementation,
    /// Whether modern requests carry `clientInfo`.
    pub(crate) sends_info: bool,
    pub(crate) versions: SupportedVersions,
    pub(crate) detected_era: Option<DetectedEra>,
    pub(crate) handlers: ClientHandlers,
    pub(crate) limits: ClientLimits,
    pub(crate) cache: CacheOptions,
    /// Whether calls may become tasks.
    pub(crate) tasks: bool,
    #[cfg(feature = "schema-validation")]
    pub(crate) validates_output: bool,
    pub(crate) trace: Option<TraceSource>,
    /// The middleware around every request. `None` without any.
    pub(crate) middleware: Option<ClientChain>,
    /// The middleware that handles every request. `None` without any.
    pub(crate) full_middleware: Option<ClientChain>,
    pub(crate) user_interaction: UserInteraction,
    /// The parameters of `initialize`, as the client in front of a relay sent them.
    #[cfg(feature = "relay")]
    pub(crate) initialize_params: Option<RawJson>,
    /// Whether the relay needs a session. A command that rejects `initialize` may be modern nevertheless.
    #[cfg(feature = "relay")]
    pub(crate) prefers_legacy: bool,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            info: Implementation::new("toolwire", env!("CARGO_PKG_VERSION")),
            sends_info: true,
            versions: SupportedVersions::default(),
            detected_era: None,
            handlers: ClientHandlers::default(),
            limits: ClientLimits::default(),
            cache: CacheOptions::default(),
            tasks: false,
            #[cfg(feature = "schema-validation")]
            validates_output: false,
            trace: None,
            middleware: None,
            full_middleware: None,
            user_interaction: UserInteraction::default(),
            #[cfg(feature = "relay")]
            initialize_params: None,
            #[cfg(feature = "relay")]
            prefers_legacy: false,
        }
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("info", &self.info)
            .field("versions", &self.versions)
            .field("detected_era", &self.detected_era)
            .field("handlers", &self.handlers)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
