//! A request that has passed the gate.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::{LoggingLevel, ProgressToken, ProtocolVersion, RequestId};

use crate::admit::params::Params;
use crate::envelope::RequestEnvelope;
use crate::features::{Era, VersionFeatures};
use crate::methods::{Method, NameSource};
use crate::param_members::RawMember;

/// A request that may be dispatched. What the gate has only looked at stays in the message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Admitted<'a> {
    request: &'a RequestEnvelope<'a>,
    /// The id the answer repeats.
    pub id: &'a RequestId,
    /// What is asked.
    pub method: MethodRef<'a>,
    /// The version the request is served in; for `initialize` the one it negotiates.
    pub version: ProtocolVersion,
    /// The era of that version.
    pub era: Era,
    /// The least severe log level wanted (modern requests only).
    pub log_level: Option<LoggingLevel>,
    /// The tool, prompt, URI or task the request names, where the method names one.
    pub name: Option<Cow<'a, str>>,
}

impl<'a> Admitted<'a> {
    /// The parameters, unread.
    #[must_use]
    #[inline]
    pub fn params(&self) -> Option<&'a RawValue> {
        self.request.params
    }

    /// `_meta`, unread.
    #[must_use]
    #[inline]
    pub fn meta(&self) -> Option<&'a RawValue> {
        self.request.members.meta.map(RawMember::raw)
    }

    /// The sender wants progress under this token.
    #[must_use]
    #[inline]
    pub fn progress_token(&self) -> Option<ProgressToken> {
        let params = Params::of_admitted(self.request);
        params.meta().progress_token().ok().flatten()
    }

    /// The client's capabilities, an object (modern requests only).
    #[must_use]
    #[inline]
    pub fn client_capabilities(&self) -> Option<&'a RawValue> {
        let member = self.request.members.in_meta.client_capabilities;
        member
            .filter(|_| self.era == Era::Modern)
            .map(RawMember::raw)
    }

    /// `arguments`, unread.
    #[must_use]
    #[inline]
    pub fn arguments(&self) -> Option<&'a RawValue> {
        self.request.members.arguments.map(RawMember::raw)
    }

    /// `inputResponses`, an object, on methods that may ask for input.
    #[must_use]
    #[inline]
    pub fn input_responses(&self) -> Option<&'a RawValue> {
        let member = self.request.members.input_responses;
        member.filter(|_| self.takes_input()).map(RawMember::raw)
    }

    /// `requestState` on methods that may ask for input; the empty string is a state, too.
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

/// A method of the protocol or one the server's author added.
#[derive(Debug, Clone)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a method is in the table or it is not"
)]
pub enum MethodRef<'a> {
    /// A row of the table.
    Known(&'static Method),
    /// A custom method.
    Custom(&'a str),
}

impl MethodRef<'_> {
    /// The wire name.
    #[must_use]
    #[inline]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(row) => row.name,
            Self::Custom(name) => name,
        }
    }

    /// Whether the request may be answered with `input_required`, in revisions that have it.
    #[must_use]
    #[inline]
    pub fn may_ask_input(&self) -> bool {
        matches!(self, Self::Known(row) if row.may_ask_input)
    }
}

/// What the gate has found out about a request that passes.
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

/// Whether a request may bring the answers to what its method has asked for.
pub(super) fn takes_input(version: ProtocolVersion, method: &MethodRef<'_>) -> bool {
    version.has_input_required() && method.may_ask_input()
}
