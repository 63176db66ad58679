//! The scope of one request: what is known about it only after its message was parsed.
//!
//! It wraps the transport's context and is installed before the handler runs. The version in effect is fixed here, so
//! that nothing another request does can change it while a handler waits.

#[cfg(feature = "input")]
mod input;

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

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

use crate::engine::exchange::MethodRoute;
use crate::engine::progress::{self, Progress};
use crate::engine::{
    Cancellation, ConnectionState, OutgoingNotification, RequestParams, RoundState, TokenInfo,
    TransportContext,
};
use crate::server::Server;
use crate::server::snapshot::Snapshot;

/// Most requests declare nothing, and share this.
static NO_CAPABILITIES: LazyLock<Arc<ClientCapabilities>> = LazyLock::new(Arc::default);

/// One request as its handler sees it. [`RequestContext`](crate::RequestContext) is the handle to it.
#[derive(Debug)]
pub struct RequestScope {
    /// Found when somebody asks.
    pub(crate) server: OnceLock<Server>,
    /// The server as it was when the request came.
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) transport: Arc<dyn TransportContext>,
    pub(crate) route: MethodRoute,
    /// All parameters, of methods that need more than what is kept.
    pub(crate) params: Option<RawJson>,
    pub(crate) id: RequestId,
    pub(crate) version: ProtocolVersion,
    /// What the client declared: in this request, or else what the connection knows once somebody asks.
    pub(crate) client_capabilities: OnceLock<Arc<ClientCapabilities>>,
    /// `None` drops every log message.
    pub(crate) minimum_log_level: Option<LoggingLevel>,
    pub(crate) progress_token: Option<ProgressToken>,
    pub(crate) kept: RequestParams,
    /// Read when somebody asks.
    pub(crate) meta: OnceLock<Box<Meta>>,
    pub(crate) client_info: OnceLock<Option<Arc<Implementation>>>,
    pub(crate) cancellation: Option<Cancellation>,
    /// Whether the request may be answered with `input_required`.
    #[cfg(feature = "input")]
    pub(crate) may_ask_input: bool,
    #[cfg_attr(
        not(feature = "input"),
        expect(dead_code, reason = "there is nothing in it")
    )]
    pub(crate) round: RoundState,
    pub(crate) progress: Mutex<Progress>,
    /// The scope of the first round, whose gate all rounds share.
    pub(crate) first_round: Option<Arc<RequestScope>>,
}

impl RequestScope {
    /// The id of the request.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.id
    }

    /// The protocol version in effect for this very request: the negotiated one on a legacy connection, the one in the
    /// request's `_meta` otherwise.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// Whether the request describes itself and there is no channel to ask the client anything.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.version.is_stateless()
    }

    /// Whether the client cancelled the request. Without a flag of its own the transport's word counts.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match &self.cancellation {
            Some(flag) => flag.is_cancelled() || self.transport.is_cancelled(),
            None => self.transport.is_cancelled(),
        }
    }

    /// The `_meta` of the request.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.meta.get_or_init(|| {
            let raw = self.kept.meta();
            let read = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
            read.unwrap_or_default()
        })
    }

    /// What the client declared: in this request, or when the connection was initialized.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        self.client_capabilities
            .get_or_init(|| match self.connection_state() {
                Some(state) if !self.version.is_stateless() => state.client_capabilities(),
                _ => Arc::clone(&NO_CAPABILITIES),
            })
    }

    /// What the client calls itself: in this request, or when the connection was initialized.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        let find = || {
            if self.version.is_stateless() {
                // For display only, so a strange one counts as none.
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

    /// The server that serves it.
    #[must_use]
    pub fn server(&self) -> &Server {
        self.server
            .get_or_init(|| Server::of_snapshot(&self.snapshot))
    }

    /// The state of the connection the transport resolved for this request, if it keeps one.
    #[must_use]
    pub fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        self.transport.connection_state()
    }

    /// The name of the connection or session, if the transport is scoped to one.
    #[must_use]
    pub fn connection_token(&self) -> Option<&str> {
        self.transport.connection_token()
    }

    /// Who is calling.
    #[must_use]
    pub fn auth(&self) -> &TokenInfo {
        self.transport.auth()
    }

    /// Refuses a caller that lacks one of these scopes; where there are no tokens, nobody does.
    pub(crate) fn check_scopes(&self, needed: &ScopeSet) -> Result<(), ErrorObject> {
        if self.transport.uses_tokens() {
            self.auth().check_scopes(needed)
        } else {
            Ok(())
        }
    }

    /// Sends `notifications/progress`, if the request asked for it and the value grew.
    pub(crate) fn report_progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) {
        let Some(token) = &self.progress_token else {
            return;
        };
        // Held until it is sent, so that two threads cannot overtake each other, nor the outcome one of them.
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
                Err(error) => tracing::warn!(%error, "progress could not be written"),
            };
        }
        let mut params = ProgressNotificationParams::new(token.clone(), progress);
        params.total = total;
        params.message = message;
        self.notify(progress::METHOD, params, kind);
    }

    /// Sends `notifications/message`, unless it is below what the client wants to see.
    pub(crate) fn log(&self, level: LoggingLevel, data: RawJson, logger: Option<&str>) {
        let wanted = self
            .minimum_log_level
            .is_some_and(|minimum| logging::passes(level, minimum));
        if !wanted {
            return;
        }
        // Held until it is sent: spec 2026-07-28, server/utilities/logging, nothing follows the response.
        let reports = self.progress();
        if reports.is_complete() || self.is_cancelled() {
            return;
        }
        let mut params = LoggingMessageNotificationParams::new(level, data);
        params.logger = logger.map(str::to_owned);
        self.notify("notifications/message", params, OutgoingKind::Log);
    }

    /// Nothing more is reported once the outcome is known.
    #[inline]
    pub(crate) fn complete(self: &Arc<Self>) {
        // Where nobody else has the scope, nobody can report anything.
        let is_shared = Arc::strong_count(self) > 1 || self.first_round.is_some();
        if is_shared {
            self.progress().complete();
        }
    }

    fn notify<P: Stamp + serde::Serialize>(
        &self,
        method: &'static str,
        mut params: P,
        kind: OutgoingKind,
    ) {
        params.stamp(&Target::new(self.version));
        match OutgoingNotification::write(method, &params, kind) {
            Ok(notice) => self.transport.notify(notice),
            Err(error) => tracing::warn!(method, %error, "a notification could not be written"),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        let first = self.first_round.as_deref().unwrap_or(self);
        first
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
