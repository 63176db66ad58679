//! Elicitation: a server asks the user, with a form (since 2025-06-18) or at an address (since 2025-11-25).
//!
//! A request of its own up to 2025-11-25, an [`InputRequest`](crate::InputRequest) since. What may be asked of whom is
//! checked in `toolwire-proto`.

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
    /// Show a form. This is also what a missing `mode` means.
    Form(ElicitRequestFormParams),
    /// Send the user to an address.
    Url(ElicitRequestURLParams),
}

impl ElicitRequestParams {
    /// What the user is told.
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

/// A form to show to the user. Never for passwords and other secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestFormParams {
    /// The word `form`, which may be left out and must be before 2025-11-25.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<FormMode>,
    /// What the user is told.
    pub message: String,
    /// The fields of the form, as it came; [`schema`](Self::schema) reads it.
    pub requested_schema: RawJson,
    /// The wish to run this as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Metadata (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitRequestFormParams {
    /// A form with these fields.
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

    /// The fields of the form.
    ///
    /// # Errors
    /// When the schema is not an object with `properties`.
    pub fn schema(&self) -> serde_json::Result<ElicitSchema> {
        self.requested_schema.parse()
    }
}

/// The word `form` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_enums, reason = "it is one word")]
pub enum FormMode {
    /// `form`.
    Form,
}

/// An address to send the user to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitRequestURLParams {
    mode: UrlMode,
    /// What the user is told.
    pub message: String,
    /// Where the user is sent.
    pub url: String,
    /// What `notifications/elicitation/complete` will name (2025-11-25 only, required there).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// The wish to run this as a task (2025-11-25 only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// Metadata (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitRequestURLParams {
    /// Sends the user to an address.
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

/// The answer to `elicitation/create`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// What the user did.
    #[serde(default)]
    pub action: ElicitAction,
    /// What the user filled in: strings, numbers, booleans and (since 2025-11-25) arrays of strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<IndexMap<String, Value>>,
    /// Metadata (up to 2025-11-25).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitResult {
    /// The user agreed; without content, as it should be for an address.
    #[must_use]
    pub fn accept() -> Self {
        Self::with_action(ElicitAction::Accept)
    }

    /// The user said no.
    #[must_use]
    pub fn decline() -> Self {
        Self::with_action(ElicitAction::Decline)
    }

    /// The user turned away without an answer.
    #[must_use]
    pub fn cancel() -> Self {
        Self::with_action(ElicitAction::Cancel)
    }

    /// Adds what the user filled in.
    #[must_use]
    pub fn with_content<K: Into<String>, V: Into<Value>>(
        mut self,
        content: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let content = content.into_iter();
        self.content = Some(content.map(|(k, v)| (k.into(), v.into())).collect());
        self
    }

    /// What the user filled in as a type; `None` unless the user agreed and there is content.
    ///
    /// # Errors
    /// When the content does not have the shape of `T`.
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

/// What the user did with an elicitation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "an unknown action is read as a cancellation"
)]
pub enum ElicitAction {
    /// Agreed.
    Accept,
    /// Said no.
    Decline,
    /// Turned away without an answer; also what a missing or unknown action means, because only a clear yes is a yes.
    #[default]
    Cancel,
}

impl<'de> Deserialize<'de> for ElicitAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let action = Value::deserialize(deserializer)?;
        Ok(match action.as_str() {
            Some("accept") => Self::Accept,
            Some("decline") => Self::Decline,
            _ => Self::Cancel,
        })
    }
}

/// The parameters of `notifications/elicitation/complete` (2025-11-25 only).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteNotificationParams {
    /// The elicitation that ended.
    pub elicitation_id: String,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ElicitationCompleteNotificationParams {
    /// Announces the end of an elicitation.
    #[must_use]
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self {
            elicitation_id: elicitation_id.into(),
            meta: None,
        }
    }
}

/// The `data` of the error that says the user must visit addresses first
/// ([`URL_ELICITATION_REQUIRED`](crate::code::URL_ELICITATION_REQUIRED), 2025-11-25 only).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct URLElicitationRequiredData {
    /// The addresses.
    pub elicitations: Vec<ElicitRequestURLParams>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl URLElicitationRequiredData {
    /// Names the addresses.
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
