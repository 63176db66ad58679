//! The scope of a request whose handler asks for input: requests to the client, and further rounds.

use std::sync::{Arc, Mutex, OnceLock};

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{ElicitationCompleteNotificationParams, ErrorObject, RawJson};

use crate::engine::transport::no_channel;
use crate::error::Error;
use crate::server::request::RoundState;
use crate::server::request::scope::RequestScope;

impl RequestScope {
    /// Sends `notifications/elicitation/complete`, in the one revision that has it.
    pub(crate) fn elicitation_complete(&self, elicitation_id: String) {
        if !self.version.has_elicitation_id() {
            return;
        }
        let reports = self.progress();
        if reports.is_complete() || self.is_cancelled() {
            return;
        }
        self.notify(
            "notifications/elicitation/complete",
            ElicitationCompleteNotificationParams::new(elicitation_id),
            OutgoingKind::Other,
        );
    }

    /// Sends a request to the client and waits for its response.
    ///
    /// # Errors
    /// Returns an error during a stateless request, if the transport has no channel to the client, and if the request
    /// fails.
    pub(crate) async fn request(&self, method: &str, params: RawJson) -> Result<RawJson, Error> {
        self.reject_if_stateless(method)?;
        if !self.transport.can_request() {
            return Err(no_channel(method));
        }
        self.transport.request(method, params).await
    }

    /// Rejects a request to the client during a stateless request.
    ///
    /// Spec 2026-07-28, basic/transports/stdio: a server must not write requests, even if a channel exists.
    pub(crate) fn reject_if_stateless(&self, method: &str) -> Result<(), Error> {
        if !self.is_stateless() {
            return Ok(());
        }
        Err(ErrorObject::internal(format!(
            "`{method}` cannot be sent during a stateless request; use `ask` and its siblings, which work in every \
             revision, or return `input_required` and read `input_responses` when the client retries"
        ))
        .into())
    }

    /// Creates the scope of the next round, with the input responses gathered for it.
    pub(crate) fn next_round(self: &Arc<Self>, round: RoundState) -> Self {
        Self {
            server: OnceLock::new(),
            snapshot: Arc::clone(&self.snapshot),
            transport: Arc::clone(&self.transport),
            route: self.route.clone(),
            params: self.params.clone(),
            id: self.id.clone(),
            version: self.version,
            client_capabilities: self.client_capabilities.clone(),
            minimum_log_level: self.minimum_log_level,
            progress_token: self.progress_token.clone(),
            request_params: self.request_params.clone(),
            sent_params: self.sent_params.clone(),
            meta: OnceLock::new(),
            client_info: OnceLock::new(),
            cancellation: self.cancellation.clone(),
            task: self.task.clone(),
            may_ask_input: self.may_ask_input,
            round,
            progress: Mutex::default(),
            first_round: Some(Arc::clone(self.first_round.as_ref().unwrap_or(self))),
        }
    }
}
