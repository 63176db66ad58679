//! The members of `params` that admission reads, borrowed from the message. Other members are not parsed.

use std::borrow::Cow;

use toolwire_types::{ErrorObject, LoggingLevel, ProgressToken, meta_key};

use crate::envelope::RequestEnvelope;
use crate::methods::NameSource;
use crate::param_members::{MetaMembers, ParamMembers, RawMember};

/// The maximum length of a progress token in bytes. Each progress notification repeats the token.
const LONGEST_PROGRESS_TOKEN: usize = 1024;

/// The parameters that admission reads.
#[derive(Debug)]
pub(super) struct Params<'a> {
    members: &'a ParamMembers<'a>,
}

impl<'a> Params<'a> {
    pub(super) fn of(request: &'a RequestEnvelope<'a>) -> Result<Self, ErrorObject> {
        optional_object(request.members.meta, "params._meta")?;
        Ok(Self::of_admitted(request))
    }

    /// Returns the parameters of an admitted request.
    pub(super) fn of_admitted(request: &'a RequestEnvelope<'a>) -> Self {
        let members = &request.members;
        Self { members }
    }

    pub(super) fn meta(&self) -> Meta<'a> {
        Meta(&self.members.in_meta)
    }

    /// Returns what the request names. Returns `None` if the member is missing or not a string.
    pub(super) fn name(&self, source: NameSource) -> Option<Cow<'a, str>> {
        let member = match source {
            NameSource::None => None,
            NameSource::Name => self.members.name,
            NameSource::Uri => self.members.uri,
            NameSource::TaskId => self.members.task_id,
        };
        member.and_then(RawMember::text)
    }

    /// Returns the version that an `initialize` request names.
    pub(super) fn initialize_version(&self) -> Result<Cow<'a, str>, ErrorObject> {
        self.members
            .protocol_version
            .and_then(RawMember::text)
            .filter(|version| !version.is_empty())
            .ok_or_else(|| {
                ErrorObject::invalid_params("initialize requires params.protocolVersion, a string")
            })
    }

    /// Checks the members that a request contains after an input request.
    pub(super) fn check_input(&self) -> Result<(), ErrorObject> {
        optional_object(self.members.input_responses, "params.inputResponses")?;
        match self.members.request_state {
            Some(part) if !part.is_string() => Err(ErrorObject::invalid_params(
                "params.requestState must be a string",
            )),
            _ => Ok(()),
        }
    }
}

/// The members of `_meta` that admission reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta<'a>(&'a MetaMembers<'a>);

impl<'a> Meta<'a> {
    /// Returns `true` if `_meta` names a version, which makes the request modern.
    pub(super) fn names_version(&self) -> bool {
        self.0.protocol_version.is_some()
    }

    pub(super) fn required_version(&self) -> Result<Cow<'a, str>, ErrorObject> {
        self.0
            .protocol_version
            .and_then(RawMember::text)
            .ok_or_else(|| required(meta_key::PROTOCOL_VERSION, "a string"))
    }

    /// Checks the client members that every modern request has.
    pub(super) fn check_client(&self) -> Result<(), ErrorObject> {
        if !self.0.client_capabilities.is_some_and(RawMember::is_object) {
            return Err(required(meta_key::CLIENT_CAPABILITIES, "an object"));
        }
        optional_object(self.0.client_info, meta_key::CLIENT_INFO)
    }

    pub(super) fn log_level(&self) -> Result<Option<LoggingLevel>, ErrorObject> {
        self.0.log_level.map(read_log_level).transpose()
    }

    pub(super) fn progress_token(&self) -> Result<Option<ProgressToken>, ErrorObject> {
        self.0.progress_token.map(read_progress_token).transpose()
    }
}

/// Parses the progress token. Never inlined, because few requests have one.
#[inline(never)]
fn read_progress_token(raw: RawMember<'_>) -> Result<ProgressToken, ErrorObject> {
    serde_json::from_str(raw.get())
        .ok()
        .filter(|token| match token {
            ProgressToken::Number(_) => true,
            ProgressToken::String(text) => text.len() <= LONGEST_PROGRESS_TOKEN,
        })
        .ok_or_else(|| {
            ErrorObject::invalid_params(
                "params._meta.progressToken must be an integer or a string of at most 1024 bytes",
            )
        })
}

/// Parses the log level. Never inlined, because few requests have one.
#[inline(never)]
fn read_log_level(raw: RawMember<'_>) -> Result<LoggingLevel, ErrorObject> {
    serde_json::from_str(raw.get()).map_err(|_| {
        ErrorObject::invalid_params(format!(
            "params._meta[\"{}\"] must be a log level, debug to emergency",
            meta_key::LOG_LEVEL
        ))
    })
}

fn optional_object(part: Option<RawMember<'_>>, what: &str) -> Result<(), ErrorObject> {
    match part {
        Some(part) if !part.is_object() => Err(no_object(what)),
        _ => Ok(()),
    }
}

#[cold]
fn no_object(what: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("{what} must be an object"))
}

#[cold]
fn required(key: &str, kind: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!(
        "params._meta[\"{key}\"] is required and must be {kind}"
    ))
}
