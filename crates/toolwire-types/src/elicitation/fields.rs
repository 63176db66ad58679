//! The simple fields of a form: strings, numbers and booleans.

use serde::{Deserialize, Serialize};

use crate::number;
use crate::result::Extra;
use crate::setters::setters;

/// A string field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StringSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The label of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The minimum length in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The maximum length in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// The required format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<StringFormat>,
    /// The default value (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StringKind {
    #[default]
    String,
}

/// The format of a string field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StringFormat {
    /// An email address.
    Email,
    /// A URI.
    Uri,
    /// A date.
    Date,
    /// A date and a time.
    DateTime,
    /// A format that this crate does not define.
    #[serde(untagged)]
    Other(String),
}

impl StringSchema {
    /// Creates a field for any string.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the minimum and maximum length in characters.
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

/// A number field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NumberSchema {
    /// Whether the number must be an integer.
    #[serde(rename = "type")]
    pub kind: NumberKind,
    /// The label of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The minimum value, inclusive.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub minimum: Option<f64>,
    /// The maximum value, inclusive.
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub maximum: Option<f64>,
    /// The default value (since 2025-11-25).
    #[serde(
        default,
        serialize_with = "number::shortest_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub default: Option<f64>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The number type of a field, as in JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON Schema defines exactly these two types"
)]
pub enum NumberKind {
    /// Any number.
    Number,
    /// An integer.
    Integer,
}

impl NumberSchema {
    /// Creates a field for any number.
    #[must_use]
    pub fn number() -> Self {
        Self::new(NumberKind::Number)
    }

    /// Creates a field for integers.
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

    /// Sets the minimum and maximum value, both inclusive.
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

/// A boolean field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BooleanSchema {
    #[serde(rename = "type")]
    kind: BooleanKind,
    /// The label of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The default value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
    /// Members that this crate does not define.
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
    /// Creates a boolean field.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        with_default(default: some bool);
    }
}
