//! Completion: suggestions for the value of a prompt argument or a template variable.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::result::{Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;

/// The parameters of `completion/complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteRequestParams {
    /// The prompt or resource template that the argument belongs to.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument to complete.
    pub argument: CompletionArgument,
    /// The arguments that already have a value (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteRequestParams {
    /// Creates the parameters of a completion request.
    #[must_use]
    pub fn new(reference: impl Into<CompletionReference>, argument: CompletionArgument) -> Self {
        Self {
            reference: reference.into(),
            argument,
            context: None,
            meta: None,
        }
    }

    /// Adds an argument that already has a value.
    #[must_use]
    pub fn with_known_argument(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        let context = self.context.get_or_insert_default();
        let arguments = context.arguments.get_or_insert_default();
        arguments.insert(name.into(), value.into());
        self
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// A reference to a prompt or a resource template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum CompletionReference {
    /// A reference to a prompt.
    #[serde(rename = "ref/prompt")]
    Prompt(PromptReference),
    /// A reference to a resource template or a resource.
    #[serde(rename = "ref/resource")]
    Resource(ResourceTemplateReference),
}

impl From<PromptReference> for CompletionReference {
    fn from(reference: PromptReference) -> Self {
        Self::Prompt(reference)
    }
}

impl From<ResourceTemplateReference> for CompletionReference {
    fn from(reference: ResourceTemplateReference) -> Self {
        Self::Resource(reference)
    }
}

/// A reference to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptReference {
    /// The name of the prompt.
    pub name: String,
    /// The title of the prompt (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl PromptReference {
    /// Creates a reference to a prompt.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
        }
    }
}

/// A reference to a resource template by its template, or to a resource by its URI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    /// The URI template or the URI.
    pub uri: String,
}

impl ResourceTemplateReference {
    /// Creates a reference to a resource template or a resource.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into() }
    }
}

/// The argument to complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionArgument {
    /// The name of the argument.
    pub name: String,
    /// The value that the user has entered so far.
    pub value: String,
}

impl CompletionArgument {
    /// Creates an argument with the value entered so far.
    #[must_use]
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// The context of a completion request (since 2025-06-18).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionContext {
    /// The arguments that already have a value, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<IndexMap<String, String>>,
}

/// The result of `completion/complete`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompleteResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The suggested values.
    pub completion: Completion,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CompleteResult {
    /// Creates a result with suggestions.
    #[must_use]
    pub fn new(completion: Completion) -> Self {
        Self {
            completion,
            ..Self::default()
        }
    }
}

/// The suggestions for the value of an argument, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The suggested values. A server may send at most 100.
    pub values: Vec<String>,
    /// The total number of suggestions, if known.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub total: Option<u64>,
    /// Whether there are more suggestions than `values` contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Completion {
    /// Creates suggestions from values, best first.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            values: values.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    setters! {
        with_total(total: some u64);
        with_has_more(has_more: some bool);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn requests_of_every_revision_round_trip() {
        check::<CompleteRequestParams>(json!({
            "ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "language", "value": "py"},
        }));
        check::<CompleteRequestParams>(json!({
            "ref": {"type": "ref/resource", "uri": "file:///{path}"}, "argument": {"name": "path", "value": ""},
            "context": {"arguments": {"b": "1", "a": "2"}}, "_meta": {"progressToken": 1},
        }));
        check::<CompleteRequestParams>(json!({
            "ref": {"type": "ref/prompt", "name": "r", "title": "R"}, "argument": {"name": "a", "value": "b"}, "context": {},
        }));
    }

    #[test]
    fn unknown_reference_is_rejected() {
        for invalid in [
            r#"{"type":"ref/tool","name":"a"}"#,
            r#"{"name":"a"}"#,
            r#"{"type":"ref/prompt"}"#,
        ] {
            assert!(serde_json::from_str::<CompletionReference>(invalid).is_err());
        }
    }

    #[test]
    fn results_of_every_revision_round_trip() {
        check::<CompleteResult>(json!({"completion": {"values": []}}));
        check::<CompleteResult>(json!({
            "resultType": "complete", "_meta": {"a": 1}, "later": 1,
            "completion": {"values": ["a", "b"], "total": 10, "hasMore": true, "later": [1]},
        }));
    }

    #[test]
    fn built_values_serialize_to_wire_format() {
        let params = CompleteRequestParams::new(
            PromptReference::new("review"),
            CompletionArgument::new("framework", "fl"),
        )
        .with_known_argument("language", "python");
        assert_eq!(
            serde_json::to_value(params).unwrap(),
            json!({
                "ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "framework", "value": "fl"},
                "context": {"arguments": {"language": "python"}},
            })
        );
        let result = CompleteResult::new(
            Completion::new(["flask"])
                .with_total(1)
                .with_has_more(false),
        );
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"completion": {"values": ["flask"], "total": 1, "hasMore": false}})
        );
    }
}
