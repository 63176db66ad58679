//! Handles single messages, for callers with their own transport and without connections.

use std::sync::Arc;

use toolwire_proto::admit::{self, AdmissionContext, NotificationAction};
use toolwire_proto::envelope::{Envelope, NotificationEnvelope, RequestEnvelope};
use toolwire_proto::lifecycle::Lifecycle;
use toolwire_proto::{stamp, strict_json};
use toolwire_types::{ErrorObject, ResponseId};

use crate::engine::encoding::{encode_error, encode_outcome};
use crate::engine::{NullContext, TransportContext};
use crate::server::Server;
use crate::server::dispatch::Dispatch;
use crate::server::snapshot::Snapshot;

impl Server {
    /// Handles one message without a connection, and returns the response if the message needs one.
    ///
    /// This is for requests that carry their own metadata (2026-07-28). The server does not store an `initialize`,
    /// progress is not sent, and the server cannot send requests to the client. Dropping the future cancels the
    /// request.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use toolwire::Server;
    ///
    /// let server = Server::new("demo", "1.0.0");
    /// let response = server.handle(br#"{"jsonrpc":"2.0","id":1,"method":"nonsense"}"#).await;
    /// assert!(String::from_utf8(response.unwrap()).unwrap().contains("-32601"));
    /// # }
    /// ```
    pub async fn handle(&self, message: &[u8]) -> Option<Vec<u8>> {
        match strict_json::read(message, &strict_json::Limits::default()) {
            Ok(Envelope::Request(request)) => Some(self.handle_request(&request).await),
            Ok(Envelope::Notification(notification)) => {
                self.handle_notification(&notification).await;
                None
            }
            // No request to a client is pending here.
            Ok(Envelope::Response(_)) => None,
            Ok(Envelope::Batch(_)) => {
                let error = ErrorObject::invalid_request("batches need a connection");
                Some(encode_error(stamp::unreadable_id(None), error))
            }
            Err(unreadable) => {
                let id = unreadable
                    .id
                    .map_or_else(|| stamp::unreadable_id(None), ResponseId::Id);
                Some(encode_error(id, unreadable.error))
            }
        }
    }

    /// Runs the handler of a notification that the protocol does not define. The others need a connection: no request
    /// runs here that could be cancelled, and no session exists.
    async fn handle_notification(&self, notification: &NotificationEnvelope<'_>) {
        let snapshot = self.snapshot();
        let action = without_connection(&snapshot, |context| {
            admit::admit_notification(notification, context)
        });
        if let NotificationAction::Custom(..) = action {
            let client = || Arc::new(NullContext::new()) as Arc<dyn TransportContext>;
            if let Some(work) = snapshot.notification_work(notification, client) {
                work.await;
            }
        }
    }

    async fn handle_request(&self, request: &RequestEnvelope<'_>) -> Vec<u8> {
        let reject = |error| encode_error(ResponseId::Id(request.id.clone()), error);
        let snapshot = self.snapshot();
        let admitted = without_connection(&snapshot, |context| admit::admit(request, context));
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(rejection) => return reject(rejection.error),
        };
        let method = admitted.method.name();
        if matches!(method, "subscriptions/listen" | "events/stream") {
            return reject(ErrorObject::invalid_request(format!(
                "`{method}` needs a connection"
            )));
        }
        let version = admitted.version;
        let outcome = match self.open(&admitted, Arc::new(NullContext::new()), None) {
            Ok(exchange) => match self.dispatch(exchange) {
                Dispatch::Now(outcome) => outcome,
                Dispatch::Later(work) => work.await,
            },
            Err(error) => Err(stamp::stamp_error(error, version)),
        };
        encode_outcome(&request.id, outcome)
    }
}

/// Calls `admit` with the admission context of a message that has no connection.
fn without_connection<R>(snapshot: &Snapshot, admit: impl FnOnce(&AdmissionContext<'_>) -> R) -> R {
    admit(&AdmissionContext {
        supported: &snapshot.supported,
        lifecycle: Lifecycle::Fresh,
        headers: None,
        is_custom_method: &|name| snapshot.is_custom_method(name),
        is_custom_notification: &|name| snapshot.is_custom_notification(name),
        require_initialized: false,
    })
}
