//! The simple fields of a form: text, numbers, yes or no.

use serde::{Deserialize, Serialize};

use crate::number;
use crate::result::Extra;
use crate::setters::setters;

/// A field for text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StringSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to fill in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fewest characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The most characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// What the text must look like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    /// What stands there at first (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StringKind {
    #[default]
    String,
}

/// What a text must look like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StringFormat {
    /// An e-mail address.
    Email,
    /// An address.
    Uri,
    /// A date.
    Date,
    /// A date and a time.
    DateTime,
    /// A format of some later revision.
    #[serde(untagged)]
    Other(String),
}

impl StringSchema {
    /// Any text.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the fewest and the most characters.
    #[must_use]
    pub fn with_length(mut self, min: u64, max: u64) -> Self {
        self.min_length = Some(min);
        self.max_length = Some(max);
        self
    }

    setters! {
        with_format(format: some StringFormat);
        with_default(default: into String);
    }
}

/// A field for a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NumberSchema {
    /// Whether the number must be whole.
    #[serde(rename = "type")]
    pub kind: NumberKind,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to fill in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The smallest number.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub minimum: Option<f64>,
    /// The largest number.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub maximum: Option<f64>,
    /// What stands there at first (since 2025-11-25).
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub default: Option<f64>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The two kinds of numbers of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_enums, reason = "JSON Schema has these two")]
pub enum NumberKind {
    /// Any number.
    Number,
    /// A whole number.
    Integer,
}

impl NumberSchema {
    /// Any number.
    #[must_use]
    pub fn number() -> Self {
        Self::new(NumberKind::Number)
    }

    /// A whole number.
    #[must_use]
    pub fn integer() -> Self {
        Self::new(NumberKind::Integer)
    }

    fn new(kind: NumberKind) -> Self {
        Self {
            kind,
            title: None,
            description: None,
            minimum: None,
            maximum: None,
            default: None,
            extra: Extra::new(),
        }
    }

    /// Sets the smallest and the largest number.
    #[must_use]
    pub fn with_range(mut self, minimum: f64, maximum: f64) -> Self {
        self.minimum = Some(minimum);
        self.maximum = Some(maximum);
        self
    }

    setters! {
        with_default(default: some f64);
    }
}

/// A field for yes or no.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BooleanSchema {
    #[serde(rename = "type")]
    kind: BooleanKind,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is chosen at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum BooleanKind {
    #[default]
    Boolean,
}

impl BooleanSchema {
    /// A choice between yes and no.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_default(default: some bool);
    }
}
