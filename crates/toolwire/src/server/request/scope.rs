//! The scope of one request: the data that is known after its message was parsed.
//!
//! The scope wraps the transport's context and exists before the handler runs. It fixes the protocol version, so that
//! other requests cannot change it while the handler waits.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock};

use toolwire_proto::deprecations::DeprecatedFeature;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::logging;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::scopes::ScopeSet;
use toolwire_proto::stamp::{Stamp, Target};
use toolwire_types::{
    ClientCapabilities, ErrorObject, Implementation, LoggingLevel,
    LoggingMessageNotificationParams, Meta, ProgressNotificationParams, ProgressToken,
    ProtocolVersion, RawJson, RequestId, meta_key,
};

use crate::engine::{
    Cancellation, ConnectionState, OutgoingNotification, TokenInfo, TransportContext,
    warn_if_deprecated,
};
use crate::server::Server;
use crate::server::request::progress::{self, ProgressReporter};
use crate::server::request::{MethodRoute, ParamChange, RequestParams, RequestTask, RoundState};
use crate::server::snapshot::Snapshot;
use crate::sync::lock;

/// Shared by all requests that declare no capabilities, which most do.
static NO_CAPABILITIES: LazyLock<Arc<ClientCapabilities>> = LazyLock::new(Arc::default);

/// One request as its handler sees it. [`RequestContext`](crate::RequestContext) is the handle to it.
#[derive(Debug)]
pub struct RequestScope {
    /// Resolved at first use.
    pub(crate) server: OnceLock<Server>,
    /// The server's snapshot from when the request arrived.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) transport: Arc<dyn TransportContext>,
    pub(crate) route: MethodRoute,
    /// All parameters. `None` for methods that need only the name, `_meta` and arguments.
    pub(crate) params: Option<RawJson>,
    pub(crate) id: RequestId,
    pub(crate) version: ProtocolVersion,
    /// The capabilities declared in this request. Otherwise those of the connection, resolved at first use.
    pub(crate) client_capabilities: OnceLock<Arc<ClientCapabilities>>,
    /// `None` drops every log message.
    pub(crate) minimum_log_level: Option<LoggingLevel>,
    pub(crate) progress_token: Option<ProgressToken>,
    pub(crate) request_params: RequestParams,
    /// The name and arguments that the client sent, if a middleware changed them.
    pub(crate) sent_params: Option<Box<RequestParams>>,
    /// Parsed at first use.
    pub(crate) meta: OnceLock<Box<Meta>>,
    pub(crate) client_info: OnceLock<Option<Arc<Implementation>>>,
    pub(crate) cancellation: Option<Cancellation>,
    /// The task that the request has become.
    pub(crate) task: RequestTask,
    /// Whether the request may end with `input_required`.
    #[cfg(feature = "input")]
    pub(crate) may_ask_input: bool,
    pub(crate) round: RoundState,
    pub(crate) progress: Mutex<ProgressReporter>,
    /// The scope of the first round. All rounds share its progress state.
    pub(crate) first_round: Option<Arc<RequestScope>>,
}

impl RequestScope {
    /// Returns the id of the request.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.id
    }

    /// Returns the protocol version of this request: the version in its `_meta`, or the negotiated version on a legacy
    /// connection.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Returns `true` if the request carries its own metadata and has no channel for requests to the client.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.version.is_stateless()
    }

    /// Returns `true` if the client cancelled the request, or the task that it has become. Without a cancellation flag,
    /// the transport decides.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        if let Some(task) = self.task.get() {
            return task.cancellation().is_cancelled();
        }
        match &self.cancellation {
            Some(flag) => flag.is_cancelled() || self.transport.is_cancelled(),
            None => self.transport.is_cancelled(),
        }
    }

    /// Returns the `_meta` of the request.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.meta.get_or_init(|| {
            let raw = self.request_params.meta();
            let read = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
            read.unwrap_or_default()
        })
    }

    /// Returns the capabilities that the client declared in this request, or when the connection was initialized.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        self.client_capabilities
            .get_or_init(|| match self.connection_state() {
                Some(state) if !self.version.is_stateless() => state.client_capabilities(),
                _ => Arc::clone(&NO_CAPABILITIES),
            })
    }

    /// Returns the client's description from this request, or from when the connection was initialized.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        let find = || {
            if self.version.is_stateless() {
                // It is for display only, so an invalid value counts as absent.
                self.meta()
                    .get_as(meta_key::CLIENT_INFO)
                    .ok()
                    .flatten()
                    .map(Arc::new)
            } else {
                self.connection_state()
                    .and_then(|state| state.client_info())
            }
        };
        self.client_info.get_or_init(find).as_deref()
    }

    /// Returns the server that serves the request.
    #[must_use]
    pub fn server(&self) -> &Server {
        self.server
            .get_or_init(|| Server::of_snapshot(&self.snapshot))
    }

    /// Returns the state of the connection of this request, if the transport stores one.
    #[must_use]
    pub fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        self.transport.connection_state()
    }

    /// Returns the name of the connection or session, if the transport has one.
    #[must_use]
    pub fn connection_token(&self) -> Option<&str> {
        self.transport.connection_token()
    }

    /// Returns the transport's side of the request: whether the response is a stream, the id of its next event.
    #[must_use]
    pub fn transport(&self) -> &Arc<dyn TransportContext> {
        &self.transport
    }

    /// Returns what the transport verified about the caller's access token.
    #[must_use]
    pub fn auth(&self) -> &TokenInfo {
        self.transport.auth()
    }

    /// Rejects a caller whose token lacks one of these scopes. Transports without tokens reject no caller.
    pub(crate) fn check_scopes(&self, needed: &ScopeSet) -> Result<(), ErrorObject> {
        if self.transport.uses_tokens() {
            self.auth().check_scopes(needed)
        } else {
            Ok(())
        }
    }

    /// Sends `notifications/progress`, if the request has a progress token and the value increased.
    pub(crate) fn report_progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) {
        if let Some(task) = self.task.get() {
            let text = progress::status_message(progress, total, message.as_deref());
            task.set_message(text);
        }
        let Some(token) = &self.progress_token else {
            return;
        };
        // The lock is held until the notification is sent, so that it cannot overtake another one or the outcome.
        let mut reports = self.progress();
        if self.is_cancelled() || !reports.accept(progress) {
            return;
        }
        let total = total.filter(|total| total.is_finite());
        let kind = OutgoingKind::Progress(token.clone());
        if message.is_none() {
            return match reports.message(token, progress, total) {
                Ok(message) => self
                    .transport
                    .notify(OutgoingNotification { message, kind }),
                Err(error) => {
                    tracing::warn!(%error, "a progress notification could not be written as JSON");
                }
            };
        }
        let mut params = ProgressNotificationParams::new(token.clone(), progress);
        params.total = total;
        params.message = message;
        self.notify(progress::METHOD, params, kind);
    }

    /// Sends `notifications/message`, unless its level is below the client's minimum.
    pub(crate) fn log(&self, level: LoggingLevel, data: RawJson, logger: Option<&str>) {
        let is_enabled = self
            .minimum_log_level
            .is_some_and(|minimum| logging::passes(level, minimum));
        if !is_enabled {
            return;
        }
        warn_if_deprecated(DeprecatedFeature::Logging, self.version);
        // The lock is held until the message is sent. Spec 2026-07-28, server/utilities/logging: nothing follows the
        // response.
        let reports = self.progress();
        if reports.is_complete() || self.is_cancelled() {
            return;
        }
        let mut params = LoggingMessageNotificationParams::new(level, data);
        params.logger = logger.map(str::to_owned);
        self.notify("notifications/message", params, OutgoingKind::Log);
    }

    /// Sends a notification, unless the request is cancelled or its outcome is known.
    pub(crate) fn send(&self, notification: OutgoingNotification) {
        // The lock is held until the message is sent, so that nothing follows the response.
        let reports = self.progress();
        if !reports.is_complete() && !self.is_cancelled() {
            self.transport.notify(notification);
        }
    }

    /// Stops progress and log notifications once the outcome is known.
    #[inline]
    pub(crate) fn complete(self: &Arc<Self>) {
        // Without other references to the scope, no task can send notifications.
        let is_shared = Arc::strong_count(self) > 1 || self.first_round.is_some();
        if is_shared {
            self.progress().complete();
        }
    }

    /// Changes one of the parameters.
    pub(crate) fn change_params(&mut self, change: &ParamChange<'_>) {
        let Some(member) = change.member(&self.route) else {
            return;
        };
        // It is read at first use, and must not come from a changed `_meta`.
        let _ = self.client_info();
        let changed = self.request_params.changed(change);
        let sent = std::mem::replace(&mut self.request_params, changed);
        self.sent_params.get_or_insert_with(|| Box::new(sent));
        if let Some(params) = &mut self.params {
            *params = change.apply(member, params);
        }
        self.meta = OnceLock::new();
    }

    /// Returns the parameters that the client sent. It repeats them in the next round, so request state belongs to them.
    #[cfg(feature = "input")]
    pub(crate) fn sent_params(&self) -> &RequestParams {
        self.sent_params.as_deref().unwrap_or(&self.request_params)
    }

    pub(crate) fn notify<P: Stamp + serde::Serialize>(
        &self,
        method: &'static str,
        mut params: P,
        kind: OutgoingKind,
    ) {
        params.stamp(&Target::new(self.version));
        match OutgoingNotification::write(method, &params, kind) {
            Ok(notification) => self.transport.notify(notification),
            Err(error) => {
                tracing::warn!(method, %error, "a notification could not be written as JSON");
            }
        }
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, ProgressReporter> {
        let first = self.first_round.as_deref().unwrap_or(self);
        lock(&first.progress)
    }
}
