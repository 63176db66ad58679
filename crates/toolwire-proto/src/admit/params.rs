//! What the gate reads of `params`, borrowed from the message. Everything else stays unread.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::{ErrorObject, LoggingLevel, ProgressToken, meta_key};

use super::RequestMeta;
use crate::envelope::RequestEnvelope;
use crate::methods::NameSource;
use crate::param_members::{MetaMembers, ParamMembers, Part};

/// A progress token longer than this is refused: it would be repeated in every notification.
const LONGEST_PROGRESS_TOKEN: usize = 1024;

/// What the gate reads of the parameters.
#[derive(Debug)]
pub(super) struct Params<'r, 'a> {
    members: &'r ParamMembers<'a>,
}

impl<'r, 'a> Params<'r, 'a> {
    pub(super) fn of(request: &'r RequestEnvelope<'a>) -> Result<Self, ErrorObject> {
        let members = &request.members;
        optional_object(members.meta, "params._meta")?;
        Ok(Self { members })
    }

    pub(super) fn meta(&self) -> Meta<'r, 'a> {
        Meta(&self.members.in_meta)
    }

    /// `_meta` as it came.
    pub(super) fn raw_meta(&self) -> Option<&'a RawValue> {
        self.members.meta.map(Part::raw)
    }

    /// The arguments of a tool or prompt, unread.
    pub(super) fn arguments(&self) -> Option<&'a RawValue> {
        self.members.arguments.map(Part::raw)
    }

    /// What the request names; `None` when the member is missing or no string.
    pub(super) fn name(&self, source: NameSource) -> Option<Cow<'a, str>> {
        let member = match source {
            NameSource::None => None,
            NameSource::Name => self.members.name,
            NameSource::Uri => self.members.uri,
            NameSource::TaskId => self.members.task_id,
        };
        member.and_then(Part::text)
    }

    /// The version an `initialize` asks for.
    pub(super) fn initialize_version(&self) -> Result<Cow<'a, str>, ErrorObject> {
        self.members
            .protocol_version
            .and_then(Part::text)
            .filter(|version| !version.is_empty())
            .ok_or_else(|| {
                ErrorObject::invalid_params("initialize needs params.protocolVersion, a string")
            })
    }

    pub(super) fn input_responses(&self) -> Result<Option<&'a RawValue>, ErrorObject> {
        optional_object(self.members.input_responses, "params.inputResponses")
    }

    pub(super) fn request_state(&self) -> Result<Option<Cow<'a, str>>, ErrorObject> {
        match self.members.request_state {
            Some(part) => part
                .text()
                .map(Some)
                .ok_or_else(|| ErrorObject::invalid_params("params.requestState must be a string")),
            None => Ok(None),
        }
    }
}

/// What the gate reads of `_meta`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta<'r, 'a>(&'r MetaMembers<'a>);

impl<'a> Meta<'_, 'a> {
    /// Whether it names a version, which makes the request a modern one.
    pub(super) fn names_version(&self) -> bool {
        self.0.protocol_version.is_some()
    }

    pub(super) fn required_version(&self) -> Result<Cow<'a, str>, ErrorObject> {
        self.0
            .protocol_version
            .and_then(Part::text)
            .ok_or_else(|| required(meta_key::PROTOCOL_VERSION, "a string"))
    }

    pub(super) fn required_client_capabilities(&self) -> Result<&'a RawValue, ErrorObject> {
        self.0
            .client_capabilities
            .filter(|part| part.is_object())
            .map(Part::raw)
            .ok_or_else(|| required(meta_key::CLIENT_CAPABILITIES, "an object"))
    }

    pub(super) fn client_info(&self) -> Result<Option<&'a RawValue>, ErrorObject> {
        optional_object(self.0.client_info, meta_key::CLIENT_INFO)
    }

    pub(super) fn log_level(&self) -> Result<Option<LoggingLevel>, ErrorObject> {
        self.0
            .log_level
            .map(|raw| {
                serde_json::from_str(raw.get()).map_err(|_| {
                    ErrorObject::invalid_params(format!(
                        "params._meta[\"{}\"] must be a log level, debug to emergency",
                        meta_key::LOG_LEVEL
                    ))
                })
            })
            .transpose()
    }

    /// The members that every revision has.
    pub(super) fn common(&self) -> Result<RequestMeta<'a>, ErrorObject> {
        // Trace context is telemetry: a bad one is dropped and never fails a request.
        Ok(RequestMeta {
            progress_token: self.progress_token()?,
            traceparent: self.0.traceparent.and_then(Part::text),
            tracestate: self.0.tracestate.and_then(Part::text),
            baggage: self.0.baggage.and_then(Part::text),
            ..RequestMeta::default()
        })
    }

    fn progress_token(&self) -> Result<Option<ProgressToken>, ErrorObject> {
        let Some(raw) = self.0.progress_token else {
            return Ok(None);
        };
        serde_json::from_str(raw.get())
            .ok()
            .filter(|token| match token {
                ProgressToken::Number(_) => true,
                ProgressToken::String(text) => text.len() <= LONGEST_PROGRESS_TOKEN,
            })
            .map(Some)
            .ok_or_else(|| {
                ErrorObject::invalid_params(
                    "params._meta.progressToken must be an integer or a string of at most 1024 bytes",
                )
            })
    }
}

fn optional_object<'a>(
    part: Option<Part<'a>>,
    what: &str,
) -> Result<Option<&'a RawValue>, ErrorObject> {
    match part {
        Some(part) if !part.is_object() => Err(ErrorObject::invalid_params(format!(
            "{what} must be an object"
        ))),
        other => Ok(other.map(Part::raw)),
    }
}

fn required(key: &str, kind: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!(
        "params._meta[\"{key}\"] is required and must be {kind}"
    ))
}
