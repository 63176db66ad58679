//! The context of a handler: its request, and the messages that it can send.

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

use crate::engine::{Cancellation, ConnectionState, TokenInfo};
use crate::error::Error;
use crate::server::Server;
use crate::server::access::Access;
use crate::server::connected_client::{ConnectedClient, custom_notification};
use crate::server::request::RequestScope;

/// A handle to the request that is being served. Cloning it is cheap.
///
/// A handler can take it as `&RequestContext` at any position among its parameters.
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
#[doc(alias = "Context", alias = "RequestHandlerExtra")]
pub struct RequestContext {
    scope: Arc<RequestScope>,
}

impl RequestContext {
    pub(crate) fn new(scope: Arc<RequestScope>) -> Self {
        Self { scope }
    }

    /// Returns the scope of the request, which gives access to the transport: [`RequestScope::transport`].
    #[must_use]
    pub fn scope(&self) -> &Arc<RequestScope> {
        &self.scope
    }

    /// Returns the scope, if this is the only handle to it.
    pub(crate) fn scope_mut(&mut self) -> Option<&mut RequestScope> {
        Arc::get_mut(&mut self.scope)
    }

    /// Returns the server that serves the request, for example to add tools or to notify clients of changes.
    #[must_use]
    pub fn server(&self) -> &Server {
        self.scope.server()
    }

    // ---- the request ----

    /// Returns the id of the request.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.scope.id
    }

    /// Returns the protocol version of this request.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.scope.version()
    }

    /// Returns `true` if the request carries its own metadata and the server cannot send requests to the client
    /// meanwhile (2026-07-28).
    ///
    /// With the feature `input`, `ask` and its siblings work in this case, too. `elicit`, `sample` and `list_roots`
    /// fail. A handler without `ask` returns `ToolResponse::input_required` instead, and reads `input_responses` when
    /// the client retries.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.scope.is_stateless()
    }

    /// Returns the `_meta` of the request, for extensions and tracing.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.scope.meta()
    }

    /// Returns the client's description of itself. It is unverified: do not base decisions on it.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.scope.client_info()
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        self.scope.client_capabilities()
    }

    /// Returns `true` if the client declared all capabilities in `needed`.
    #[must_use]
    pub fn client_supports(&self, needed: &ClientCapabilities) -> bool {
        rounds::missing_capabilities(needed, self.client_capabilities()).is_none()
    }

    /// Returns `true` if the caller's token grants the scopes of `access`.
    pub(crate) fn may_use(&self, access: &Access) -> bool {
        self.check_scopes(access).is_ok()
    }

    /// Rejects a caller that does not meet the requirements of `access`.
    pub(crate) fn check_access(&self, access: &Access) -> Result<(), ErrorObject> {
        access.check_client(|| self.client_capabilities())?;
        self.check_scopes(access)
    }

    /// Rejects a caller whose token does not grant the scopes of `access`. Over HTTP, most such requests are rejected
    /// earlier, with a challenge. Requests in batches and on the transport of 2024-11-05 are checked here.
    pub(crate) fn check_scopes(&self, access: &Access) -> Result<(), ErrorObject> {
        self.scope.check_scopes(&access.scopes)
    }

    /// Closes the connection of the response, so that a long call occupies no connection. The client reconnects for the
    /// rest of the response (2025-11-25 over HTTP with sessions). Returns `false`, without effect, if clients cannot do
    /// that.
    ///
    /// The handler continues. Its messages are stored for the client meanwhile.
    pub fn release_stream(&self) -> bool {
        self.scope.transport.release_stream()
    }

    /// Returns what the transport verified about the caller's token. On stdio and in process, `valid` is `false`.
    #[must_use]
    pub fn auth(&self) -> &TokenInfo {
        self.scope.auth()
    }

    /// Returns the state of the request's connection, if the transport stores one.
    #[must_use]
    pub fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        self.scope.connection_state()
    }

    /// Returns a stable name of the connection or session, if there is one.
    #[must_use]
    pub fn connection_token(&self) -> Option<&str> {
        self.scope.connection_token()
    }

    /// Returns the client with its connection or session, to reach it after this request. Returns `None` if it has none
    /// (2026-07-28 over HTTP).
    #[must_use]
    pub fn client(&self) -> Option<ConnectedClient> {
        let channel = self.scope.transport.client_channel();
        channel.map(ConnectedClient::new)
    }

    // ---- cancellation ----

    /// Returns `true` if the client cancelled this request. Costs one atomic load.
    ///
    /// An asynchronous handler is dropped on cancellation. A `blocking` handler polls this method and returns early.
    /// Whatever it returns, nothing more is sent for the request.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.scope.is_cancelled()
    }

    /// Returns the flag behind [`is_cancelled`](Self::is_cancelled), for work that outlives the handler's future. Returns
    /// `None` if the request cannot be cancelled, for example with [`Server::handle`](crate::Server::handle).
    #[must_use]
    pub fn cancellation(&self) -> Option<Cancellation> {
        match self.scope.task.get() {
            Some(task) => Some(task.cancellation().clone()),
            None => {
                let flag = self.scope.cancellation.clone();
                flag.or_else(|| self.scope.transport.cancellation())
            }
        }
    }

    // ---- progress and logging ----

    /// Sends `notifications/progress`. Nothing is sent if the request has no progress token, or if the value did not
    /// increase. `message` reaches clients from 2025-03-26 on. In a task, the progress is also its status message.
    #[doc(alias = "notify_progress")]
    pub fn report_progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.scope
            .report_progress(progress, total, message.map(str::to_owned));
    }

    /// Calls [`report_progress`](Self::report_progress) with a counter of steps.
    #[expect(clippy::cast_precision_loss, reason = "step counters stay below 2^53")]
    pub fn report_steps(&self, done: i64, total: i64, message: Option<&str>) {
        self.report_progress(done as f64, Some(total as f64), message);
    }

    /// Sends `notifications/message` with any JSON value (a plain string included).
    ///
    /// The message is dropped if its level is below the client's minimum, if a 2026-07-28 request sets no level, or if
    /// the server did not enable logging.
    #[doc(alias = "send_logging_message", alias = "notify_logging_message")]
    #[deprecated(
        note = "MCP deprecates logging (SEP-2577), and a revision of 28 July 2027 or later may remove it. Write to standard error with `tracing`, or use OpenTelemetry instead"
    )]
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.send_log(level, &data, None);
    }

    /// Like [`log`](Self::log), with the name of a logger.
    #[deprecated(
        note = "MCP deprecates logging (SEP-2577), and a revision of 28 July 2027 or later may remove it. Write to standard error with `tracing`, or use OpenTelemetry instead"
    )]
    pub fn log_as(&self, logger: &str, level: LoggingLevel, data: impl Serialize) {
        self.send_log(level, &data, Some(logger));
    }

    /// Sends a notification that the protocol does not define, before the response of this request. `params` is a JSON
    /// object. Nothing is sent after the response.
    ///
    /// # Errors
    /// Returns an error if the protocol defines the method, and if `params` is not an object.
    pub fn notify(&self, method: &str, params: impl Serialize) -> Result<(), Error> {
        let notification = custom_notification(method, &params)?;
        self.scope.send(notification);
        Ok(())
    }

    fn send_log(&self, level: LoggingLevel, data: &impl Serialize, logger: Option<&str>) {
        match RawJson::from_serialize(data) {
            Ok(data) => self.scope.log(level, data, logger),
            Err(error) => tracing::warn!(%error, "a log message could not be written as JSON"),
        }
    }
}
