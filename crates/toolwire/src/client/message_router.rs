//! One message of the server, sorted: answers to whoever waits, everything else to the inbox.

use std::sync::Arc;

use toolwire_proto::envelope::{Envelope, MalformedMessage, ResponseEnvelope};
use toolwire_proto::strict_json;

use crate::client::incoming::IncomingMessages;
use crate::client::send::{SendMessage, trace_wire};

/// Where messages of one connection go.
#[derive(Debug, Clone)]
pub(crate) struct MessageRouter {
    pub(crate) inbox: Arc<IncomingMessages>,
    /// How the server's own requests are answered.
    pub(crate) reply: Arc<dyn SendMessage>,
}

impl MessageRouter {
    /// Takes one message; `answered` gets every answer in it.
    ///
    /// # Errors
    /// When it is no message; a client never answers that.
    pub(crate) fn message(
        &self,
        bytes: &[u8],
        answered: &mut dyn FnMut(ResponseEnvelope<'_>),
    ) -> Result<(), MalformedMessage> {
        trace_wire("received", bytes);
        match strict_json::read(bytes, &strict_json::Limits::default())? {
            Envelope::Batch(elements) => {
                for element in elements {
                    let element = element.get().as_bytes();
                    match strict_json::read(element, &strict_json::Limits::default()) {
                        Ok(Envelope::Batch(_)) | Err(_) => {
                            self.inbox.skipped("an unreadable part of a batch");
                        }
                        Ok(envelope) => self.single(envelope, answered),
                    }
                }
            }
            envelope => self.single(envelope, answered),
        }
        Ok(())
    }

    fn single(&self, envelope: Envelope<'_>, answered: &mut dyn FnMut(ResponseEnvelope<'_>)) {
        match envelope {
            Envelope::Response(response) => answered(response),
            Envelope::Notification(notification) => self.inbox.notification(&notification),
            Envelope::Request(request) => self.inbox.request(&request, &self.reply),
            Envelope::Batch(_) => self.inbox.skipped("a batch within a batch"),
        }
    }
}
