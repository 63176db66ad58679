//! The transport of a request whose notifications, or requests to the client, a middleware sees.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use toolwire_types::{Notification, RawJson};

use crate::engine::encoding::encode;
use crate::engine::{
    BoxFuture, Cancellation, ConnectionInfo, ConnectionState, OutgoingNotification, TokenInfo,
    TransportContext, catch_panic,
};
use crate::error::Error;

/// A function that sees the notifications of a request.
pub(crate) type ObserveNotification = dyn Fn(Notification) -> Option<Notification> + Send + Sync;

/// A function that is called when a request to the client starts. It may change the parameters.
pub(crate) type ObserveClientRequest = dyn Fn(&str, &mut RawJson) -> ClientRequestEnd + Send + Sync;

/// A function that is called with the outcome of a request to the client. It is dropped if the request is cancelled.
pub type ClientRequestEnd = Box<dyn FnOnce(&Result<RawJson, Error>) + Send>;

/// What a middleware sees.
pub(crate) enum Observer {
    Notifications(Box<ObserveNotification>),
    ClientRequests(Box<ObserveClientRequest>),
}

/// A transport context that passes messages through a function.
pub(crate) struct ObservedTransport {
    transport: Arc<dyn TransportContext>,
    observer: Observer,
}

impl ObservedTransport {
    pub(crate) fn new(transport: Arc<dyn TransportContext>, observer: Observer) -> Self {
        Self {
            transport,
            observer,
        }
    }

    fn observed(observe: &ObserveNotification, message: &[u8]) -> Option<Vec<u8>> {
        /// The members of a notification.
        #[derive(Deserialize)]
        struct Message {
            method: String,
            params: Option<RawJson>,
        }

        let Message { method, params } = serde_json::from_slice(message).ok()?;
        let notification = Notification::new(method, params);
        // A change of the server is sent by the request that causes it, which must not fail.
        let Ok(observed) = catch_panic(|| observe(notification)) else {
            let _ =
                catch_panic(|| tracing::error!("a function that observes notifications panicked"));
            return None;
        };
        let notification = observed?;
        let written = encode(&notification);
        if let Err(error) = &written {
            tracing::warn!(%error, "a notification that a middleware changed could not be written as JSON");
        }
        written.ok()
    }
}

impl TransportContext for ObservedTransport {
    fn notify(&self, notification: OutgoingNotification) {
        let Observer::Notifications(observe) = &self.observer else {
            return self.transport.notify(notification);
        };
        if let Some(message) = Self::observed(observe, &notification.message) {
            let kind = notification.kind;
            self.transport
                .notify(OutgoingNotification { message, kind });
        }
    }

    #[cfg(any(feature = "events", feature = "relay"))]
    fn is_full(&self) -> bool {
        self.transport.is_full()
    }

    #[cfg(feature = "relay")]
    fn report_drop(&self) {
        self.transport.report_drop();
    }

    fn queued_messages(&self) -> usize {
        self.transport.queued_messages()
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        let Observer::ClientRequests(observe) = &self.observer else {
            return self.transport.request(method, params);
        };
        Box::pin(async move {
            let mut params = params;
            let end = observe(method, &mut params);
            let outcome = self.transport.request(method, params).await;
            end(&outcome);
            outcome
        })
    }

    fn can_request(&self) -> bool {
        self.transport.can_request()
    }

    fn connection_state(&self) -> Option<&Arc<ConnectionState>> {
        self.transport.connection_state()
    }

    fn connection_token(&self) -> Option<&str> {
        self.transport.connection_token()
    }

    fn connection_info(&self) -> Option<&ConnectionInfo> {
        self.transport.connection_info()
    }

    fn client_channel(&self) -> Option<Arc<dyn TransportContext>> {
        self.transport.client_channel()
    }

    fn ended(&self) -> Option<Cancellation> {
        self.transport.ended()
    }

    fn streaming(&self) -> bool {
        self.transport.streaming()
    }

    fn next_event_id(&self) -> Option<String> {
        self.transport.next_event_id()
    }

    fn is_cancelled(&self) -> bool {
        self.transport.is_cancelled()
    }

    fn cancellation(&self) -> Option<Cancellation> {
        self.transport.cancellation()
    }

    fn release_stream(&self) -> bool {
        self.transport.release_stream()
    }

    fn uses_tokens(&self) -> bool {
        self.transport.uses_tokens()
    }

    fn auth(&self) -> &TokenInfo {
        self.transport.auth()
    }
}

impl fmt::Debug for ObservedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservedTransport")
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}
