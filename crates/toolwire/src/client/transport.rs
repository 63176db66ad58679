//! What the client asks of a transport.
//!
//! A [`Dial`] opens a [`Link`]; a link carries exchanges: a request goes out, its answer comes back, and whatever else
//! arrives goes to the [`Inbox`]. Dropping an exchange cancels it, in the way of the transport.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use toolwire_proto::mirrored_headers::MirroredHeader;
use toolwire_proto::negotiate::Channel;
use toolwire_proto::requests;
use toolwire_types::{
    CancelledNotificationParams, ErrorObject, ProtocolVersion, RawJson, RequestId, json,
};

use crate::client::incoming::IncomingMessages;
use crate::client::send::{encode_notification, trace_wire};
use crate::engine::BoxFuture;
use crate::error::Error;

/// What a request has around its method and its parameters, with an id of up to 19 digits.
const ENVELOPE_BYTES: usize = 64;

/// What a server answered: the result, or the error it names.
pub(crate) type ServerResponse = Result<RawJson, ErrorObject>;

/// One request on its way to the server.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "http-client"),
    expect(dead_code, reason = "only HTTP has headers")
)]
pub(crate) struct OutgoingRequest {
    pub(crate) id: RequestId,
    pub(crate) method: Cow<'static, str>,
    /// The parameters with their `_meta`, as they go over the wire.
    pub(crate) params: Option<RawJson>,
    /// The revision it is sent in.
    pub(crate) version: ProtocolVersion,
    /// Headers that repeat parts of the body, on HTTP in the modern era: names and encoded values.
    pub(crate) mirrored: Vec<MirroredHeader>,
}

impl OutgoingRequest {
    /// The message as it goes over the wire.
    pub(crate) fn encode(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct RequestMessage<'a> {
            jsonrpc: &'static str,
            id: &'a RequestId,
            method: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<&'a RawJson>,
        }

        let envelope = RequestMessage {
            jsonrpc: "2.0",
            id: &self.id,
            method: &self.method,
            params: self.params.as_ref(),
        };
        let params = self.params.as_ref().map_or(0, |params| params.get().len());
        let mut message = Vec::with_capacity(ENVELOPE_BYTES + self.method.len() + params);
        json::write(&mut message, &envelope).expect("a request always serialises");
        trace_wire("sent", &message);
        message
    }

    /// Whether the server may be told that nobody waits any more.
    pub(crate) fn is_cancellable(&self) -> bool {
        requests::is_cancellable(&self.method)
    }

    /// The notification that takes the request back.
    pub(crate) fn cancelled(&self) -> Vec<u8> {
        let params = CancelledNotificationParams::new(self.id.clone())
            .with_reason("the caller stopped waiting");
        let params = RawJson::from_serialize(&params).expect("a notification always serialises");
        encode_notification("notifications/cancelled", Some(params))
    }
}

/// A way to a server that is open.
pub(crate) trait ClientTransport: fmt::Debug + Send + Sync {
    /// Sends a request and waits for its answer. Dropping the future takes the request back.
    ///
    /// The error says that there is no answer and why; an error the server *answered* with is an [`Answer`], unless it
    /// came under an HTTP status that is not a success: then it is an error with that status.
    fn exchange<'a>(
        &'a self,
        request: &'a OutgoingRequest,
    ) -> BoxFuture<'a, Result<ServerResponse, Error>>;

    /// Sends a message that is not answered: a notification.
    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, Result<(), Error>>;

    /// What is spoken from now on; a link that sends a version header with everything has to know.
    fn set_version(&self, version: ProtocolVersion);

    /// The server has been told that the session begins: a session with a stream for the server's own messages opens it.
    fn ready(&self);

    /// Waits until the stream for the server's own messages is open, or it is certain that there is none: what the
    /// server says before that is lost.
    fn server_stream_ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The server has said that a request is over in some other way than by an answer: nobody needs to be told.
    fn forget(&self, id: &RequestId) {
        let _ = id;
    }

    /// How many requests wait for their answer.
    fn open_entries(&self) -> usize {
        0
    }

    /// Whether nothing can be sent any more.
    fn is_closed(&self) -> bool;

    /// Ends the connection and waits until everything that belongs to it is gone. Dropping the link ends it, too,
    /// without waiting.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Ends a connection that did not get ready, without waiting. A server process is asked to terminate at once, not
    /// after a grace: it has no work to finish. Does nothing on a closed link.
    fn terminate(&self) {}
}

/// How links to one server are opened, as often as the probe wants.
pub(crate) trait Connect: fmt::Debug + Send + Sync {
    /// Which kind of evidence about the era counts.
    fn channel(&self) -> Channel;

    /// The server's name in errors and in the key of a shared cache: a URL or a command. Empty when only this one
    /// client can reach the server.
    fn name(&self) -> String;

    /// Opens a link; called a second time when a child process died of the probe.
    fn open(
        &self,
        inbox: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>>;

    /// Opens the two-endpoint transport of 2024-11-05, where there is such a thing.
    fn open_http_with_sse(
        &self,
        inbox: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        drop(inbox);
        Box::pin(async { Err(Error::refused("this transport has no HTTP+SSE variant")) })
    }
}
