//! Prompts: templates of messages that a person picks and fills in.

use indexmap::IndexMap;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::content::ContentBlock;
use crate::implementation::{Icon, Icons, Role};
use crate::input::{InputRequiredResult, InputResponses};
use crate::meta::Meta;
use crate::raw::RawJson;
use crate::response;
use crate::result::{CacheScope, Extra, ResultType, lenient_optional_integer};
use crate::setters::setters;

/// A prompt a server offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Prompt {
    /// The name for programs, by which it is fetched.
    pub name: String,
    /// The name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What can be filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<PromptArgument>>,
    /// Its pictures (since 2025-11-25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Icons>,
    /// Metadata (since 2025-06-18).
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Prompt {
    /// A prompt without arguments.
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

/// Something to fill in in a prompt. Its value is always text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name for programs.
    pub name: String,
    /// The name for people (since 2025-06-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to fill in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The prompt cannot do without it. Absent means false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PromptArgument {
    /// An argument that may be left out.
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

    /// An argument the prompt cannot do without.
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
    /// Where the next page starts; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How long it stays fresh, in milliseconds (since 2026-07-28).
    #[serde(
        default,
        deserialize_with = "lenient_optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// Who may share a cached copy (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListPromptsResult {
    /// One page, the last unless a cursor is added.
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
    /// Which prompt.
    pub name: String,
    /// What was filled in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<IndexMap<String, String>>,
    /// Answers to what an earlier attempt asked for (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state an earlier attempt handed out, unchanged (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetPromptRequestParams {
    /// Asks for a prompt with nothing filled in.
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

    /// Fills in one argument.
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

/// The result of `prompts/get`: the messages to start a conversation with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetPromptResult {
    /// The kind of result (since 2026-07-28).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// What the prompt is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl GetPromptResult {
    /// A prompt of these messages.
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
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: ContentBlock,
    /// Members this crate does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PromptMessage {
    /// A message.
    #[must_use]
    pub fn new(role: Role, content: impl Into<ContentBlock>) -> Self {
        Self {
            role,
            content: content.into(),
            extra: Extra::new(),
        }
    }

    /// Said by the person.
    #[must_use]
    pub fn user(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::User, content)
    }

    /// Said by the model.
    #[must_use]
    pub fn assistant(content: impl Into<ContentBlock>) -> Self {
        Self::new(Role::Assistant, content)
    }
}

/// Everything `prompts/get` may answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum GetPromptResponse {
    /// The messages.
    Complete(GetPromptResult),
    /// The server needs input first (since 2026-07-28).
    InputRequired(InputRequiredResult),
}

impl<'de> Deserialize<'de> for GetPromptResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let answer = match response::result_type(&raw).map_err(D::Error::custom)? {
            ResultType::Complete => raw.parse().map(Self::Complete),
            ResultType::InputRequired => raw.parse().map(Self::InputRequired),
            unexpected => Err(response::unexpected(&unexpected)),
        };
        answer.map_err(D::Error::custom)
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
    fn prompts_read_in_every_era() {
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
    fn arguments_are_text() {
        let refused = r#"{"name":"a","arguments":{"n":1}}"#;
        assert!(serde_json::from_str::<GetPromptRequestParams>(refused).is_err());
    }

    #[test]
    fn a_prompt_is_decoded_by_its_result_type() {
        let complete = json!({"messages": []});
        assert!(matches!(check(complete), GetPromptResponse::Complete(_)));
        let asking = json!({"resultType": "input_required", "requestState": "s"});
        assert!(matches!(check(asking), GetPromptResponse::InputRequired(_)));
        for refused in [
            r#"{"resultType":"task"}"#,
            r#"{"resultType":"later","messages":[]}"#,
            "{}",
            "1",
        ] {
            assert!(serde_json::from_str::<GetPromptResponse>(refused).is_err());
        }
    }

    #[test]
    fn builders_fill_the_members_they_name() {
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
