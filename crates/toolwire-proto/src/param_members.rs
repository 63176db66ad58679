//! The members of a request's `params`, and of the `_meta` in them, to which the protocol gives a meaning.
//!
//! They are cut out while the message is read, so that nobody has to go through it again to find them. A member that is
//! `null` counts as absent, because many clients write it so.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::json::checked_raw;
use toolwire_types::meta_key;

use crate::strict_json::string_value;

/// One JSON value inside a message that was read: its text, known to be well formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawMember<'a>(&'a str);

impl<'a> RawMember<'a> {
    /// The text must have passed the reader, and begin and end with the value.
    pub(crate) fn checked(text: &'a str) -> Self {
        Self(text)
    }

    /// The text of the value, without white space around it.
    #[must_use]
    #[inline]
    pub fn get(self) -> &'a str {
        self.0
    }

    /// The value as serde knows it.
    #[must_use]
    #[inline]
    pub fn raw(self) -> &'a RawValue {
        checked_raw(self.0)
    }

    /// Whether the value is an object.
    #[must_use]
    #[inline]
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether the value is a string.
    #[must_use]
    #[inline]
    pub fn is_string(self) -> bool {
        self.0.starts_with('"')
    }

    /// The meaning of a JSON string, borrowed when it has no escapes; `None` for other values.
    #[must_use]
    pub fn text(self) -> Option<Cow<'a, str>> {
        string_value(self.0)
    }
}

/// What the protocol knows of the parameters of a request.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ParamMembers<'a> {
    /// `_meta`.
    pub meta: Option<RawMember<'a>>,
    /// `name`: of a tool or a prompt.
    pub name: Option<RawMember<'a>>,
    /// `arguments`.
    pub arguments: Option<RawMember<'a>>,
    /// `uri`: of a resource.
    pub uri: Option<RawMember<'a>>,
    /// `taskId`.
    pub task_id: Option<RawMember<'a>>,
    /// `protocolVersion`, of `initialize`.
    pub protocol_version: Option<RawMember<'a>>,
    /// `inputResponses`.
    pub input_responses: Option<RawMember<'a>>,
    /// `requestState`.
    pub request_state: Option<RawMember<'a>>,
    /// The members of `_meta`.
    pub in_meta: MetaMembers<'a>,
}

/// What the protocol knows of the `_meta` of a request.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct MetaMembers<'a> {
    /// The version the request is written in.
    pub protocol_version: Option<RawMember<'a>>,
    /// What the client can do.
    pub client_capabilities: Option<RawMember<'a>>,
    /// Who the client says it is.
    pub client_info: Option<RawMember<'a>>,
    /// The least severe log level that is wanted.
    pub log_level: Option<RawMember<'a>>,
    /// `progressToken`.
    pub progress_token: Option<RawMember<'a>>,
}

impl<'a> ParamMembers<'a> {
    /// Keeps a member; the name is already unescaped.
    pub(crate) fn put(&mut self, name: &str, value: &'a str) {
        let slot = match name {
            "_meta" => &mut self.meta,
            "name" => &mut self.name,
            "arguments" => &mut self.arguments,
            "uri" => &mut self.uri,
            "taskId" => &mut self.task_id,
            "protocolVersion" => &mut self.protocol_version,
            "inputResponses" => &mut self.input_responses,
            "requestState" => &mut self.request_state,
            _ => return,
        };
        *slot = unless_null(value);
    }
}

impl<'a> MetaMembers<'a> {
    /// Keeps a member; the name is already unescaped.
    pub(crate) fn put(&mut self, name: &str, value: &'a str) {
        let slot = match name {
            meta_key::PROTOCOL_VERSION => &mut self.protocol_version,
            meta_key::CLIENT_CAPABILITIES => &mut self.client_capabilities,
            meta_key::CLIENT_INFO => &mut self.client_info,
            meta_key::LOG_LEVEL => &mut self.log_level,
            "progressToken" => &mut self.progress_token,
            _ => return,
        };
        *slot = unless_null(value);
    }
}

fn unless_null(value: &str) -> Option<RawMember<'_>> {
    (value != "null").then(|| RawMember::checked(value))
}
