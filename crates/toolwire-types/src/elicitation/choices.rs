//! The enum fields of a form: single select and multi select.
//!
//! Revisions differ in how values get titles: an `enumNames` array next to the values in 2025-06-18, one object per
//! value since 2025-11-25.

use serde::{Deserialize, Serialize};

use crate::elicitation::fields::StringKind;
use crate::result::Extra;
use crate::setters::setters;

/// An enum value with a title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EnumOption {
    /// The value.
    #[serde(rename = "const")]
    pub value: String,
    /// The title, shown to users.
    pub title: String,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EnumOption {
    /// Creates an option from a value and its title.
    #[must_use]
    pub fn new(value: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            title: title.into(),
            extra: Extra::new(),
        }
    }
}

/// A single-select field without titles for the values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledSingleSelectEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The label of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// The default value (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UntitledSingleSelectEnumSchema {
    /// Creates a field from its values.
    #[must_use]
    pub fn new<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self {
            kind: StringKind::String,
            title: None,
            description: None,
            values: strings(values),
            default: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_default(default: into String);
    }
}

/// A single-select field with titles for the values (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledSingleSelectEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The label of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The options.
    pub one_of: Vec<EnumOption>,
    /// The default value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TitledSingleSelectEnumSchema {
    /// Creates a field from its options.
    #[must_use]
    pub fn new(options: impl IntoIterator<Item = EnumOption>) -> Self {
        Self {
            kind: StringKind::String,
            title: None,
            description: None,
            one_of: options.into_iter().collect(),
            default: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_default(default: into String);
    }
}

/// A single-select field with the titles of the values in a second array, the older form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LegacyTitledEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The label of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The values.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// The titles of the values, in the same order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enum_names: Option<Vec<String>>,
    /// The default value (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl LegacyTitledEnumSchema {
    /// Creates a field from its values and their titles in the same order.
    #[must_use]
    pub fn new<V: Into<String>, N: Into<String>>(
        values: impl IntoIterator<Item = V>,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        Self {
            kind: StringKind::String,
            title: None,
            description: None,
            values: strings(values),
            enum_names: Some(strings(names)),
            default: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_default(default: into String);
    }
}

/// A multi-select field without titles for the values (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledMultiSelectEnumSchema {
    #[serde(rename = "type")]
    kind: ArrayKind,
    /// The label of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The minimum number of selected values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The maximum number of selected values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The schema of the values.
    pub items: UntitledEnumItems,
    /// The values that are selected by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UntitledMultiSelectEnumSchema {
    /// Creates a field from its values.
    #[must_use]
    pub fn new<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self {
            kind: ArrayKind::Array,
            title: None,
            description: None,
            min_items: None,
            max_items: None,
            items: UntitledEnumItems {
                kind: StringKind::String,
                values: strings(values),
                extra: Extra::new(),
            },
            default: None,
            extra: Extra::new(),
        }
    }

    /// Sets the minimum and maximum number of selected values.
    #[must_use]
    pub fn with_count(mut self, min: u64, max: u64) -> Self {
        self.min_items = Some(min);
        self.max_items = Some(max);
        self
    }

    /// Sets the values that are selected by default.
    #[must_use]
    pub fn with_default<V: Into<String>>(mut self, default: impl IntoIterator<Item = V>) -> Self {
        self.default = Some(strings(default));
        self
    }
}

/// The values of an [`UntitledMultiSelectEnumSchema`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledEnumItems {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The values.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A multi-select field with titles for the values (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectEnumSchema {
    #[serde(rename = "type")]
    kind: ArrayKind,
    /// The label of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The explanation of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The minimum number of selected values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The maximum number of selected values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The schema of the values.
    pub items: TitledEnumItems,
    /// The values that are selected by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TitledMultiSelectEnumSchema {
    /// Creates a field from its options.
    #[must_use]
    pub fn new(options: impl IntoIterator<Item = EnumOption>) -> Self {
        Self {
            kind: ArrayKind::Array,
            title: None,
            description: None,
            min_items: None,
            max_items: None,
            items: TitledEnumItems {
                any_of: options.into_iter().collect(),
                extra: Extra::new(),
            },
            default: None,
            extra: Extra::new(),
        }
    }

    /// Sets the minimum and maximum number of selected values.
    #[must_use]
    pub fn with_count(mut self, min: u64, max: u64) -> Self {
        self.min_items = Some(min);
        self.max_items = Some(max);
        self
    }

    /// Sets the values that are selected by default.
    #[must_use]
    pub fn with_default<V: Into<String>>(mut self, default: impl IntoIterator<Item = V>) -> Self {
        self.default = Some(strings(default));
        self
    }
}

/// The values of a [`TitledMultiSelectEnumSchema`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledEnumItems {
    /// The options.
    pub any_of: Vec<EnumOption>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ArrayKind {
    Array,
}

fn strings<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Vec<String> {
    values.into_iter().map(Into::into).collect()
}
