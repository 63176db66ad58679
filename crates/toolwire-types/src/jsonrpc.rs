//! The JSON-RPC 2.0 envelope: ids, requests, notifications, responses and errors.
//!
//! An id keeps its JSON type: the number `1` and the string `"1"` are different ids. Reading untrusted bytes is not done
//! here but in `toolwire-proto`, which is stricter than serde (duplicate members, depth, presence of `id`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::raw::RawJson;
use crate::setters::setters;

/// The id of a request: a number or a string, never null.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON-RPC ids are numbers or strings"
)]
pub enum RequestId {
    /// An integer id.
    Number(i64),
    /// A string id.
    String(Arc<str>),
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::String(text) => write!(f, "{text:?}"),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::String(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;

        impl Visitor<'_> for IdVisitor {
            type Value = RequestId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an integer")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<RequestId, E> {
                Ok(RequestId::Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<RequestId, E> {
                i64::try_from(number)
                    .map(RequestId::Number)
                    .map_err(|_| E::custom("integer out of range"))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RequestId, E> {
                Ok(RequestId::String(text.into()))
            }
        }

        deserializer.deserialize_any(IdVisitor)
    }
}

/// A token that ties progress notifications to a request; the same shape as an id.
pub type ProgressToken = RequestId;

/// A request: something that wants an answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The id the answer will repeat.
    pub id: RequestId,
    /// The method name.
    pub method: Cow<'static, str>,
    /// The parameters, an object, or nothing.
    pub params: Option<RawJson>,
}

impl Request {
    /// A request with parameters.
    #[must_use]
    pub fn new(
        id: impl Into<RequestId>,
        method: impl Into<Cow<'static, str>>,
        params: RawJson,
    ) -> Self {
        Self {
            id: id.into(),
            method: method.into(),
            params: Some(params),
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Request", 4)?;
        object.serialize_field("jsonrpc", "2.0")?;
        object.serialize_field("id", &self.id)?;
        object.serialize_field("method", &self.method)?;
        if let Some(params) = &self.params {
            object.serialize_field("params", params)?;
        }
        object.end()
    }
}

/// A notification: something that wants no answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    /// The method name.
    pub method: Cow<'static, str>,
    /// The parameters, an object, or nothing.
    pub params: Option<RawJson>,
}

impl Notification {
    /// A notification, with or without parameters.
    #[must_use]
    pub fn new(method: impl Into<Cow<'static, str>>, params: Option<RawJson>) -> Self {
        Self {
            method: method.into(),
            params,
        }
    }
}

impl Serialize for Notification {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Notification", 3)?;
        object.serialize_field("jsonrpc", "2.0")?;
        object.serialize_field("method", &self.method)?;
        if let Some(params) = &self.params {
            object.serialize_field("params", params)?;
        }
        object.end()
    }
}

/// The id member of an answer: usually the request's, otherwise unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "these are the three ways JSON can say it"
)]
pub enum ResponseId {
    /// The id of the request that is answered.
    Id(RequestId),
    /// `"id": null`: how revisions up to 2025-06-18 say that the id was unreadable.
    Null,
    /// No `id` member: how later revisions say it.
    Absent,
}

impl From<RequestId> for ResponseId {
    fn from(id: RequestId) -> Self {
        Self::Id(id)
    }
}

/// An answer: a result or an error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// Which request this answers.
    pub id: ResponseId,
    /// What happened.
    pub outcome: Result<RawJson, ErrorObject>,
}

impl Response {
    /// A successful answer.
    #[must_use]
    pub fn result(id: RequestId, result: RawJson) -> Self {
        Self {
            id: id.into(),
            outcome: Ok(result),
        }
    }

    /// An error answer.
    #[must_use]
    pub fn error(id: impl Into<ResponseId>, error: ErrorObject) -> Self {
        Self {
            id: id.into(),
            outcome: Err(error),
        }
    }
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Response", 3)?;
        object.serialize_field("jsonrpc", "2.0")?;
        match &self.id {
            ResponseId::Id(id) => object.serialize_field("id", id)?,
            ResponseId::Null => object.serialize_field("id", &())?,
            ResponseId::Absent => {}
        }
        match &self.outcome {
            Ok(result) => object.serialize_field("result", result)?,
            Err(error) => object.serialize_field("error", error)?,
        }
        object.end()
    }
}

/// The error codes of JSON-RPC and MCP.
///
/// Codes from −32000 to −32019 carry no shared meaning; application codes belong outside −32768…−32000.
pub mod code {
    /// The bytes were not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON was not a valid message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method, or one behind a capability that was not advertised.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something went wrong inside the receiver.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// Resource not found, up to 2025-11-25 only.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A header and the body disagree (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a client capability that was not declared (2026-07-28).
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i64 = -32021;
    /// The server does not serve the version asked for (2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    /// The user must visit a URL first (2025-11-25 only).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// The user refused a sampling request (up to 2025-11-25).
    pub const USER_REJECTED: i64 = -1;
}

/// What the peer sees when a request fails.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorObject {
    /// A number from [`code`], or an application's own.
    pub code: i64,
    /// One sentence for a human.
    pub message: Cow<'static, str>,
    /// Structured detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl ErrorObject {
    /// An error with a code of your choice.
    #[must_use]
    // Also tells the compiler that what leads to an error need not stand beside what does not.
    #[cold]
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The bytes were not JSON (−32700).
    #[must_use]
    pub fn parse_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::PARSE_ERROR, message)
    }

    /// The message is not a valid request (−32600).
    #[must_use]
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// There is no such method here (−32601).
    #[must_use]
    pub fn method_not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::METHOD_NOT_FOUND, message)
    }

    /// The parameters do not fit (−32602).
    #[must_use]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Something broke on this side (−32603).
    #[must_use]
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    setters! {
        with_data(data: into RawJson);
    }
}

impl fmt::Debug for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.message)?;
        match &self.data {
            Some(data) => write!(f, " {data}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}
