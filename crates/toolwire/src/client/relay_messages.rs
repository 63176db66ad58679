//! The receiver of the messages of an upstream server.

use std::fmt;

use toolwire_proto::envelope::{NotificationEnvelope, RequestEnvelope};
use toolwire_types::{ErrorObject, RawJson, RequestId};

use crate::engine::BoxFuture;

/// Receives the messages of one connection to an upstream server.
///
/// `origin` is the request on whose stream a message arrived. There is no such request on transports with one stream for all
/// messages, and on the server stream of a session.
pub(crate) trait RelayMessages: fmt::Debug + Send + Sync {
    /// Handles a notification, without waiting.
    fn on_notification(&self, notification: &NotificationEnvelope<'_>, origin: Option<&RequestId>);

    /// Returns the response to a request of a legacy server. Dropping the future cancels it.
    fn on_request(
        &self,
        request: &RequestEnvelope<'_>,
        origin: Option<&RequestId>,
    ) -> BoxFuture<'static, Result<RawJson, ErrorObject>>;

    /// Handles the end of the stream of a request before its response. The relay resumes the stream.
    #[cfg_attr(
        not(feature = "http-client"),
        expect(dead_code, reason = "only HTTP has a stream for each request")
    )]
    fn on_stream_released(&self, request: &RequestId);

    /// Handles the replacement of a lost session by a new one.
    #[cfg_attr(
        not(feature = "http-client"),
        expect(dead_code, reason = "only HTTP has sessions that are lost")
    )]
    fn on_session_renewed(&self);
}
