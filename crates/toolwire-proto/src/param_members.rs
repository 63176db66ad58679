//! The members of a request's `params` and `_meta` that the protocol defines.
//!
//! The parser records them while it reads the message, so that no second pass is needed. A member that is `null` counts
//! as absent, because many clients send it so.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::json::checked_raw;
use toolwire_types::meta_key;

use crate::strict_json::string_value;

/// The text of one JSON value inside a parsed message, known to be well formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawMember<'a>(&'a str);

impl<'a> RawMember<'a> {
    /// Creates a member from text that the parser has accepted. The text starts and ends with the value.
    pub(crate) fn checked(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the text of the value, without surrounding white space.
    #[must_use]
    #[inline]
    pub fn get(self) -> &'a str {
        self.0
    }

    /// Returns the value as serde's raw JSON.
    #[must_use]
    #[inline]
    pub fn raw(self) -> &'a RawValue {
        checked_raw(self.0)
    }

    /// Returns `true` if the value is an object.
    #[must_use]
    #[inline]
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Returns `true` if the value is a string.
    #[must_use]
    #[inline]
    pub fn is_string(self) -> bool {
        self.0.starts_with('"')
    }

    /// Returns the decoded JSON string, borrowed if it has no escapes. Returns `None` for other values.
    #[must_use]
    pub fn text(self) -> Option<Cow<'a, str>> {
        string_value(self.0)
    }
}

/// The parameters of a request that the protocol defines.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ParamMembers<'a> {
    /// `_meta`.
    pub meta: Option<RawMember<'a>>,
    /// `name` of a tool or a prompt.
    pub name: Option<RawMember<'a>>,
    /// `arguments`.
    pub arguments: Option<RawMember<'a>>,
    /// `uri` of a resource.
    pub uri: Option<RawMember<'a>>,
    /// `taskId`.
    pub task_id: Option<RawMember<'a>>,
    /// `task`, with which a 2025-11-25 client asks for a task.
    pub task: Option<RawMember<'a>>,
    /// `protocolVersion` of `initialize`.
    pub protocol_version: Option<RawMember<'a>>,
    /// `inputResponses`.
    pub input_responses: Option<RawMember<'a>>,
    /// `requestState`.
    pub request_state: Option<RawMember<'a>>,
    /// The members of `_meta`.
    pub in_meta: MetaMembers<'a>,
}

/// The members of a request's `_meta` that the protocol defines.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct MetaMembers<'a> {
    /// The version of the request.
    pub protocol_version: Option<RawMember<'a>>,
    /// The client's capabilities.
    pub client_capabilities: Option<RawMember<'a>>,
    /// The client's name and version.
    pub client_info: Option<RawMember<'a>>,
    /// The minimum log level that the client requests.
    pub log_level: Option<RawMember<'a>>,
    /// `progressToken`.
    pub progress_token: Option<RawMember<'a>>,
}

impl<'a> ParamMembers<'a> {
    /// Records a member. The name is already unescaped.
    pub(crate) fn put(&mut self, name: &str, value: &'a str) {
        let member = match name {
            "_meta" => &mut self.meta,
            "name" => &mut self.name,
            "arguments" => &mut self.arguments,
            "uri" => &mut self.uri,
            "taskId" => &mut self.task_id,
            "task" => &mut self.task,
            "protocolVersion" => &mut self.protocol_version,
            "inputResponses" => &mut self.input_responses,
            "requestState" => &mut self.request_state,
            _ => return,
        };
        *member = unless_null(value);
    }
}

impl<'a> MetaMembers<'a> {
    /// Records a member. The name is already unescaped.
    pub(crate) fn put(&mut self, name: &str, value: &'a str) {
        let member = match name {
            meta_key::PROTOCOL_VERSION => &mut self.protocol_version,
            meta_key::CLIENT_CAPABILITIES => &mut self.client_capabilities,
            meta_key::CLIENT_INFO => &mut self.client_info,
            meta_key::LOG_LEVEL => &mut self.log_level,
            "progressToken" => &mut self.progress_token,
            _ => return,
        };
        *member = unless_null(value);
    }
}

fn unless_null(value: &str) -> Option<RawMember<'_>> {
    (value != "null").then(|| RawMember::checked(value))
}
