//! The error −32042, and the completion of URL elicitations after the request that named them.

use toolwire_proto::elicit_url::check_required_elicitations;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::rounds;
use toolwire_types::{
    ElicitRequestURLParams, ElicitationCompleteNotificationParams, ErrorObject, InputRequest,
    RawJson, URLElicitationRequiredData, code,
};

use crate::engine::OutgoingNotification;
use crate::error::Error;
use crate::server::access::check_declared;
use crate::server::{RequestContext, Server};

impl Server {
    /// Notifies the client that the interaction at a URL is complete, after the request that named the URL has ended:
    /// the one of [`RequestContext::elicit_url`] or [`RequestContext::url_elicitation_required`].
    ///
    /// Only the client that received the elicitation is notified, and only once. Returns `false`, and sends nothing, if
    /// no connected client of this node received it.
    pub fn elicitation_complete(&self, elicitation_id: &str) -> bool {
        let elicitations = &self.hub().elicitations;
        let Some(recipient) = elicitations.recipient(elicitation_id) else {
            return false;
        };
        let clients = self.hub().clients();
        let Some(client) = clients
            .iter()
            .find(|client| recipient.is(&***client) && client.can_request())
        else {
            return false;
        };
        let params = ElicitationCompleteNotificationParams::new(elicitation_id);
        let method = "notifications/elicitation/complete";
        match OutgoingNotification::write(method, &params, OutgoingKind::Other) {
            Ok(notification) => {
                let is_first = elicitations.remove(elicitation_id);
                if is_first {
                    client.notify(notification);
                }
                is_first
            }
            Err(error) => {
                tracing::warn!(%error, "a notification could not be written as JSON");
                false
            }
        }
    }
}

impl RequestContext {
    /// Creates the error −32042: the request can succeed only after the user has visited these URLs (2025-11-25). Call
    /// [`Server::elicitation_complete`] when the user has finished, so that the client can repeat the request.
    ///
    /// Each elicitation needs an id. In other revisions, and on 2026-07-28, use
    /// [`ask_url`](RequestContext::ask_url), which works in all of them.
    ///
    /// ```
    /// use toolwire::types::ElicitRequestURLParams;
    /// use toolwire::{Error, RequestContext, tool};
    ///
    /// /// Lists the user's repositories.
    /// #[tool]
    /// async fn repositories(ctx: &RequestContext) -> Result<String, Error> {
    ///     let page = ElicitRequestURLParams::new("Connect your account.", "https://example.com/connect?id=7")
    ///         .with_elicitation_id("7");
    ///     Err(ctx.url_elicitation_required([page]))
    /// }
    /// ```
    ///
    /// If the elicitations are invalid, the returned error describes the reason: the list is empty, an elicitation has no id
    /// or no absolute `http` or `https` URL, or the client or its revision does not support it.
    #[must_use]
    pub fn url_elicitation_required(
        &self,
        elicitations: impl IntoIterator<Item = ElicitRequestURLParams>,
    ) -> Error {
        let elicitations: Vec<_> = elicitations.into_iter().collect();
        match self.check_elicitations(&elicitations) {
            Ok(data) => {
                for elicitation in &elicitations {
                    self.remember_elicitation(elicitation);
                }
                let message = "the user has to visit a URL first";
                ErrorObject::new(code::URL_ELICITATION_REQUIRED, message)
                    .with_data(data)
                    .into()
            }
            Err(error) => error,
        }
    }

    /// Records who received a valid URL elicitation, for [`Server::elicitation_complete`].
    pub(crate) fn remember_elicitation(&self, elicitation: &ElicitRequestURLParams) {
        if let Some(id) = &elicitation.elicitation_id {
            let hub = self.server().hub();
            hub.elicitations.add(id, &**self.scope().transport());
        }
    }

    fn check_elicitations(
        &self,
        elicitations: &[ElicitRequestURLParams],
    ) -> Result<RawJson, Error> {
        check_required_elicitations(elicitations)
            .map_err(|invalid| ErrorObject::internal(invalid.to_string()))?;
        if !self.version().has_url_elicitation_error() {
            return Err(ErrorObject::internal(
                "this revision does not have the error −32042; use `ask_url`, which works in every revision",
            )
            .into());
        }
        for elicitation in elicitations {
            let request = InputRequest::from(elicitation.clone());
            let required = rounds::required_capabilities([&request]);
            check_declared(&required, self.client_capabilities())?;
        }
        let data = URLElicitationRequiredData::new(elicitations.to_vec());
        RawJson::from_serialize(&data)
            .map_err(|error| Error::decode("the data of the error −32042", error))
    }
}
