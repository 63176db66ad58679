//! Prompts: message templates that a user selects and completes with arguments.

use indexmap::IndexMap;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::content::ContentBlock;
use crate::implementation::{Icon, Role};
use crate::input::{InputRequiredResult, InputResponses};
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::response;
use crate::result::{CacheScope, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;

/// A prompt that a server offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// The name that `prompts/get` uses.
    pub name: String,
    /// The title, a display name for users (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The purpose of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
    /// The icons (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The `_meta` object (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Prompt {
    /// Creates a prompt without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: None,
            icons: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        with_title(title: into String);
        with_description(description: into String);
        with_argument(arguments: push PromptArgument);
        with_icon(icons: push Icon);
        with_meta(meta: some Meta);
    }
}

/// An argument of a prompt. Its value is always a string.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name for programmatic use.
    pub name: String,
    /// The title, a display name for users (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the expected value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the argument is required. Absent means `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PromptArgument {
    /// Creates an optional argument.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            required: None,
            extra: Extra::new(),
        }
    }

    /// Creates a required argument.
    #[must_use]
    pub fn required(name: impl Into<String>) -> Self {
        Self {
            required: Some(true),
            ..Self::new(name)
        }
    }

    setters! {
        with_title(title: into String);
        with_description(description: into String);
    }
}

/// The result of `prompts/list`: one page of prompts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListPromptsResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The prompts of this page.
    pub prompts: Vec<Prompt>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long a client may cache the result, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Whether caches may share the result between users (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListPromptsResult {
    /// Creates a page. Without a cursor, it is the last page.
    #[must_use]
    pub fn new(prompts: Vec<Prompt>) -> Self {
        Self {
            prompts,
            ..Self::default()
        }
    }

    setters! {
        with_next_cursor(next_cursor: into String);
    }
}

/// The parameters of `prompts/get`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptRequestParams {
    /// The name of the prompt.
    pub name: String,
    /// The argument values by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<IndexMap<String, String>>,
    /// The responses to the input requests of an earlier attempt (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The `requestState` that an earlier attempt returned, unchanged (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptRequestParams {
    /// Creates the parameters of a request without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            input_responses: None,
            request_state: None,
            meta: None,
        }
    }

    /// Sets the value of one argument.
    #[must_use]
    pub fn with_argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let arguments = self.arguments.get_or_insert_default();
        arguments.insert(name.into(), value.into());
        self
    }

    setters! {
        with_meta(meta: some Meta);
    }
}

/// The result of `prompts/get`: the messages of the prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The purpose of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
    /// The `_meta` object.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl GetPromptResult {
    /// Creates a result with messages.
    #[must_use]
    pub fn new(messages: Vec<PromptMessage>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }

    setters! {
        with_description(description: into String);
        with_meta(meta: some Meta);
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The sender of the message.
    pub role: Role,
    /// The content of the message.
    pub content: ContentBlock,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PromptMessage {
    /// Creates a message.
    #[must_use]
    pub fn new(role: Role, content: impl Into<ContentBlock>) -> Self {
        Self {
            role,
            content: content.into(),
            extra: Extra::new(),
        }
    }

    /// Creates a message of the user.
    #[must_use]
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

/// The result of `prompts/get`, of any kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum GetPromptResponse {
    /// The request is complete.
    Complete(GetPromptResult),
    /// The server requires input from the client (since 2026-07-28).
    InputRequired(InputRequiredResult),
}

impl<'de> Deserialize<'de> for GetPromptResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let result = match response::result_type(&raw).map_err(D::Error::custom)? {
            ResultType::Complete => raw.parse().map(Self::Complete),
            ResultType::InputRequired => raw.parse().map(Self::InputRequired),
            unexpected => Err(response::unexpected(&unexpected)),
        };
        result.map_err(D::Error::custom)
    }
}

impl From<GetPromptResult> for GetPromptResponse {
    fn from(result: GetPromptResult) -> Self {
        Self::Complete(result)
    }
}

impl From<InputRequiredResult> for GetPromptResponse {
    fn from(result: InputRequiredResult) -> Self {
        Self::InputRequired(result)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::round_trip::check;

    #[test]
    fn prompts_of_every_revision_round_trip() {
        check::<Prompt>(json!({"name": "review"}));
        check::<Prompt>(json!({
            "name": "review", "title": "Review", "description": "d", "icons": [{"src": "data:,"}], "_meta": {"a": 1},
            "arguments": [{"name": "code", "title": "Code", "description": "c", "required": true, "later": 1}],
            "later": {},
        }));
        check::<ListPromptsResult>(json!({"prompts": []}));
        check::<ListPromptsResult>(json!({
            "resultType": "complete", "prompts": [{"name": "a"}], "nextCursor": "n", "ttlMs": 1, "cacheScope": "public",
            "_meta": {}, "later": 1,
        }));
        check::<GetPromptRequestParams>(json!({"name": "review"}));
        check::<GetPromptRequestParams>(json!({
            "name": "review", "arguments": {"z": "1", "a": ""}, "requestState": "s",
            "inputResponses": {"q": {"action": "decline"}}, "_meta": {"progressToken": 1},
        }));
        check::<GetPromptResult>(json!({
            "resultType": "complete", "description": "d", "_meta": {"a": 1}, "later": 1, "messages": [
                {"role": "user", "content": {"type": "text", "text": "hi"}},
                {"role": "assistant", "content": {"type": "later", "x": 1}, "name": "bot"},
            ],
        }));
    }

    #[test]
    fn argument_that_is_not_a_string_is_rejected() {
        let invalid = r#"{"name":"a","arguments":{"n":1}}"#;
        assert!(serde_json::from_str::<GetPromptRequestParams>(invalid).is_err());
    }

    #[test]
    fn prompt_response_is_parsed_by_result_type() {
        let complete = json!({"messages": []});
        assert!(matches!(check(complete), GetPromptResponse::Complete(_)));
        let input_required = json!({"resultType": "input_required", "requestState": "s"});
        assert!(matches!(
            check(input_required),
            GetPromptResponse::InputRequired(_)
        ));
        for invalid in [
            r#"{"resultType":"task"}"#,
            r#"{"resultType":"later","messages":[]}"#,
            "{}",
            "1",
        ] {
            assert!(serde_json::from_str::<GetPromptResponse>(invalid).is_err());
        }
    }

    #[test]
    fn built_values_serialize_to_wire_format() {
        let prompt = Prompt::new("review").with_argument(PromptArgument::required("code"));
        assert_eq!(
            serde_json::to_value(prompt).unwrap(),
            json!({"name": "review", "arguments": [{"name": "code", "required": true}]})
        );
        let params = GetPromptRequestParams::new("review").with_argument("code", "x");
        assert_eq!(
            serde_json::to_value(params).unwrap(),
            json!({"name": "review", "arguments": {"code": "x"}})
        );
        let result = GetPromptResult::new(vec![
            PromptMessage::user("hi"),
            PromptMessage::assistant("hello"),
        ]);
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"messages": [
                {"role": "user", "content": {"type": "text", "text": "hi"}},
                {"role": "assistant", "content": {"type": "text", "text": "hello"}},
            ]})
        );
    }
}
