//! A JSON-RPC message, borrowed from the bytes it came in.
//!
//! [`crate::strict_json`] produces these; [`crate::admit`] decides what becomes of them.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::param_members::ParamMembers;

/// One message of the wire, classified by which members are present.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON-RPC has exactly these kinds of message"
)]
pub enum Envelope<'a> {
    /// Has `method` and `id`.
    Request(RequestEnvelope<'a>),
    /// Has `method` and no `id`.
    Notification(NotificationEnvelope<'a>),
    /// Has `result` or `error`.
    Response(ResponseEnvelope<'a>),
    /// A JSON array: the messages of a batch, unread. Only one revision knows batches.
    Batch(Vec<&'a RawValue>),
}

/// A request as it was read.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the members JSON-RPC gives a request"
)]
pub struct RequestEnvelope<'a> {
    /// The id, with its JSON type.
    pub id: RequestId,
    /// The method name, exactly as sent.
    pub method: Cow<'a, str>,
    /// The parameters: always a JSON object when present.
    pub params: Option<&'a RawValue>,
    /// What the protocol knows of the parameters.
    pub members: ParamMembers<'a>,
}

/// A notification as it was read.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the members JSON-RPC gives a notification"
)]
pub struct NotificationEnvelope<'a> {
    /// The method name, exactly as sent.
    pub method: Cow<'a, str>,
    /// The parameters: always a JSON object when present.
    pub params: Option<&'a RawValue>,
}

/// A response as it was read.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the members JSON-RPC gives a response"
)]
pub struct ResponseEnvelope<'a> {
    /// Which request it answers.
    pub id: ResponseId,
    /// The result, unread, or the error.
    pub outcome: Result<&'a RawValue, ErrorObject>,
}

/// Bytes that are no message, and the error that says so.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an error and the id it concerns")]
pub struct MalformedMessage {
    /// What to tell the peer.
    pub error: ErrorObject,
    /// The id of the request, when it could be recovered.
    pub id: Option<RequestId>,
}
