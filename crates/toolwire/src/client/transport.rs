//! The traits that a client transport implements.
//!
//! [`Connect`] opens a [`ClientTransport`]. The transport sends a request and returns its response. All other messages
//! go to the [`IncomingMessages`]. Dropping an exchange cancels it in the way that the transport defines.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use toolwire_proto::mirrored_headers::MirroredHeader;
use toolwire_proto::negotiate::{Channel, DetectedEra};
use toolwire_proto::requests;
use toolwire_types::{
    CancelledNotificationParams, ErrorObject, ProtocolVersion, RawJson, RequestId, json,
};

use crate::client::incoming::IncomingMessages;
use crate::client::send::{encode_notification, trace_wire};
use crate::engine::{BoxFuture, Cancellation, ConnectionInfo};
use crate::error::Error;

/// The bytes of a request besides its method and parameters, with an id of up to 19 digits.
const ENVELOPE_BYTES: usize = 64;

/// The response of a server: the result or the error object.
pub(crate) type ServerResponse = Result<RawJson, ErrorObject>;

/// A request to the server.
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) id: RequestId,
    pub(crate) method: Cow<'static, str>,
    /// The parameters with `_meta`, as they are sent.
    pub(crate) params: Option<RawJson>,
    /// The protocol version of the request.
    pub(crate) version: ProtocolVersion,
    /// Headers that repeat parts of the body (HTTP, modern era): names and encoded values.
    pub(crate) mirrored: Vec<MirroredHeader>,
    /// The cancellation flag of the request that a relay forwards.
    pub(crate) forwarded: Option<Cancellation>,
}

impl OutgoingRequest {
    /// Returns the same request with other parameters.
    pub(crate) fn with_params(&self, params: RawJson) -> Self {
        Self {
            id: self.id.clone(),
            method: self.method.clone(),
            params: Some(params),
            version: self.version,
            mirrored: self.mirrored.clone(),
            forwarded: self.forwarded.clone(),
        }
    }

    /// Encodes the JSON-RPC message.
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

    /// Returns `true` if the client may send a cancellation for this request.
    pub(crate) fn is_cancellable(&self) -> bool {
        requests::is_cancellable(&self.method)
    }

    /// Encodes the notification that cancels the request.
    pub(crate) fn encode_cancellation(&self) -> Vec<u8> {
        let given = self.forwarded.as_ref().and_then(Cancellation::reason);
        let reason = given.unwrap_or("the caller stopped waiting").to_owned();
        let params = CancelledNotificationParams::new(self.id.clone()).with_reason(reason);
        let params = RawJson::from_serialize(&params).expect("a notification always serialises");
        encode_notification("notifications/cancelled", Some(params))
    }
}

/// An open transport to a server.
pub(crate) trait ClientTransport: fmt::Debug + Send + Sync {
    /// Sends a request and waits for its response. Dropping the future cancels the request.
    ///
    /// # Errors
    /// Returns an error if there is no response. An error object of the server is a [`ServerResponse`], unless it has
    /// an HTTP status that is not a success. Then it is an error with that status.
    fn exchange<'a>(
        &'a self,
        request: &'a OutgoingRequest,
    ) -> BoxFuture<'a, Result<ServerResponse, Error>>;

    /// Sends a notification.
    fn notify(
        &self,
        method: Cow<'static, str>,
        params: Option<RawJson>,
    ) -> BoxFuture<'_, Result<(), Error>>;

    /// Sets the negotiated version. A transport that sends a version header needs it.
    fn set_version(&self, version: ProtocolVersion);

    /// Marks the session as initialized. A transport with a server stream opens it now.
    fn ready(&self);

    /// Waits until the server stream is open, or until it is certain that the server has no such stream. Messages that
    /// the server sends before that are lost.
    fn server_stream_ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Removes a request that the server ended without a response. No cancellation is sent for it.
    fn forget(&self, id: &RequestId) {
        let _ = id;
    }

    /// Returns the number of requests that wait for a response.
    fn open_entries(&self) -> usize {
        0
    }

    /// Returns `true` if nothing can be sent any more.
    fn is_closed(&self) -> bool;

    /// Closes the connection and waits until its resources are released. Dropping the transport closes it without
    /// waiting.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Returns what a server process wrote instead of messages, as the end of a sentence. `None` if it wrote nothing, or
    /// if there is no process.
    fn output(&self) -> Option<String> {
        None
    }

    /// Closes a connection that did not become ready, without waiting. A server process is terminated at once,
    /// without a grace period, because it has no work to finish. Does nothing on a closed transport.
    fn terminate(&self) {}
}

/// Opens transports to one server, as often as the probe needs.
pub(crate) trait Connect: fmt::Debug + Send + Sync {
    /// Returns the channel, which decides how the era is detected.
    fn channel(&self) -> Channel;

    /// Returns `true` if each transport is a process that [`open`](Self::open) starts.
    #[cfg(feature = "relay")]
    fn starts_process(&self) -> bool {
        false
    }

    /// Returns the server's name for errors and for the key of a shared cache: a URL or a command. Empty if only this
    /// client can reach the server.
    fn name(&self) -> String;

    /// Returns what is known about the connections, for logs and traces.
    fn connection_info(&self) -> ConnectionInfo {
        ConnectionInfo::default()
    }

    /// Opens a transport. It is called again if a child process did not survive the probe.
    fn open(
        &self,
        incoming: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>>;

    /// Returns the era of this server that an earlier connection recorded with [`record_era`](Self::record_era).
    fn recorded_era(&self) -> Option<DetectedEra> {
        None
    }

    /// Records the era of a server process that did not survive the probe, or did not respond to it, for later
    /// connections.
    fn record_era(&self, era: DetectedEra) {
        let _ = era;
    }

    /// Opens the HTTP+SSE transport of 2024-11-05, if this connector supports it.
    fn open_http_with_sse(
        &self,
        incoming: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        drop(incoming);
        Box::pin(async {
            Err(Error::invalid_request(
                "this transport has no HTTP+SSE variant",
            ))
        })
    }
}
