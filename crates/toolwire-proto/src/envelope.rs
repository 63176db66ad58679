//! A JSON-RPC message, borrowed from the received bytes.
//!
//! [`crate::strict_json`] parses messages. [`crate::admit`] admits or rejects them.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::{ErrorObject, RequestId, ResponseId};

use crate::param_members::ParamMembers;

/// One message, classified by the members that are present.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON-RPC has exactly these kinds of messages"
)]
pub enum Envelope<'a> {
    /// Has `method` and `id`.
    Request(RequestEnvelope<'a>),
    /// Has `method` and no `id`.
    Notification(NotificationEnvelope<'a>),
    /// Has `result` or `error`.
    Response(ResponseEnvelope<'a>),
    /// A JSON array: the raw messages of a batch. Only one revision has batches.
    Batch(Vec<&'a RawValue>),
}

/// A parsed request.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "JSON-RPC defines these members of a request"
)]
pub struct RequestEnvelope<'a> {
    /// The id, with its JSON type.
    pub id: RequestId,
    /// The method name, exactly as sent.
    pub method: Cow<'a, str>,
    /// The parameters. Always a JSON object if present.
    pub params: Option<&'a RawValue>,
    /// The members of the parameters that the protocol defines.
    pub members: ParamMembers<'a>,
}

/// A parsed notification.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "JSON-RPC defines these members of a notification"
)]
pub struct NotificationEnvelope<'a> {
    /// The method name, exactly as sent.
    pub method: Cow<'a, str>,
    /// The parameters. Always a JSON object if present.
    pub params: Option<&'a RawValue>,
}

/// A parsed response.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "JSON-RPC defines these members of a response"
)]
pub struct ResponseEnvelope<'a> {
    /// The id of the request that this is the response to.
    pub id: ResponseId,
    /// The raw result, or the error.
    pub outcome: Result<&'a RawValue, ErrorObject>,
}

/// Bytes that are not a valid message, with the error to send.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an error and the id it concerns")]
pub struct MalformedMessage {
    /// The error to send to the peer.
    pub error: ErrorObject,
    /// The id of the request, if it could be recovered.
    pub id: Option<RequestId>,
}
