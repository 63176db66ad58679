//! The channel to the client of a session, outside of its requests: the GET stream of the session.

use std::sync::Arc;

use toolwire_types::RawJson;

use crate::engine::transport::no_channel;
use crate::engine::{
    BoxFuture, Cancellation, ConnectionState, OutgoingNotification, TokenInfo, TransportContext,
};
use crate::error::Error;
use crate::transport::http::session::active::ActiveSession;
use crate::transport::outgoing_queue::MessageSink as _;

/// The channel to the client of one session.
#[derive(Debug)]
pub(crate) struct SessionChannel {
    session: Arc<ActiveSession>,
    /// The token of the message that the channel was created for.
    auth: Option<Arc<TokenInfo>>,
}

impl SessionChannel {
    pub(crate) fn new(session: Arc<ActiveSession>, auth: Option<Arc<TokenInfo>>) -> Self {
        Self { session, auth }
    }
}

impl TransportContext for SessionChannel {
    fn notify(&self, notification: OutgoingNotification) {
        match self.session.push_task() {
            Some(push) => push.push(notification.kind, notification.message),
            None => {
                tracing::debug!("dropped a notification, because the session has no GET stream");
            }
        }
    }

    #[cfg(any(feature = "events", feature = "relay"))]
    fn is_full(&self) -> bool {
        self.session.push_task().is_some_and(|push| push.is_full())
    }

    #[cfg(feature = "relay")]
    fn report_drop(&self) {
        if let Some(push) = self.session.push_task() {
            push.report_drop();
        }
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let push = self.session.push_task();
            let push = push.ok_or_else(|| no_channel(method))?;
            self.session.request(&*push, method, params).await
        })
    }

    fn can_request(&self) -> bool {
        let push = self.session.push_task();
        push.is_some_and(|push| push.has_reader())
    }

    fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        Some(&self.session.state)
    }

    fn client_channel(&self) -> Option<Arc<dyn TransportContext>> {
        let session = Arc::clone(&self.session);
        Some(Arc::new(Self::new(session, self.auth.clone())))
    }

    fn ended(&self) -> Option<Cancellation> {
        Some(self.session.key.ended.clone())
    }

    fn connection_token(&self) -> Option<&str> {
        Some(&self.session.key.id)
    }

    fn uses_tokens(&self) -> bool {
        true
    }

    fn auth(&self) -> &TokenInfo {
        self.auth.as_deref().unwrap_or(TokenInfo::none())
    }
}
