//! The type of an admitted request.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::{LoggingLevel, ProgressToken, ProtocolVersion, RequestId};

use crate::admit::params::Params;
use crate::envelope::RequestEnvelope;
use crate::features::{Era, VersionFeatures};
use crate::methods::{Method, NameSource};
use crate::param_members::RawMember;

/// A request that may be dispatched. Members that admission does not parse stay in the message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Admitted<'a> {
    request: &'a RequestEnvelope<'a>,
    /// The id that the response repeats.
    pub id: &'a RequestId,
    /// The requested method.
    pub method: MethodRef<'a>,
    /// The version that the request is served in. For `initialize` it is the negotiated version.
    pub version: ProtocolVersion,
    /// The era of `version`.
    pub era: Era,
    /// The minimum log level that the client requests (modern requests only).
    pub log_level: Option<LoggingLevel>,
    /// The tool, prompt, URI or task that the request names, if the method has such a parameter.
    pub name: Option<Cow<'a, str>>,
}

impl<'a> Admitted<'a> {
    /// Returns the raw `params`.
    #[must_use]
    #[inline]
    pub fn params(&self) -> Option<&'a RawValue> {
        self.request.params
    }

    /// Returns the raw `params._meta`.
    #[must_use]
    #[inline]
    pub fn meta(&self) -> Option<&'a RawValue> {
        self.request.members.meta.map(RawMember::raw)
    }

    /// Returns the progress token, if the client requests progress notifications.
    #[must_use]
    #[inline]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        let params = Params::of_admitted(self.request);
        params.meta().progress_token().ok().flatten()
    }

    /// Returns the client's capabilities as a raw JSON object (modern requests only).
    #[must_use]
    #[inline]
    pub fn client_capabilities(&self) -> Option<&'a RawValue> {
        let member = self.request.members.in_meta.client_capabilities;
        member
            .filter(|_| self.era == Era::Modern)
            .map(RawMember::raw)
    }

    /// Returns the raw `params.arguments`.
    #[must_use]
    #[inline]
    pub fn arguments(&self) -> Option<&'a RawValue> {
        self.request.members.arguments.map(RawMember::raw)
    }

    /// Returns the raw `params.task`, with which a client asks for a task, in the version that has it.
    #[must_use]
    #[inline]
    pub fn task(&self) -> Option<&'a RawValue> {
        let member = self.request.members.task;
        member
            .filter(|_| self.version.has_core_tasks())
            .map(RawMember::raw)
    }

    /// Returns `inputResponses`, a raw JSON object, for methods that may request input.
    #[must_use]
    #[inline]
    pub fn input_responses(&self) -> Option<&'a RawValue> {
        let member = self.request.members.input_responses;
        member.filter(|_| self.takes_input()).map(RawMember::raw)
    }

    /// Returns `requestState` for methods that may request input. An empty string is a valid state.
    #[must_use]
    #[inline]
    pub fn request_state(&self) -> Option<Cow<'a, str>> {
        let member = self.request.members.request_state;
        member
            .filter(|_| self.takes_input())
            .and_then(RawMember::text)
    }

    fn takes_input(&self) -> bool {
        takes_input(self.version, &self.method)
    }
}

/// A method of the protocol, or a custom method of the server.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a method is either in the table or custom"
)]
pub enum MethodRef<'a> {
    /// A row of the method table.
    Known(&'static Method),
    /// A custom method.
    Custom(&'a str),
}

impl MethodRef<'_> {
    /// Returns the wire name.
    #[must_use]
    #[inline]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(row) => row.name,
            Self::Custom(name) => name,
        }
    }

    /// Returns `true` if the response may be `input_required` in revisions that have it.
    #[must_use]
    #[inline]
    pub fn may_ask_input(&self) -> bool {
        matches!(self, Self::Known(row) if row.may_ask_input)
    }
}

/// The results of checking a request that is admitted.
pub(super) struct CheckedRequest<'a> {
    pub(super) method: MethodRef<'a>,
    pub(super) version: ProtocolVersion,
    pub(super) log_level: Option<LoggingLevel>,
}

impl<'a> CheckedRequest<'a> {
    pub(super) fn admit(self, request: &'a RequestEnvelope<'a>) -> Admitted<'a> {
        let source = match &self.method {
            MethodRef::Known(row) => row.name_source,
            MethodRef::Custom(_) => NameSource::None,
        };
        Admitted {
            request,
            id: &request.id,
            method: self.method,
            version: self.version,
            era: self.version.era(),
            log_level: self.log_level,
            name: Params::of_admitted(request).name(source),
        }
    }
}

/// Returns `true` if a request may contain responses to the input requests of its method.
pub(super) fn takes_input(version: ProtocolVersion, method: &MethodRef<'_>) -> bool {
    version.has_input_required() && method.may_ask_input()
}
