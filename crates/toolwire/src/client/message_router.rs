//! Routes each message of the server: responses to the pending calls, everything else to the incoming messages.

use std::sync::Arc;

use toolwire_proto::envelope::{Envelope, MalformedMessage, ResponseEnvelope};
use toolwire_proto::strict_json;
use toolwire_types::RequestId;

use crate::client::incoming::IncomingMessages;
use crate::client::send::{SendMessage, trace_wire};

/// Routes the messages of one connection.
#[derive(Debug, Clone)]
pub(crate) struct MessageRouter {
    pub(crate) incoming: Arc<IncomingMessages>,
    /// Sends the responses to the server's requests.
    pub(crate) reply: Arc<dyn SendMessage>,
}

impl MessageRouter {
    /// Routes one message. `origin` is the request on whose stream it arrived, if it has a stream of its own.
    /// `on_response` is called for every response in the message.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid message. A client never responds to that.
    pub(crate) fn route(
        &self,
        bytes: &[u8],
        origin: Option<&RequestId>,
        on_response: &mut dyn FnMut(ResponseEnvelope<'_>),
    ) -> Result<(), MalformedMessage> {
        trace_wire("received", bytes);
        self.incoming.handlers.wire.received(bytes, origin);
        match strict_json::read(bytes, &strict_json::Limits::default())? {
            Envelope::Batch(elements) => {
                for element in elements {
                    let element = element.get().as_bytes();
                    match strict_json::read(element, &strict_json::Limits::default()) {
                        Ok(Envelope::Batch(_)) | Err(_) => {
                            self.incoming.count_skipped("an unreadable part of a batch");
                        }
                        Ok(envelope) => self.route_single(envelope, origin, on_response),
                    }
                }
            }
            envelope => self.route_single(envelope, origin, on_response),
        }
        Ok(())
    }

    fn route_single(
        &self,
        envelope: Envelope<'_>,
        origin: Option<&RequestId>,
        on_response: &mut dyn FnMut(ResponseEnvelope<'_>),
    ) {
        match envelope {
            Envelope::Response(response) => {
                // Before the call gets the error, because the server may report a completion at once.
                if let Err(error) = &response.outcome {
                    self.incoming.on_error(error);
                }
                on_response(response);
            }
            Envelope::Notification(notification) => {
                self.incoming.on_notification(&notification, origin);
            }
            Envelope::Request(request) => {
                self.incoming.on_request(&request, origin, &self.reply);
            }
            Envelope::Batch(_) => self.incoming.count_skipped("a batch within a batch"),
        }
    }
}
