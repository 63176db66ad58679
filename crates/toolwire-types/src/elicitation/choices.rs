//! The fields of a form where the user chooses: one of several words, or any of several.
//!
//! Revisions differ in how words get names for people: an `enumNames` array beside the words in 2025-06-18, one object
//! per word since 2025-11-25.

use serde::{Deserialize, Serialize};

use crate::elicitation::fields::StringKind;
use crate::result::Extra;
use crate::setters::setters;

/// A word with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EnumOption {
    /// The word.
    #[serde(rename = "const")]
    pub value: String,
    /// Its name for people.
    pub title: String,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl EnumOption {
    /// A word with a name.
    #[must_use]
    pub fn new(value: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            title: title.into(),
            extra: Extra::new(),
        }
    }
}

/// One of several words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledSingleSelectEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The words.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// What is chosen at first (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UntitledSingleSelectEnumSchema {
    /// A choice of one of these words.
    #[must_use]
    pub fn new<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self {
            kind: StringKind::String,
            title: None,
            description: None,
            values: words(values),
            default: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_default(default: into String);
    }
}

/// One of several words that have names (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledSingleSelectEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The words.
    pub one_of: Vec<EnumOption>,
    /// What is chosen at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TitledSingleSelectEnumSchema {
    /// A choice of one of these words.
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

/// One of several words, with their names in a second array; the older way to write it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LegacyTitledEnumSchema {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The words.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// Their names, in the same order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enum_names: Option<Vec<String>>,
    /// What is chosen at first (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl LegacyTitledEnumSchema {
    /// A choice of one of these words, with their names in the same order.
    #[must_use]
    pub fn new<V: Into<String>, N: Into<String>>(
        values: impl IntoIterator<Item = V>,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        Self {
            kind: StringKind::String,
            title: None,
            description: None,
            values: words(values),
            enum_names: Some(words(names)),
            default: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_default(default: into String);
    }
}

/// Any of several words (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledMultiSelectEnumSchema {
    #[serde(rename = "type")]
    kind: ArrayKind,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fewest to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The most to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The words.
    pub items: UntitledEnumItems,
    /// What is chosen at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl UntitledMultiSelectEnumSchema {
    /// A choice of any of these words.
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
                values: words(values),
                extra: Extra::new(),
            },
            default: None,
            extra: Extra::new(),
        }
    }

    /// Sets the fewest and the most to choose.
    #[must_use]
    pub fn with_count(mut self, min: u64, max: u64) -> Self {
        self.min_items = Some(min);
        self.max_items = Some(max);
        self
    }

    /// Sets what is chosen at first.
    #[must_use]
    pub fn with_default<V: Into<String>>(mut self, default: impl IntoIterator<Item = V>) -> Self {
        self.default = Some(words(default));
        self
    }
}

/// The words of an [`UntitledMultiSelectEnumSchema`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UntitledEnumItems {
    #[serde(rename = "type")]
    kind: StringKind,
    /// The words.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Any of several words that have names (since 2025-11-25).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledMultiSelectEnumSchema {
    #[serde(rename = "type")]
    kind: ArrayKind,
    /// The label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fewest to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// The most to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// The words.
    pub items: TitledEnumItems,
    /// What is chosen at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<String>>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl TitledMultiSelectEnumSchema {
    /// A choice of any of these words.
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

    /// Sets the fewest and the most to choose.
    #[must_use]
    pub fn with_count(mut self, min: u64, max: u64) -> Self {
        self.min_items = Some(min);
        self.max_items = Some(max);
        self
    }

    /// Sets what is chosen at first.
    #[must_use]
    pub fn with_default<V: Into<String>>(mut self, default: impl IntoIterator<Item = V>) -> Self {
        self.default = Some(words(default));
        self
    }
}

/// The words of a [`TitledMultiSelectEnumSchema`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TitledEnumItems {
    /// The words.
    pub any_of: Vec<EnumOption>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ArrayKind {
    Array,
}

fn words<V: Into<String>>(words: impl IntoIterator<Item = V>) -> Vec<String> {
    words.into_iter().map(Into::into).collect()
}
