//! Elicitation: a server requests input from the user, with a form (since 2025-06-18) or a URL (since 2025-11-25).
//!
//! Elicitation is a JSON-RPC request up to 2025-11-25 and an [`InputRequest`](crate::InputRequest) since 2026-07-28.
//! `toolwire-proto` checks what a server may request from a client.

mod choices;
mod fields;
mod schema;

use indexmap::IndexMap;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::meta::Meta;
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;
use crate::tasks::core::TaskMetadata;

pub use choices::{
    EnumOption, LegacyTitledEnumSchema, TitledEnumItems, TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema, UntitledEnumItems, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};
pub use fields::{BooleanSchema, NumberKind, NumberSchema, StringFormat, StringSchema};
pub use schema::{ElicitSchema, PrimitiveSchema};

/// The parameters of `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// Form mode. A missing `mode` means form mode too.
    Form(ElicitRequestFormParams),
    /// URL mode.
    Url(ElicitRequestURLParams),
}

impl ElicitRequestParams {
    /// Returns the message for the user.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Form(params) => &params.message,
            Self::Url(params) => &params.message,
        }
    }
}

impl<'de> Deserialize<'de> for ElicitRequestParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Mode {
            mode: Option<String>,
        }

        let raw = RawJson::deserialize(deserializer)?;
        let Mode { mode } = raw.parse().map_err(D::Error::custom)?;
        let params = match mode.as_deref() {
            None | Some("form") => raw.parse().map(Self::Form),
            Some("url") => raw.parse().map(Self::Url),
            Some(other) => Err(serde_json::Error::unknown_variant(other, &["form", "url"])),
        };
        params.map_err(D::Error::custom)
    }
}

impl From<ElicitRequestFormParams> for ElicitRequestParams {
    fn from(params: ElicitRequestFormParams) -> Self {
        Self::Form(params)
    }
}

impl From<ElicitRequestURLParams> for ElicitRequestParams {
    fn from(params: ElicitRequestURLParams) -> Self {
        Self::Url(params)
    }
}

/// A form for the user. Servers must not use it to request passwords and other secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestFormParams {
    /// The mode `form`. Optional, and not permitted before 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FormMode>,
    /// The message for the user.
    pub message: String,
    /// The raw schema of the form. [`schema`](Self::schema) parses it.
    pub requested_schema: RawJson,
    /// Requests that the client runs this as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The `_meta` object (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitRequestFormParams {
    /// Creates a form from a message and a schema.
    #[must_use]
    pub fn new(message: impl Into<String>, requested_schema: impl Into<RawJson>) -> Self {
        Self {
            mode: None,
            message: message.into(),
            requested_schema: requested_schema.into(),
            task: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Parses the schema of the form.
    ///
    /// # Errors
    /// Returns an error if the schema is not an object schema with `properties`.
    pub fn schema(&self) -> serde_json::Result<ElicitSchema> {
        self.requested_schema.parse()
    }
}

/// The mode of a form, which is always `form`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_enums, reason = "the mode of a form has one value")]
pub enum FormMode {
    /// The mode `form`.
    Form,
}

/// A URL for the user to open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestURLParams {
    mode: UrlMode,
    /// The message for the user.
    pub message: String,
    /// The URL to open.
    pub url: String,
    /// The id that `notifications/elicitation/complete` refers to (2025-11-25 only, required there).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Requests that the client runs this as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The `_meta` object (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitRequestURLParams {
    /// Creates the parameters from a message and a URL.
    #[must_use]
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            mode: UrlMode::Url,
            message: message.into(),
            url: url.into(),
            elicitation_id: None,
            task: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_elicitation_id(elicitation_id: into String);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum UrlMode {
    Url,
}

/// The result of `elicitation/create`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// The action of the user. A missing action is parsed as `cancel`, so that an empty object means "no response".
    #[serde(default)]
    pub action: ElicitAction,
    /// The submitted form: strings, numbers, booleans and (since 2025-11-25) arrays of strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<IndexMap<String, Value>>,
    /// The `_meta` object (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitResult {
    /// Creates an accepted result without content, as URL mode requires.
    #[must_use]
    pub fn accept() -> Self {
        Self::with_action(ElicitAction::Accept)
    }

    /// Creates a declined result.
    #[must_use]
    pub fn decline() -> Self {
        Self::with_action(ElicitAction::Decline)
    }

    /// Creates a cancelled result.
    #[must_use]
    pub fn cancel() -> Self {
        Self::with_action(ElicitAction::Cancel)
    }

    /// Sets the submitted form.
    #[must_use]
    pub fn with_content<K: Into<String>, V: Into<Value>>(
        mut self,
        content: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let content = content.into_iter();
        self.content = Some(content.map(|(k, v)| (k.into(), v.into())).collect());
        self
    }

    /// Parses the submitted form. Returns `None` if the action is not `accept` or there is no content.
    ///
    /// # Errors
    /// Returns an error if the content does not parse as `T`.
    pub fn content_as<T: DeserializeOwned>(&self) -> serde_json::Result<Option<T>> {
        match (self.action, &self.content) {
            (ElicitAction::Accept, Some(content)) => {
                let content = content.clone().into_iter().collect();
                serde_json::from_value(Value::Object(content)).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn with_action(action: ElicitAction) -> Self {
        Self {
            action,
            ..Self::default()
        }
    }
}

/// The action of the user on an elicitation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the specification defines these three actions, and another one is an error on the wire"
)]
pub enum ElicitAction {
    /// The user accepted.
    Accept,
    /// The user declined explicitly.
    Decline,
    /// The user dismissed the request.
    #[default]
    Cancel,
}

/// The parameters of `notifications/elicitation/complete` (2025-11-25 only).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteNotificationParams {
    /// The id of the completed elicitation.
    pub elicitation_id: String,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitationCompleteNotificationParams {
    /// Creates the parameters for a completed elicitation.
    #[must_use]
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self {
            elicitation_id: elicitation_id.into(),
            meta: None,
        }
    }
}

/// The `data` of the error for requests that require URL elicitations first
/// ([`URL_ELICITATION_REQUIRED`](crate::code::URL_ELICITATION_REQUIRED), 2025-11-25 only).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct URLElicitationRequiredData {
    /// The required elicitations.
    pub elicitations: Vec<ElicitRequestURLParams>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl URLElicitationRequiredData {
    /// Creates the data from the required elicitations.
    #[must_use]
    pub fn new(elicitations: impl IntoIterator<Item = ElicitRequestURLParams>) -> Self {
        Self {
            elicitations: elicitations.into_iter().collect(),
            extra: Extra::new(),
        }
    }
}

#[cfg(test)]
mod tests;
