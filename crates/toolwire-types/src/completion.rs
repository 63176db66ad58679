//! Completion: suggestions while somebody fills in a prompt argument or a template variable.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::meta::Meta;
use crate::result::{Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;

/// The parameters of `completion/complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompleteRequestParams {
    /// What is being filled in.
    #[serde(rename = "ref")]
    pub reference: CompletionReference,
    /// The argument at the cursor.
    pub argument: CompletionArgument,
    /// What is known already (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<CompletionContext>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CompleteRequestParams {
    /// Asks for suggestions.
    #[must_use]
    pub fn new(reference: impl Into<CompletionReference>, argument: CompletionArgument) -> Self {
        Self {
            reference: reference.into(),
            argument,
            context: None,
            meta: None,
        }
    }

    /// Tells the value of an argument that is filled in already.
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

/// What is being filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[non_exhaustive]
pub enum CompletionReference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt(PromptReference),
    /// A resource template, or a resource.
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

/// Names a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptReference {
    /// The prompt's name.
    pub name: String,
    /// The prompt's name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl PromptReference {
    /// Names a prompt.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
        }
    }
}

/// Names a resource template by its template, or a resource by its address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    /// The template or the address.
    pub uri: String,
}

impl ResourceTemplateReference {
    /// Names a resource template.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into() }
    }
}

/// The argument at the cursor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionArgument {
    /// Its name.
    pub name: String,
    /// What has been typed so far.
    pub value: String,
}

impl CompletionArgument {
    /// An argument and what has been typed so far.
    #[must_use]
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// What is known when suggestions are asked for (since 2025-06-18).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CompletionContext {
    /// The arguments that are filled in already.
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
    /// The suggestions.
    pub completion: Completion,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CompleteResult {
    /// These suggestions and no others.
    #[must_use]
    pub fn new(completion: Completion) -> Self {
        Self {
            completion,
            ..Self::default()
        }
    }
}

/// Suggestions, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Completion {
    /// The suggestions; at most 100 may be sent.
    pub values: Vec<String>,
    /// How many there are in all, if that is known.
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub total: Option<u64>,
    /// There are more than were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_more: Option<bool>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Completion {
    /// Suggestions, best first.
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
    fn requests_read_in_every_era() {
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
    fn an_unknown_reference_is_refused() {
        for refused in [
            r#"{"type":"ref/tool","name":"a"}"#,
            r#"{"name":"a"}"#,
            r#"{"type":"ref/prompt"}"#,
        ] {
            assert!(serde_json::from_str::<CompletionReference>(refused).is_err());
        }
    }

    #[test]
    fn results_read_in_every_era() {
        check::<CompleteResult>(json!({"completion": {"values": []}}));
        check::<CompleteResult>(json!({
            "resultType": "complete", "_meta": {"a": 1}, "later": 1,
            "completion": {"values": ["a", "b"], "total": 10, "hasMore": true, "later": [1]},
        }));
    }

    #[test]
    fn builders_fill_the_members_they_name() {
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
