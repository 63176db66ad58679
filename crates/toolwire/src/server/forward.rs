//! A server that forwards its requests and notifications instead of handling them.

use std::fmt;
use std::sync::Arc;

use toolwire_proto::envelope::NotificationEnvelope;
#[cfg(feature = "http-server")]
use toolwire_proto::param_headers::ParamHeader;

#[cfg(feature = "http-server")]
use crate::engine::Principal;
use crate::engine::{BoxFuture, ConnectionState, Outcome, TransportContext};
use crate::server::Server;
use crate::server::request::Exchange;

/// Serves all requests of a server. A relay implements it.
pub(crate) trait Forwarder: fmt::Debug + Send + Sync {
    /// Serves a request. Dropping the future cancels it. The outcome is sent unchanged.
    fn serve(&self, exchange: Exchange) -> BoxFuture<'static, Outcome>;

    /// Returns the work for a notification of a client, other than a cancellation. `client` is the channel to the client.
    fn notification(
        &self,
        notification: &NotificationEnvelope<'_>,
        client: Arc<dyn TransportContext>,
    ) -> BoxFuture<'static, ()>;

    /// Returns the headers that repeat arguments of a tool, as far as the server behind has listed it to the principal.
    #[cfg(feature = "http-server")]
    fn param_headers(&self, tool: &str, principal: Principal) -> Vec<ParamHeader>;

    /// Handles the creation of an HTTP session for a connection that was initialized with `state`.
    #[cfg_attr(
        not(feature = "http-server"),
        expect(dead_code, reason = "only HTTP has sessions")
    )]
    fn session_opened(&self, state: &Arc<ConnectionState>, session: &str);

    /// Handles the end of an HTTP session: it was deleted, or it has expired. May be called more than once.
    #[cfg_attr(
        not(feature = "http-server"),
        expect(dead_code, reason = "only HTTP has sessions")
    )]
    fn session_closed(&self, session: &str);
}

impl Server {
    /// Forwards all requests and notifications.
    pub(crate) fn with_forwarder(self, forwarder: Arc<dyn Forwarder>) -> Self {
        self.change(|snapshot| snapshot.forwarder = Some(forwarder));
        self
    }
}
