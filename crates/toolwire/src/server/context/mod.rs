//! What a handler can see and do while it serves a request.

#[cfg(feature = "input")]
mod client_requests;
#[cfg(feature = "input")]
mod input;

use std::sync::Arc;

use serde::Serialize;
use toolwire_proto::rounds;
use toolwire_types::{
    ClientCapabilities, ErrorObject, Implementation, LoggingLevel, Meta, ProtocolVersion, RawJson,
    RequestId,
};

use crate::engine::{Cancellation, ConnectionState, RequestScope, TokenInfo};
use crate::server::Server;
use crate::server::access::Access;

/// A handle to the request that is being served; cloning it is cheap.
///
/// Take it as `&RequestContext` anywhere among a handler's parameters.
///
/// ```
/// use toolwire::{LoggingLevel, RequestContext, tool};
///
/// /// Copies files.
/// #[tool]
/// async fn copy(ctx: &RequestContext, files: Vec<String>) -> String {
///     for (done, file) in files.iter().enumerate() {
///         ctx.report_steps(done as i64, files.len() as i64, Some(file));
///     }
///     ctx.log(LoggingLevel::Info, "all copied");
///     format!("{} files", files.len())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct RequestContext {
    scope: Arc<RequestScope>,
}

impl RequestContext {
    pub(crate) fn new(scope: Arc<RequestScope>) -> Self {
        Self { scope }
    }

    pub(crate) fn scope(&self) -> &Arc<RequestScope> {
        &self.scope
    }

    /// The server that serves the request: to add tools, or to tell clients that something changed.
    #[must_use]
    pub fn server(&self) -> &Server {
        self.scope.server()
    }

    // ---- the request ----

    /// The id of the request.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.scope.id
    }

    /// The protocol version in effect for this request.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.scope.version()
    }

    /// Whether the request describes itself and the client cannot be asked anything while it runs (2026-07-28).
    ///
    /// With the feature `input`, `ask` and its siblings work all the same. `elicit`, `sample` and `list_roots` fail: a handler
    /// that asks by itself returns `ToolResponse::input_required` instead and reads the answers with `input_responses` when
    /// the client calls again.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.scope.is_stateless()
    }

    /// The `_meta` of the request, for extensions and tracing.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.scope.meta()
    }

    /// What the client says it is. Never decide anything by it.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.scope.client_info()
    }

    /// What the client declared that it can do.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        self.scope.client_capabilities()
    }

    /// Whether the client declared everything in `needed`.
    #[must_use]
    pub fn client_supports(&self, needed: &ClientCapabilities) -> bool {
        rounds::missing_capabilities(needed, self.client_capabilities()).is_none()
    }

    /// Whether the caller's token grants what this needs.
    pub(crate) fn may_use(&self, access: &Access) -> bool {
        self.check_scopes(access).is_ok()
    }

    /// Refuses a caller that may not use something.
    pub(crate) fn check_access(&self, access: &Access) -> Result<(), ErrorObject> {
        access.check_client(|| self.client_capabilities())?;
        self.check_scopes(access)
    }

    /// Refuses a caller whose token does not grant what this needs. Over HTTP most requests are refused earlier, with a
    /// challenge; those in batches, and those of the transport of 2024-11-05, come here.
    pub(crate) fn check_scopes(&self, access: &Access) -> Result<(), ErrorObject> {
        self.scope.check_scopes(&access.scopes)
    }

    /// Lets the client hang up and come back for the rest of the answer, so that a long call holds no connection
    /// (2025-11-25 over HTTP with sessions). False where clients cannot do that; then nothing happens.
    ///
    /// The handler runs on. What it says meanwhile waits for the client.
    pub fn release_stream(&self) -> bool {
        self.scope.transport.release_stream()
    }

    /// Who is calling, as verified by the transport. On stdio and in process `valid` is false.
    #[must_use]
    pub fn auth(&self) -> &TokenInfo {
        self.scope.auth()
    }

    /// The state of the connection the request came on, where the transport keeps one.
    #[must_use]
    pub fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        self.scope.connection_state()
    }

    /// A stable name of the connection or session, where there is one.
    #[must_use]
    pub fn connection_token(&self) -> Option<&str> {
        self.scope.connection_token()
    }

    // ---- cancellation ----

    /// Whether the client cancelled this request; one atomic load.
    ///
    /// An asynchronous handler is simply dropped when that happens. A `blocking` one polls this and returns early.
    /// Whatever it returns, nothing more is sent for the request.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.scope.is_cancelled()
    }

    /// The flag behind [`is_cancelled`](Self::is_cancelled), to pass on to work that outlives the handler's future.
    #[must_use]
    pub fn cancellation(&self) -> Option<Cancellation> {
        self.scope.cancellation.clone()
    }

    // ---- progress and logging ----

    /// Sends `notifications/progress`. Does nothing when the request carried no progress token, or when the value did
    /// not grow. `message` reaches clients from 2025-03-26 on.
    pub fn report_progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.scope
            .report_progress(progress, total, message.map(str::to_owned));
    }

    /// [`report_progress`](Self::report_progress) for a counter of steps.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a step counter beyond 2^53 is not a step counter"
    )]
    pub fn report_steps(&self, done: i64, total: i64, message: Option<&str>) {
        self.report_progress(done as f64, Some(total as f64), message);
    }

    /// Sends `notifications/message` with any JSON value (a plain string included).
    ///
    /// It is dropped when it is below the level the client asked for, when a 2026-07-28 request asked for none, and when
    /// the server did not enable logging. The protocol deprecates logging as of 2026-07-28: prefer `tracing` to stderr or
    /// OpenTelemetry.
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.send_log(level, &data, None);
    }

    /// [`log`](Self::log) under the name of a logger.
    pub fn log_as(&self, logger: &str, level: LoggingLevel, data: impl Serialize) {
        self.send_log(level, &data, Some(logger));
    }

    fn send_log(&self, level: LoggingLevel, data: &impl Serialize, logger: Option<&str>) {
        match RawJson::from_serialize(data) {
            Ok(data) => self.scope.log(level, data, logger),
            Err(error) => tracing::warn!(%error, "a log message could not be written as JSON"),
        }
    }
}
