//! The members of `params` that the gate reads, decoded once and borrowed from the message.
//!
//! Everything else stays unread. `null` counts as absent for optional members, because many clients write it so.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolwire_types::{ErrorObject, LoggingLevel, ProgressToken, meta_key};

use super::RequestMeta;
use crate::methods::NameSource;

/// A progress token longer than this is refused: it would be repeated in every notification.
const LONGEST_PROGRESS_TOKEN: usize = 1024;

/// What the gate reads of the parameters.
#[derive(Debug, Default)]
pub(super) struct Params<'a> {
    members: Members<'a>,
    pub(super) meta: MetaMembers<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow)]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow)]
    request_state: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// The members of `_meta` to which the protocol gives a meaning on requests.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MetaMembers<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    pub(super) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client_info: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<&'a RawValue>,
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow)]
    tracestate: Option<&'a RawValue>,
    #[serde(borrow)]
    baggage: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    pub(super) fn read(params: Option<&'a RawValue>) -> Result<Self, ErrorObject> {
        let members: Members<'a> = match params {
            Some(raw) => object(raw, "params")?,
            None => Members::default(),
        };
        let meta = match members.meta {
            Some(raw) => object(raw, "params._meta")?,
            None => MetaMembers::default(),
        };
        Ok(Self { members, meta })
    }

    /// `_meta` as it came.
    pub(super) fn raw_meta(&self) -> Option<&'a RawValue> {
        self.members.meta
    }

    /// The arguments of a tool or prompt, unread.
    pub(super) fn arguments(&self) -> Option<&'a RawValue> {
        self.members.arguments
    }

    /// What the request names; `None` when the member is missing or no string.
    pub(super) fn name(&self, source: NameSource) -> Option<Cow<'a, str>> {
        text(match source {
            NameSource::None => return None,
            NameSource::Name => self.members.name?,
            NameSource::Uri => self.members.uri?,
            NameSource::TaskId => self.members.task_id?,
        })
    }

    /// The version an `initialize` asks for.
    pub(super) fn initialize_version(&self) -> Result<Cow<'a, str>, ErrorObject> {
        self.members
            .protocol_version
            .and_then(text)
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
            Some(raw) => text(raw)
                .map(Some)
                .ok_or_else(|| ErrorObject::invalid_params("params.requestState must be a string")),
            None => Ok(None),
        }
    }
}

impl<'a> MetaMembers<'a> {
    pub(super) fn required_version(&self) -> Result<Cow<'a, str>, ErrorObject> {
        self.protocol_version
            .and_then(text)
            .ok_or_else(|| required(meta_key::PROTOCOL_VERSION, "a string"))
    }

    pub(super) fn required_client_capabilities(&self) -> Result<&'a RawValue, ErrorObject> {
        self.client_capabilities
            .filter(|raw| is_object(raw))
            .ok_or_else(|| required(meta_key::CLIENT_CAPABILITIES, "an object"))
    }

    pub(super) fn client_info(&self) -> Result<Option<&'a RawValue>, ErrorObject> {
        optional_object(self.client_info, meta_key::CLIENT_INFO)
    }

    pub(super) fn log_level(&self) -> Result<Option<LoggingLevel>, ErrorObject> {
        self.log_level
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
            traceparent: self.traceparent.and_then(text),
            tracestate: self.tracestate.and_then(text),
            baggage: self.baggage.and_then(text),
            ..RequestMeta::default()
        })
    }

    fn progress_token(&self) -> Result<Option<ProgressToken>, ErrorObject> {
        let Some(raw) = self.progress_token else {
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

/// Decodes an object; the check comes first because serde would also take an array for a struct.
fn object<'a, T: Deserialize<'a>>(raw: &'a RawValue, what: &str) -> Result<T, ErrorObject> {
    if !is_object(raw) {
        return Err(ErrorObject::invalid_params(format!(
            "{what} must be an object"
        )));
    }
    serde_json::from_str(raw.get())
        .map_err(|error| ErrorObject::invalid_params(format!("{what} is malformed: {error}")))
}

fn optional_object<'a>(
    raw: Option<&'a RawValue>,
    what: &str,
) -> Result<Option<&'a RawValue>, ErrorObject> {
    match raw {
        Some(raw) if !is_object(raw) => Err(ErrorObject::invalid_params(format!(
            "{what} must be an object"
        ))),
        other => Ok(other),
    }
}

/// A raw value never starts with white space, so its first byte tells its kind.
fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// The text of a JSON string, borrowed when it has no escapes; `None` for other values.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    serde_json::from_str(raw.get()).ok().map(|Text(text)| text)
}

fn required(key: &str, kind: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!(
        "params._meta[\"{key}\"] is required and must be {kind}"
    ))
}
