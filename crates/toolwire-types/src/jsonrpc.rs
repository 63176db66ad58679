//! The JSON-RPC 2.0 envelope: ids, requests, notifications, responses and errors.
//!
//! An id keeps its JSON type: the number `1` and the string `"1"` are different ids. `toolwire-proto` parses untrusted
//! messages, because it is stricter than serde: it checks duplicate members, nesting depth and the presence of `id`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::de::{self, MapAccess, Visitor};
use serde::ser::{SerializeMap, SerializeStruct};
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

/// A token that associates progress notifications with a request. It has the type of an id.
pub type ProgressToken = RequestId;

/// A JSON-RPC request, which expects a response.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The id, which the response repeats.
    pub id: RequestId,
    /// The method name.
    pub method: Cow<'static, str>,
    /// The parameters, a JSON object, if any.
    pub params: Option<RawJson>,
}

impl Request {
    /// Creates a request with parameters.
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

/// A JSON-RPC notification, which expects no response.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notification {
    /// The method name.
    pub method: Cow<'static, str>,
    /// The parameters, a JSON object, if any.
    pub params: Option<RawJson>,
}

impl Notification {
    /// Creates a notification with or without parameters.
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

/// The `id` member of a response: the id of the request, or a mark that it was unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an id, null and an absent member are the only forms"
)]
pub enum ResponseId {
    /// The id of the request.
    Id(RequestId),
    /// `"id": null`: the id was unreadable, in revisions up to 2025-06-18.
    Null,
    /// No `id` member: the id was unreadable, in later revisions.
    Absent,
}

impl From<RequestId> for ResponseId {
    fn from(id: RequestId) -> Self {
        Self::Id(id)
    }
}

/// A JSON-RPC response: a result or an error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Response {
    /// The id of the request.
    pub id: ResponseId,
    /// The result or the error.
    pub outcome: Result<RawJson, ErrorObject>,
}

impl Response {
    /// Creates a response with a result.
    #[must_use]
    pub fn result(id: RequestId, result: RawJson) -> Self {
        Self {
            id: id.into(),
            outcome: Ok(result),
        }
    }

    /// Creates a response with an error.
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
/// The other codes from −32000 to −32019 have no defined meaning. Application codes are outside −32768 to −32000.
pub mod code {
    /// The message is not valid JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a valid message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist, or its capability is not declared.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are invalid for the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The receiver failed internally.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// The resource does not exist (up to 2025-11-25).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// An HTTP header and the body differ (since 2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request requires a client capability that is not declared (since 2026-07-28).
    pub const MISSING_REQUIRED_CLIENT_CAPABILITY: i64 = -32021;
    /// The server does not support the requested version (since 2026-07-28).
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
    /// The user must open a URL first (2025-11-25 only).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// The user rejected a sampling request (up to 2025-11-25).
    pub const USER_REJECTED: i64 = -1;
}

/// The JSON-RPC error that the peer receives when a request fails.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
#[doc(alias = "ErrorData", alias = "ProtocolError")]
pub struct ErrorObject {
    /// A code from [`code`] or an application-defined code.
    pub code: i64,
    /// A one-sentence description for users and logs.
    pub message: Cow<'static, str>,
    /// Structured details.
    pub data: Option<RawJson>,
    /// The members that JSON-RPC does not define, as the peer sent them. Boxed, because few errors have one.
    unknown: Option<Box<IndexMap<String, RawJson>>>,
}

impl ErrorObject {
    /// Creates an error with any code.
    #[must_use]
    // `#[cold]` lets the compiler move error paths away from the common path.
    #[cold]
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            unknown: None,
        }
    }

    /// Creates the error for a message that is not valid JSON (−32700).
    #[must_use]
    pub fn parse_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::PARSE_ERROR, message)
    }

    /// Creates the error for a message that is not a valid request (−32600).
    #[must_use]
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Creates the error for a method that does not exist (−32601).
    #[must_use]
    pub fn method_not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::METHOD_NOT_FOUND, message)
    }

    /// Creates the error for invalid parameters (−32602).
    #[must_use]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Creates the error for an internal failure (−32603).
    #[must_use]
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    setters! {
        with_data(data: into RawJson);
    }
}

impl Serialize for ErrorObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("code", &self.code)?;
        members.serialize_entry("message", &self.message)?;
        if let Some(data) = &self.data {
            members.serialize_entry("data", data)?;
        }
        for (name, value) in self.unknown.iter().flat_map(|unknown| unknown.iter()) {
            members.serialize_entry(name, value)?;
        }
        members.end()
    }
}

impl<'de> Deserialize<'de> for ErrorObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ErrorVisitor)
    }
}

struct ErrorVisitor;

impl<'de> Visitor<'de> for ErrorVisitor {
    type Value = ErrorObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an error object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ErrorObject, A::Error> {
        let (mut code, mut message, mut data) = (None, None, None);
        let mut unknown = IndexMap::new();
        while let Some(name) = members.next_key::<String>()? {
            let is_repeated = match &*name {
                "code" => code.replace(members.next_value::<i64>()?).is_some(),
                "message" => message.replace(members.next_value::<String>()?).is_some(),
                "data" => {
                    let value = members.next_value::<Option<RawJson>>()?;
                    data.replace(value).is_some()
                }
                _ => {
                    let value = members.next_value::<RawJson>()?;
                    unknown.insert(name.clone(), value).is_some()
                }
            };
            if is_repeated {
                let message = format!("the error has the member `{name}` twice");
                return Err(de::Error::custom(message));
            }
        }
        Ok(ErrorObject {
            code: code.ok_or_else(|| de::Error::missing_field("code"))?,
            message: message
                .ok_or_else(|| de::Error::missing_field("message"))?
                .into(),
            data: data.flatten(),
            unknown: (!unknown.is_empty()).then(|| Box::new(unknown)),
        })
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
